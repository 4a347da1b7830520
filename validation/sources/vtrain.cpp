// vTrain (arXiv:2312.12391), data/ground_truth_*.csv: iteration times of Megatron-DeepSpeed on DGX A100, 1F1B, full
// recompute.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// Four NICs of 200 Gb/s a node (its section 5); the vocabulary is not printed: Megatron's 51,200.
void map(const CsvRow& row, Measurement& into) {
  TrainingRun run;
  run.site = {.gpu = "A100-SXM4-80GB", .nics = 4};
  into.gpu = run.site.gpu;
  into.citation = "VIA-Research/vTrain data/" + into.file;
  run.gpus = into.gpus = row.count("# GPUs");
  run.layers = row.count("# layers");
  const int hidden = row.count("hidden size"), length = row.count("sequence length");
  into.model = fmt::format("gpt {} x {}", run.layers, hidden);
  into.step_time_s = row.number("iteration time (ms)");
  if (into.step_time_s) *into.step_time_s /= 1e3;
  run.model = fmt::format("{{layers: {}, hidden: {}, heads: {}, vocabulary: 51200, max_positions: {}}}", run.layers,
                          hidden, row.count("attention heads"), length);
  run.sequence_length = length;
  run.global_batch = row.count("global batch");
  run.precision = "fp16";
  run.software = "deepspeed-2022";
  run.tensor = row.count("tensor parallelism");
  run.pipeline = row.count("pipeline parallelism");
  run.micro_batch = row.count("micro batch");
  run.recompute = "full";
  set_run(into, run);
}

std::vector<std::string_view> columns() {
  return {"# GPUs",   "global batch",    "micro batch",        "hidden size",          "attention heads",
          "# layers", "sequence length", "tensor parallelism", "pipeline parallelism", "iteration time (ms)"};
}

}  // namespace

Source vtrain_multi_source() {
  auto all = columns();
  all.emplace_back("Parameters (billion)");
  return {"vtrain_multi", all, map};
}
Source vtrain_single_source() { return {"vtrain_single", columns(), map}; }

}  // namespace trainyard
