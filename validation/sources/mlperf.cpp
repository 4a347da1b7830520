// MLPerf Training v4.0 to v5.1, language models and diffusion: logged step time and memory, layout from the submitted configuration.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// The name of the configuration says fp4. Where the log does not say, fp8: it is the default of NVIDIA's implementation, and no run
// of these rounds printed that it was off.
std::string precision_of(const CsvRow& row) {
  return row.is("fp4", "True") || row.has("config_file", "fp4") ? "fp4" : row.is("fp8", "False") ? "bf16" : "fp8";
}

/// Primary weights in fp8 (fp8_params of these configurations); on Hopper the transposed copy makes them two bytes again.
std::string software_of(const CsvRow& row) {
  const bool hopper = row.has("accelerator", "H100") || row.has("accelerator", "H200");
  return hopper ? "nemo-2024" : "{preset: nemo-2024, narrow_weights: true}";
}

/// What a network for images is beside its row: one micro-batch fills the batch, so that all GPUs are data-parallel, and one graph runs an iteration.
struct ImageNetwork {
  std::string model, name;
  int positions = 0;         ///< of the latent image, with tokens of the text where they stand in the sequence
  const char* precision = "";
};

void map_images(const ImageNetwork& network, const CsvRow& row, Measurement& into) {
  if (row["mbs"].empty()) throw Unmapped("the micro-batch is not printed");
  TrainingRun run;
  run.site = nvidia_site(row["accelerator"], into.gpus);
  run.gpus = into.gpus;
  run.model = network.model;
  run.micro_batch = row.count("mbs");
  run.global_batch = row.count("gbs");
  if (run.micro_batch * into.gpus != run.global_batch) throw Unmapped("the printed layout does not match the run");
  run.sequence_length = network.positions;
  run.precision = network.precision;
  run.software = "{preset: nemo-2024, cuda_graphs: true}";
  into.step_time_s = row.number("train_step_s");
  into.group = nvidia_group(into.gpu, network.name);
  set_run(into, run);
}

/// Flux.1 schnell at 256 x 256 pixels: 256 tokens of the latent image and 256 of the text, 20.3 TFLOP a sample (config_common.sh of NVIDIA's
/// implementation); MXFP8 and one graph an iteration are its defaults.
ImageNetwork flux(const std::string& printed) {
  const auto model = published_model(printed);
  return {written_out(model), model.name, 512, "fp8"};
}

/// The UNet of Stable Diffusion 2 on latents of 64 x 64; latents and the text's states come from files, weights and gradients are fp16
/// (conf/custom.yaml of NVIDIA's implementation: images_moments, clip_encoded, precision 16, capture_cudagraph_iters).
ImageNetwork stable_diffusion() {
  return {"{unet: {channels: [320, 640, 1280, 1280], transformers: [1, 1, 1, 0], heads: [5, 10, 20, 20], text_tokens: 77, text_width: 1024}}",
          "stable-diffusion-2.1", 4096, "fp16"};
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["accelerator"]);
  into.model = row["benchmark"];
  into.gpus = row.count("n_accel");
  into.step_time_s = row.number("iter_time_s");
  if (const auto memory = row.number("max_mem_GB")) into.peak_memory_bytes = *memory * 1e9;
  into.memory_kind = MemoryKind::last_stage;
  refuse_other_workloads(into.model);
  if (row.is("benchmark", "flux1")) return map_images(flux(into.model), row, into);
  if (row.is("benchmark", "stable_diffusion")) return map_images(stable_diffusion(), row, into);
  const std::string model = row.is("benchmark", "gpt3") ? "GPT3-175B" : into.model;
  into.group = nvidia_group(into.gpu, published_model(model).name);
  if (!row.is("cfg_check", "ok")) throw Unmapped("the printed layout does not match the run");
  TrainingRun run = nvidia_run(row, row["accelerator"], model, into.gpus, 0);
  run.precision = precision_of(row);
  run.software = software_of(row);
  if (row.has("benchmark", "lora")) run.method = "{lora: {rank: 16, targets: [qkv, proj]}}";  // the benchmark's rules
  set_run(into, run);
}

}  // namespace

Source mlperf_source() { return {"mlperf", {"round", "benchmark", "accelerator", "ttt_min_mean", "cfg_check"}, map}; }

}  // namespace trainyard
