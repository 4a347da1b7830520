// A training run on equal nodes, as most tables describe it, and how it reads as a scenario.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// Nodes of one kind. `nic` is the rate of one NIC.
struct Site {
  std::string gpu = "";
  int gpus_per_node = 8;
  int nics = 8;
  std::string nic = "200 Gbps";
  std::string inside = "";     ///< "": the GPU's default
  std::string transport = "";  ///< "": the default
};

struct TrainingRun {
  Site site;
  int gpus = 0;
  std::string model;  ///< catalogue name, or written out as a YAML map
  int layers = 0;     ///< decoder layers; needed with `chunks` and where embedding and head count as layers
  int sequence_length = 0, global_batch = 0;
  std::string precision = "bf16", software, method;
  int tensor = 1, pipeline = 1, context = 1, shard = 1, chunks = 1, micro_batch = 1;
  int expert = 1, expert_tensor = 1;
  int zero = -1;  ///< -1: the software's default
  bool keeps_gathered = false;        ///< weights of FSDP from the forward to the backward pass
  std::string recompute = "none";
  std::string sequence_parallel;      ///< "true", "false", or "" for the software's default
  std::string home;                   ///< YAML map: states kept elsewhere than on the device
  std::vector<int> stage_layers;      ///< decoder layers of each stage; empty: even
  bool ends_count_as_layers = false;  ///< embedding and head take a layer's place in the first and the last stage
};

/// `cluster:`, `workload:` and the options of `fixed` as YAML in one line. A node that is not used as a whole gives its
/// first GPUs. The data axis takes what the others leave. Throws Unmapped where the sizes contradict each other.
[[nodiscard]] std::string cluster_text(const TrainingRun& run);
[[nodiscard]] std::string workload_text(const TrainingRun& run);
[[nodiscard]] std::string plan_text(const TrainingRun& run);

/// Megatron's model FLOPs of a step of a GPT with an MLP of 4 x hidden (Narayanan et al. 2021, §5.1, without the
/// recomputed forward pass; `hardware` with it).
[[nodiscard]] double gpt_flops(double layers, double hidden, double vocabulary, double sequence_length, double batch,
                               bool hardware);

}  // namespace trainyard
