// MLPerf Training v4.0 to v5.1, language models: logged step time and memory, layout from the submitted configuration.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["accelerator"]);
  into.model = row["benchmark"];
  into.gpus = row.count("n_accel");
  into.step_time_s = row.number("iter_time_s");
  if (const auto memory = row.number("max_mem_GB")) into.peak_memory_bytes = *memory * 1e9;
  refuse_other_workloads(into.model);
  const std::string model = row.is("benchmark", "gpt3") ? "GPT3-175B" : into.model;
  into.group = nvidia_group(into.gpu, published_model(model).name);
  if (!row.is("cfg_check", "ok")) throw Unmapped("the printed layout does not match the run");
  TrainingRun run = nvidia_run(row, row["accelerator"], model, into.gpus, 0);
  run.precision = row.is("fp4", "True") ? "fp4" : row.is("fp8", "True") ? "fp8" : "bf16";
  if (row.has("benchmark", "lora")) run.method = "{lora: {rank: 16, targets: [qkv, proj]}}";  // the benchmark's rules
  set_run(into, run);
}

}  // namespace

Source mlperf_source() { return {"mlperf", {"round", "benchmark", "accelerator", "ttt_min_mean", "cfg_check"}, map}; }

}  // namespace trainyard
