// Sailor (SOSP 25) artifact: measured iterations and memory of GPT-Neo and OPT in fp32 on GH200 and on mixed RTX nodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// A plan reads `stage0[7L]=4*(4xGH-96:tp4) ; stage1[9L]=..`; `|` joins replicas on different GPUs. Embedding and head
// count as layers. Nodes of 4 GH200 with one 200 Gb/s card a GPU (Alps); nodes of 8 RTX with about 1 Gb/s as the
// artifact fitted. fp32 tensors with tf32 products where the GPU has them: the artifact's layer profiles run above the
// fp32 peak on A100 and GH200 (GPT-Neo, micro-batch 4: 68 and 141 TFLOP/s) and below it on V100. Memory is what
// nvidia-smi says is used (get_total_used_mem in the artifact's pipe_engine.py: every figure is a whole number of MiB).
// ZeRO is off (`zero_optimization: {}`), attention has no dropout; GPT-Neo has it behind attention and MLP, OPT nowhere
// (gpt_neo_model.py, opt_model.py).
struct Replicas {
  int count = 0, gpus = 0, tensor = 0;
  std::string gpu;
};
struct PlanStage {
  int layers = 0;
  std::vector<Replicas> replicas;
};

std::vector<PlanStage> read_stages(const std::string& plan) {
  static const std::regex stage(R"(\[(\d+)L\]=([^;]*))");
  static const std::regex part(R"((\d+)\*\((\d+)x([^:]+):tp(\d+)\))");
  std::vector<PlanStage> stages;
  for (std::sregex_iterator s(plan.begin(), plan.end(), stage), none; s != none; ++s) {
    PlanStage read{std::stoi((*s)[1]), {}};
    const std::string parts = (*s)[2];
    for (std::sregex_iterator p(parts.begin(), parts.end(), part); p != none; ++p)
      read.replicas.push_back({std::stoi((*p)[1]), std::stoi((*p)[2]), std::stoi((*p)[4]), (*p)[3]});
    stages.push_back(std::move(read));
  }
  if (stages.empty()) throw Unmapped("the plan cannot be read");
  return stages;
}

struct NodeKind {
  const char* printed;
  const char* gpu;
  const char* name;
  int gpus;
  int nics;
  const char* nic;
};
constexpr std::array kNodes{NodeKind{"GH-96", "GH200-96GB", "gh", 4, 4, "200 Gbps"},
                            NodeKind{"RTX-3090", "RTX-3090-24GB", "r3090", 8, 1, "1 Gbps"},
                            NodeKind{"RTX-2080", "RTX-2080-8GB", "r2080", 8, 1, "1 Gbps"},
                            NodeKind{"Titan-RTX", "TITAN-RTX-24GB", "titan", 8, 1, "1 Gbps"}};

const NodeKind& kind_of(const std::string& printed) {
  for (const NodeKind& kind : kNodes)
    if (printed == kind.printed) return kind;
  throw Unmapped(fmt::format("no node known for {:?}", printed));
}

/// `8xRTX-3090; 16xRTX-2080` -> the GPUs without their counts.
std::string kinds_in(const std::string& mix) {
  std::string kinds;
  for (const NodeKind& kind : kNodes)
    if (mix.find(kind.printed) != std::string::npos) kinds += (kinds.empty() ? "" : " + ") + std::string(kind.gpu);
  return kinds.empty() ? mix : kinds;
}

/// Nodes are taken in the order in which the plan names them.
class Devices {
 public:
  std::string take(const Replicas& replicas) {
    const NodeKind& kind = kind_of(replicas.gpu);
    std::string text;
    for (int left = replicas.count * replicas.gpus; left > 0;) {
      int& used = used_[kind.name];
      const int here = std::min(left, kind.gpus - used % kind.gpus);
      text += fmt::format("{}{}.{}.{}-{}", text.empty() ? "" : ", ", kind.name, used / kind.gpus, used % kind.gpus,
                          used % kind.gpus + here - 1);
      used += here;
      left -= here;
    }
    return text;
  }
  [[nodiscard]] std::string cluster() const {
    std::string nodes;
    for (const NodeKind& kind : kNodes)
      if (const auto used = used_.find(kind.name); used != used_.end())
        nodes += fmt::format("{}{{name: {}, gpu: {}, gpus_per_node: {}, count: {}, nics: {}, nic: {}}}",
                             nodes.empty() ? "" : ", ", kind.name, kind.gpu, kind.gpus,
                             (used->second + kind.gpus - 1) / kind.gpus, kind.nics, kind.nic);
    return fmt::format("{{nodes: [{}]}}", nodes);
  }

 private:
  std::map<std::string, int> used_;
};

std::string stage_text(const PlanStage& stage, std::size_t number, std::size_t stages, int& next, Devices& devices) {
  std::string members;
  for (const Replicas& replicas : stage.replicas) members += (members.empty() ? "" : ", ") + devices.take(replicas);
  const bool first = number == 0, last = number + 1 == stages;
  const int layers = stage.layers - (first ? 1 : 0) - (last ? 1 : 0);
  const std::string range = layers == 1 ? fmt::format("{}", next) : fmt::format("{}-{}", next, next + layers - 1);
  next += layers;
  return fmt::format("{}{{devices: [{}], layers: [{}{}{}]}}", first ? "" : ", ", members, first ? "embedding, " : "",
                     range, last ? ", head" : "");
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = kinds_in(row["gpu_mix"]);
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.group = fmt::format("sailor/{}", into.model);
  into.step_time_s = row.number("iter_time_s");
  into.peak_memory_bytes = row.number("max_mem_bytes");
  into.memory_kind = MemoryKind::device;
  const std::vector<PlanStage> stages = read_stages(row["plan"]);
  Devices devices;
  std::string text;
  int next = 0, data = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) text += stage_text(stages[s], s, stages.size(), next, devices);
  for (const Replicas& replicas : stages[0].replicas) data += replicas.count;
  const int batch = row.count("gbs"), micro = row.count("mbs");
  if (batch % (data * micro) != 0) throw Unmapped("the global batch is no multiple of data ranks x micro-batch");
  into.cluster = devices.cluster();
  into.workload = fmt::format(
      "{{model: {}, sequence_length: {}, global_batch: {}, precision: tf32, software: {{preset: deepspeed-2022, "
      "attention: unfused, dropout: {}, copies_scores: false, distributed_optimizer: false}}}}",
      written_out(published_model(into.model)), row.count("seq_len"), batch, row.has("model", "Neo"));
  into.plan = fmt::format("{{layout: [data: {}, tensor: {}], batch: {}, micro_batches: {}, stages: [{}]}}", data,
                          stages[0].replicas.at(0).tensor, batch, batch / (data * micro), text);
}

}  // namespace

Source sailor_source() { return {"sailor", {"paper", "gpu_mix", "plan", "max_mem_bytes"}, map}; }

}  // namespace trainyard
