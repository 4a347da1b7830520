#include "validation/sources/nvidia.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "validation/sources/models.hpp"

namespace trainyard {
namespace {

struct System {
  std::string_view part;
  const char* gpu;
  int gpus_per_node;
  const char* nic;
};
/// The first part that a printed name contains counts.
constexpr std::array kSystems{
    System{"GB300", "GB300-288GB", 64, "800 Gbps"},  System{"GB200", "GB200-186GB", 64, "400 Gbps"},
    System{"B300", "B300-SXM-288GB", 8, "800 Gbps"}, System{"B200", "B200-SXM-180GB", 8, "400 Gbps"},
    System{"H200", "H200-SXM-141GB", 8, "400 Gbps"}, System{"H100 9", "H100-SXM5-96GB", 8, "400 Gbps"},
    System{"H100", "H100-SXM5-80GB", 8, "400 Gbps"}, System{"A100", "A100-SXM4-80GB", 8, "200 Gbps"}};

const System* find_system(const std::string& printed) {
  for (const System& system : kSystems)
    if (printed.find(system.part) != std::string::npos) return &system;
  return nullptr;
}

}  // namespace

Site nvidia_site(const std::string& printed, int gpus) {
  const System* system = find_system(printed);
  if (!system) throw Unmapped(fmt::format("no system known for {:?}", printed));
  const bool rack = system->gpus_per_node == 64;
  const int per_node = rack ? std::min(gpus % 72 == 0 ? 72 : 64, gpus) : system->gpus_per_node;
  return {.gpu = system->gpu, .gpus_per_node = per_node, .nics = std::min(per_node, 64), .nic = system->nic};
}

std::string nvidia_precision(const std::string& printed) {
  if (printed.find("FP4") != std::string::npos) return "fp4";
  return printed.find("FP8") != std::string::npos ? "fp8" : "bf16";
}

std::string nvidia_gpu(const std::string& printed) {
  const System* system = find_system(printed);
  return system ? system->gpu : printed;
}

std::string nvidia_group(const std::string& gpu, const std::string& model) {
  return fmt::format("nvidia/{}/{}", gpu, model);
}

std::vector<int> layers_of_64(const TrainingRun& run, bool embedding) {
  const int visits = run.pipeline * run.chunks, each = 64 / visits;
  if (run.layers != 61 || visits < 2 || 64 % visits != 0 || each < 4) return {};
  std::vector<int> counts(static_cast<std::size_t>(visits), each);
  counts.front() -= embedding ? 1 : 0;
  counts.back() -= embedding ? 2 : 3;
  return counts;
}

TrainingRun nvidia_run(const CsvRow& row, const std::string& gpu, const std::string& model, int gpus, int layers) {
  const PublishedModel known = published_model(model);
  TrainingRun run;
  run.site = nvidia_site(gpu, gpus);
  run.gpus = gpus;
  run.layers = layers > 0 ? layers : known.layers;
  run.model = written_out(known, run.layers);
  run.software = "nemo-2024";
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.tensor = row.count_or("tp", 1);
  run.pipeline = row.count_or("pp", 1);
  run.context = row.count_or("cp", 1);
  if (run.pipeline > 1) run.chunks = row.count_or("vp", 1);
  run.micro_batch = row.count_or("mbs", 1);
  run.expert = row.count_or("ep", 1);
  if (run.expert > 1) run.expert_tensor = run.tensor;  // Megatron's default
  run.ends_count_as_layers = true;
  const double fsdp = row.number("fsdp").value_or(0);
  if (fsdp >= 1) {
    run.shard = fsdp > 1 ? static_cast<int>(fsdp) : gpus / (run.tensor * run.pipeline * run.context);
    run.zero = 3;
  }
  return run;
}

}  // namespace trainyard
