// Samples of different length: where their lengths come from, how they are packed, and what is refused.
#include <catch2/catch.hpp>
#include <numeric>

#include "workloads/data_section.hpp"
#include "workloads/length_file.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

std::string error_of(const std::string& data, const std::string& model = "llama-2-7b") {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text(
      "{model: " + model + ", sequence_length: 4096, global_batch: 8, data: " + data + "}", "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics))
    (void)build_workload(section, ".", diagnostics);
  const std::string text = diagnostics.text();
  return text.substr(0, text.find('\n'));
}

Workload workload_with(const std::string& data, int batch = 8) {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text(
      "{model: llama-2-7b, sequence_length: 4096, global_batch: " + std::to_string(batch) + ", data: " + data + "}",
      "w.yaml", diagnostics);
  REQUIRE(check(section, workload_schema(), diagnostics));
  Workload workload = build_workload(section, ".", diagnostics);
  REQUIRE(diagnostics.text() == "");
  return workload;
}

LengthTable table(std::vector<double> lengths, std::vector<double> weights) {
  return {std::move(lengths), std::move(weights), ""};
}

bool equal(const LengthTable& a, const LengthTable& b) {
  return a.lengths == b.lengths && a.weights == b.weights && a.problem == b.problem;
}

}  // namespace

TEST_CASE("Lengths in turn, cut at the longest sequence") {
  const Workload workload = workload_with("{lengths: [100, 5000, 200], batching: varying}");
  REQUIRE(workload.data.batch.size() == 8);
  CHECK(workload.data.batch[1] == SampleSize{4096, 4096, 4096.0 * 4096});
  CHECK(workload.data.batch[3] == SampleSize{100, 100, 1e4});
  CHECK(tokens_per_step(workload) == 3 * 100 + 3 * 4096 + 2 * 200);
}

TEST_CASE("FLOPs of a batch are the sum over its samples") {
  const Workload all = workload_with("{lengths: [1024, 2048], batching: varying}", 2);
  const Workload half = workload_with("{lengths: [1024]}", 1), whole = workload_with("{lengths: [2048]}", 1);
  CHECK(model_flops_per_step(all).value ==
        Approx(model_flops_per_step(half).value + model_flops_per_step(whole).value).epsilon(1e-12));
}

TEST_CASE("A log-normal draw has its median, and the seed decides it") {
  const std::string drawn = "{lengths: {log_normal: {median: 500, sigma: 1}}, batching: varying";
  const Workload workload = workload_with(drawn + "}", 4096);
  std::vector<double> lengths;
  for (const SampleSize& sample : workload.data.batch) lengths.push_back(sample.tokens);
  std::ranges::nth_element(lengths, lengths.begin() + 2048);
  CHECK(lengths[2048] == Approx(500).epsilon(0.06));
  CHECK(workload_with(drawn + "}", 64).data == workload_with(drawn + "}", 64).data);
  CHECK_FALSE(workload_with(drawn + "}", 64).data == workload_with(drawn + ", seed: 2}", 64).data);
}

TEST_CASE("Best fit decreasing packs into the fullest that has room") {
  // 6 and 5 open packs; 4 goes to the 6, 3 to the 5; 2 to the 8 that then holds 10.
  CHECK(packed({5, 2, 6, 4, 3}, 10) == std::vector<std::vector<int>>{{0, 1, 4}, {2, 3}});
}

TEST_CASE("A packed batch counts sequences, nearly full") {
  const Workload workload = workload_with("{lengths: {uniform: [100, 2000]}, batching: packing}", 16);
  REQUIRE(workload.data.batch.size() == 16);
  for (const SampleSize& pack : workload.data.batch) CHECK((pack.rows == 4096 && pack.tokens <= 4096));
  CHECK(tokens_per_step(workload) > 0.97 * 16 * 4096);
}

