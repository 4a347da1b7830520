// A model's own configuration file: config.json in Hugging Face's layout, or params.json in Meta's.
#pragma once

#include <optional>
#include <string>

#include "sim/config/config_value.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// The architecture that a configuration file describes, completed. Read: the names of kKnown in model_config.cpp
/// (GPT-2, OPT, BLOOM, MPT, GPT-NeoX, Llama, Mistral, Phi-3, Qwen 2 and 3, Gemma 1 to 3 text, Nemotron); without
/// `architectures`, Meta's keys (dim, n_layers, ..) and GPT-2's (n_embd, n_layer, ..). Everything whose mathematics
/// differs is refused by name.
/// `file_name` is for messages. Number formats in the file are ignored: the scenario's `precision` holds.
[[nodiscard]] std::optional<Architecture> read_model_config(const std::string& text, const std::string& file_name,
                                                            Diagnostics& diagnostics);

}  // namespace trainyard
