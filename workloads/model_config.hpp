// A model's own configuration file: config.json in Hugging Face's layout, or params.json in Meta's.
#pragma once

#include <optional>
#include <string>

#include "sim/config/config_value.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// The architecture that a configuration file describes, completed. Read: LlamaForCausalLM, MistralForCausalLM,
/// Phi3ForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM and GPT2LMHeadModel; without `architectures`, Meta's keys (dim,
/// n_layers, ..) and GPT-2's (n_embd, n_layer, ..). Everything whose mathematics differs is refused by name.
/// `file_name` is for messages. Number formats in the file are ignored: the scenario's `precision` holds.
[[nodiscard]] std::optional<Architecture> read_model_config(const std::string& text, const std::string& file_name,
                                                            Diagnostics& diagnostics);

}  // namespace trainyard
