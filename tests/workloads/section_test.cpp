// The `workload:` section: what it means, and the exact words for what is wrong with it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "workloads/catalogue.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

struct Outcome {
  Workload workload;
  std::string error;  ///< the first line of each mistake
};

/// Reads a section; for the messages, without source lines and carets.
Outcome outcome_of(const std::string& yaml, const std::string& directory = ".") {
  Diagnostics diagnostics;
  Outcome outcome;
  const ConfigValue section = read_yaml_text(yaml, "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics))
    outcome.workload = build_workload(section, directory, diagnostics);
  const std::string text = diagnostics.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] != ' ') outcome.error += (outcome.error.empty() ? "" : "\n") + text.substr(at, end - at);
    at = end + 1;
  }
  return outcome;
}

std::string error_of(const std::string& yaml) { return outcome_of(yaml).error; }

/// A section of one line whose other keys are right.
std::string with(const std::string& more, const std::string& model = "llama-2-7b") {
  return "{model: " + model + ", sequence_length: 4096, global_batch: 512" + more + "}";
}

TEST_CASE("A catalogue model with the defaults") {
  const Outcome outcome = outcome_of(with(""));
  REQUIRE(outcome.error.empty());
  const Workload& w = outcome.workload;
  CHECK(w.model == "llama-2-7b");
  CHECK(w.precision == DataType::bf16);
  CHECK(w.optimizer == "adam");
  CHECK(w.software.name == "megatron-core-2024");
  CHECK(w.global_batch == 512);
  CHECK(tokens_per_step(w) == 512 * 4096);
  CHECK(parameter_count(w.modules.at(0)) == 6738415616.0);
  CHECK(w.modules[0].family == "llama");
  REQUIRE(w.passes.size() == 1);
  CHECK(w.passes[0].kind == PassKind::train);
  const double products = 6738415616.0 - 65 * 4096 - 32000.0 * 4096;
  CHECK(model_flops_per_step(w).value == Approx(512.0 * 4096 * (6 * products + 12.0 * 32 * 4096 * 4096)));
}

TEST_CASE("A model written out equals its catalogue entry") {
  const Outcome outcome =
      outcome_of(with("", "{family: llama, layers: 32, hidden: 4096, heads: 32, ffn: 11008, vocabulary: 32000}"));
  CHECK(outcome.error.empty());
  CHECK(outcome.workload.modules == outcome_of(with("")).workload.modules);
}

TEST_CASE("Each property can be set against its family") {
  const Outcome outcome = outcome_of(
      with("",
           "{layers: 2, hidden: 64, heads: 4, kv_heads: 2, head_size: 32, ffn: 96, vocabulary: 100, gated: true, "
           "tied: false, positions: rotary, norm: rms, biases: none, qk_norm: true}"));
  CHECK(outcome.error.empty());
  const double decoder = 2 * 64 + 64 * 32 * 8 + 2 * 32 + 128 * 64 + 3 * 64 * 96;
  CHECK(parameter_count(outcome.workload.modules.at(0)) == 2 * decoder + 64 + 2 * 128 * 64);
}

TEST_CASE("A window, its exception and words of a choice are checked") {
  const std::string sizes = "{layers: 2, hidden: 64, heads: 4, vocabulary: 100, max_positions: 4096, ";
  CHECK(outcome_of(with("", sizes + "window: 512, global_every: 2}")).error.empty());
  CHECK(error_of(with("", sizes + "global_every: 2}")).find("global_every needs a window for the other layers") !=
        std::string::npos);
  CHECK(error_of(with("", sizes + "window: 0}")).find("window") != std::string::npos);
  CHECK(error_of(with("", sizes + "block: paralel}")).find("did you mean \"parallel\"?") != std::string::npos);
  CHECK(
      outcome_of(with("", sizes + "block: parallel_two_norms, positions: alibi, norm: layer_no_bias}")).error.empty());
}

TEST_CASE("Switches override a preset's") {
  const Outcome outcome =
      outcome_of(with(", software: {preset: megatron-core-2024, dropout: true, attention: unfused, loss: eager}"));
  CHECK(outcome.error.empty());
  Software expected = find_software("megatron-core-2024").value();
  expected.dropout = expected.copies_scores = true;
  expected.attention = AttentionKernel::unfused;
  expected.loss = LossKernel::eager;
  CHECK(outcome.workload.software == expected);
}

TEST_CASE("A preset's fp16 gradients hold in fp16; in bf16 the software keeps fp32") {
  CHECK(outcome_of(with(", precision: fp16, software: megatron-2021")).workload.software.gradient_type ==
        DataType::fp16);
  const Software bf16 = outcome_of(with(", precision: bf16, software: megatron-2021")).workload.software;
  CHECK(bf16.gradient_type == DataType::fp32);
  CHECK(bf16.gradient_reduce_type == DataType::fp32);
}

TEST_CASE("Convergence is read") {
  const Workload w = outcome_of(with(", convergence: {steps: 1e5, critical_batch: 300, multiplier: 1.5}")).workload;
  REQUIRE(w.convergence.size() == 1);
  CHECK(w.convergence[0] == Convergence{1e5, 300, 1.5});
}