TEST_CASE("Lengths of published traces") {
  CHECK(equal(read_length_file("TIMESTAMP,ContextTokens,GeneratedTokens\r\nx,4808,10\r\ny,2,0\r\n", "azure", ""),
              table({4818, 2}, {0.5, 0.5})));
  CHECK(equal(
      read_length_file("{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 3}\n", "mooncake", "input_length"),
      table({7}, {1})));
  CHECK(equal(read_length_file("arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,5\n", "vidur", ""),
              table({15}, {1})));
  CHECK(equal(
      read_length_file(R"({"0": {"input_tokens": "{}"}, "21600": {"input_tokens": "{53: 0.75, 123: 0.25, 0: 0.0}"}})",
                       "servegen", ""),
      table({53, 123}, {0.75, 0.25})));
}

TEST_CASE("What is wrong with a file of lengths") {
  CHECK(read_length_file("a,b\n1,2\n", "azure", "").problem == "line 1: no column ContextTokens");
  CHECK(read_length_file("ContextTokens,GeneratedTokens\n1,-2\n", "azure", "").problem ==
        "line 2: \"-2\" is no count of tokens");
  CHECK(read_length_file("ContextTokens,GeneratedTokens\n1\n", "azure", "").problem == "line 2: 1 columns, not 2");
  CHECK(read_length_file("ContextTokens,GeneratedTokens\n", "azure", "").problem == "holds no lengths");
  CHECK(read_length_file("{\"input_length\": 7}\n", "mooncake", "").problem ==
        "line 1: no count of tokens in `output_length`");
  CHECK(read_length_file("[]", "servegen", "").problem == "no JSON object");
  CHECK(read_length_file(R"({"0": {"input_tokens": "{53 0.7}"}})", "servegen", "").problem ==
        "window 0: `input_tokens` is no table of lengths and probabilities");
}

TEST_CASE("A file of lengths behind a byte order mark, with windows in order of their texts, and with a column twice") {
  CHECK(equal(read_length_file("\xEF\xBB\xBF"
                               "ContextTokens,GeneratedTokens\r\n7,3\r\n",
                               "azure", ""),
              table({10}, {1})));
  CHECK(read_length_file("# GPUs,# GPUs\n1,2\n", "azure", "# GPUs").problem == "line 1: column # GPUs stands twice");
  CHECK(equal(read_length_file("\xEF\xBB\xBF# GPUs,x\r\n8,2\r\n", "azure", "# GPUs"), table({8}, {1})));
  // each window weighs the same, whatever its probabilities add up to
  CHECK(equal(read_length_file(R"({"10": {"input_tokens": "{7: 2.0}"}, "9": {"input_tokens": "{5: 0.5, 7: 0.5}"}})",
                               "servegen", ""),
              table({5, 7}, {0.25, 0.75})));
  CHECK(read_length_file(R"({"0": {"input_tokens": "None"}})", "servegen", "").problem ==
        "window 0: `input_tokens` is no table of lengths and probabilities");
  CHECK(read_length_file(R"x({"('a', 1)": null})x", "servegen", "").problem == "window ('a', 1) has no `input_tokens`");
}

TEST_CASE("Mistakes in the data section") {
  CHECK(error_of("{lengths: {log_normal: {median: 5, sigma: 1}, uniform: [1, 2]}}") ==
        "w.yaml:1:77: data.lengths: lengths are a list, or one of log_normal, uniform and trace");
  CHECK(error_of("{lengths: {uniform: [5, 2]}}") == "w.yaml:1:87: data.lengths.uniform: from 5 to 2");
  CHECK(error_of("{lengths: {trace: missing.csv}}") == "w.yaml:1:77: data.lengths: `format` is missing");
  CHECK(error_of("{lengths: {trace: missing.csv, format: azure}}") ==
        "w.yaml:1:85: data.lengths.trace: missing.csv: no such file");
  CHECK(error_of("{lengths: [100]}", "gemma-2-2b") ==
        "w.yaml:1:67: data: samples of different length with a window of attention: not simulated yet");
}

}  // namespace trainyard
