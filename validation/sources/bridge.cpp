// Megatron-Bridge performance summary, NeMo 25.09 to 26.08. Rows whose tokens/s are rounded keep the time that follows
// from them.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["gpu"]);
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s_derived");
  into.group = nvidia_group(into.gpu, into.model);
  refuse_other_workloads(into.model);
  into.group = nvidia_group(into.gpu, published_model(into.model).name);
  TrainingRun run = nvidia_run(row, row["gpu"], into.model, into.gpus, 0);
  run.precision = nvidia_precision(row["precision"]);
  run.software = "megatron-bridge-2026";
  run.expert_tensor = 1;  // as its recipes set it
  // Megatron-Bridge, scripts/performance and recipes of Llama 3 70B: dim 16, target_modules [linear_qkv].
  if (row.is("task", "lora")) run.method = "{lora: {rank: 16, targets: [qkv]}}";
  set_run(into, run);
}

}  // namespace

Source bridge_source() { return {"bridge", {"release", "system", "dp_derived", "tok_rounded", "on_head"}, map}; }

}  // namespace trainyard