TEST_CASE("A configuration file is looked up beside the scenario") {
  const auto folder = std::filesystem::temp_directory_path() / "trainyard_workload_section";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "c.json")
      << R"({"dim": 4096, "n_layers": 32, "n_heads": 32, "multiple_of": 256, "vocab_size": 32000})";
  const Outcome outcome = outcome_of(with("", "{config: c.json}"), folder.string());
  CHECK(outcome.error.empty());
  CHECK(outcome.workload.model == "c.json");
  CHECK(outcome.workload.modules == outcome_of(with("")).workload.modules);
  std::filesystem::remove_all(folder);
}

TEST_CASE("Names that no catalogue knows") {
  CHECK(error_of(with("", "llama-2-7B")) == "w.yaml:1:9: model: no model \"llama-2-7B\"; did you mean \"llama-2-7b\"?");
  CHECK(error_of(with(", software: megatron-2012")) ==
        "w.yaml:1:73: software: no software preset \"megatron-2012\"; did you mean \"megatron-2021\"?");
  CHECK(error_of(with(", software: {preset: x}")) ==
        "w.yaml:1:82: software.preset: no preset \"x\"; known: megatron-2021, "
        "megatron-2022, megatron-core-2024, nemo-2024, megatron-bridge-2026, llm-foundry-2023, torchtitan-2024, "
        "deepspeed-2022, alephalpha-2024");
}

TEST_CASE("What parses but is not simulated yet is refused by name") {
  CHECK(error_of(with(", optimizer: sgd")) == "w.yaml:1:74: optimizer: optimizer sgd is not simulated yet");
  CHECK(error_of(with(", method: zeroth_order")) == "w.yaml:1:71: method: method zeroth_order is not simulated yet");
  CHECK(error_of(with(", method: backprop")).empty());
  CHECK(error_of(with(", routing: uniform")) == "w.yaml:1:72: routing: routing needs a model with experts");
  CHECK(error_of("{trace: DIR, format: chakra}").find("w.yaml:1:9: trace: a trace cannot be trained beside others") != std::string::npos);
  CHECK(error_of("{profile: FILE, global_batch: 8}") == "w.yaml:1:11: profile: \"./FILE\" no such file");
}

TEST_CASE("Missing keys are named together") {
  CHECK(error_of("{precision: fp16}") ==
        "w.yaml:1:1: `sequence_length` is missing\nw.yaml:1:1: `global_batch` is missing\nw.yaml:1:1: `model` is "
        "missing");
  CHECK(error_of(with("", "{layers: 2, vocabulary: 9}")) ==
        "w.yaml:1:9: model: a model that is written out needs `hidden`\nw.yaml:1:9: model: a model that is written out "
        "needs `heads`");
  CHECK(error_of(with("", "{layers: 2, hidden: 8, heads: 2, vocabulary: 9, gated: true, max_positions: 9999}")) ==
        "w.yaml:1:9: model: a model that is written out needs `ffn`");
}

TEST_CASE("Sizes that contradict each other") {
  CHECK(error_of(with("", "{family: llama, layers: 2, hidden: 10, heads: 3, ffn: 9, vocabulary: 9}")) ==
        "w.yaml:1:55: model.heads: 3 heads do not divide hidden 10; give head_size");
  CHECK(error_of(with("", "{family: llama, layers: 2, hidden: 8, heads: 4, kv_heads: 3, ffn: 9, vocabulary: 9}")) ==
        "w.yaml:1:67: model.kv_heads: 3 kv_heads do not divide 4 heads");
  CHECK(error_of(with("", "{layers: 2, hidden: 8, heads: 4, vocabulary: 9}")) ==
        "w.yaml:1:9: model: learned positions need max_positions, the rows of their table");
  CHECK(error_of(with("", "gpt3-1.3b")) ==
        "w.yaml:1:37: sequence_length: 4096 tokens, but gpt3-1.3b has learned positions for 2048");
}

TEST_CASE("Files") {
  CHECK(error_of(with("", "{config: absent.json}")) == "w.yaml:1:18: model.config: absent.json: no such file");
  CHECK(error_of(with("", "{config: a.json, layers: 3}")) ==
        "w.yaml:1:9: model: a model is a file (`config`) or written out, not both");
  CHECK(error_of(with("", "{config: .}")) == "w.yaml:1:18: model.config: .: is a folder, not a file");
}

TEST_CASE("Gradient types that contradict the precision") {
  CHECK(error_of(with(", precision: bf16, software: {preset: megatron-core-2024, gradient_type: fp16}")) ==
        "w.yaml:1:134: software.gradient_type: gradients in fp16 do not go with precision bf16");
}

TEST_CASE("Wrong types, ranges and keys never reach the builder") {
  for (const char* bad :
       {", precision: int8", ", global_batchh: 1", ", optimizer: [adam]", ", software: {dropout: true}",
        ", software: {preset: megatron-2021, dropout: yes}", ", convergence: {steps: 0}", ", method: 3"})
    CHECK_FALSE(error_of(with(bad)).empty());
  CHECK_FALSE(error_of("{model: llama-2-7b, sequence_length: 0, global_batch: 1}").empty());
  CHECK_FALSE(error_of("{model: llama-2-7b, sequence_length: 1.5, global_batch: 1}").empty());
  CHECK_FALSE(error_of("{model: [a], sequence_length: 1, global_batch: 1}").empty());
  CHECK_FALSE(error_of(with("", "{layers: 0, hidden: 8, heads: 2, vocabulary: 9, max_positions: 1}")).empty());
  CHECK_FALSE(error_of("7").empty());
}

}  // namespace
}  // namespace trainyard
