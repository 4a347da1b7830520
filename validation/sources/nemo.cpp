// NeMo performance summaries, releases 24.07 to 25.07.
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
  if (row.has("tp", "best")) throw Unmapped("the layout is not printed");
  TrainingRun run = nvidia_run(row, row["gpu"], into.model, into.gpus, 0);
  run.precision = nvidia_precision(row["precision"]);
  if (row.is("task", "LoRA")) run.method = "{lora: {rank: 32, targets: [qkv]}}";  // NeMo 24.07, megatron_gpt_finetuning_config.yaml
  set_run(into, run);
}

}  // namespace

Source nemo_source() {
  return {"nemo", {"release", "task", "ga", "dp", "model_tflops_per_gpu", "iter_time_s_derived"}, map};
}

}  // namespace trainyard
