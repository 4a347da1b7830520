// Sizes that follow from each other: processes, ranks, batches.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/launch/scenario_settings.hpp"

namespace trainyard::launch {
namespace {

class Sizes {
 public:
  Sizes(const Framework& framework, Reading& reading, Diagnostics& diagnostics)
      : table_(framework.table()), r_(reading), s_(reading.settings), diagnostics_(diagnostics) {}

  void complete() {
    require_all();
    if (!all_positive()) return;
    if (ranks()) batches();
    model();
  }

 private:
  /// The framework's name of a setting.
  std::string name(std::string_view setting) const {
    const auto found = std::ranges::find(table_.arguments, setting, &Argument::setting);
    return found == table_.arguments.end() ? std::string(setting) : std::string(found->name);
  }
  std::string sized(std::string_view setting) const {
    return fmt::format("{} {}", name(setting), s_.count(setting, 1));
  }
  void mistake(std::string_view key, std::string message) { diagnostics_.add(r_.place(key), std::move(message)); }

  void require_all() {
    std::vector<std::string_view> needed{"workload.sequence_length", "plan.micro_batch"};
    if (!s_.has("workload.model")) needed.insert(needed.begin(), {"model.layers", "model.hidden", "model.heads"});
    for (const std::string_view key : needed)
      if (!s_.has(key)) mistake(key, fmt::format("{} is missing", name(key)));
    if (!s_.has("workload.model") && !s_.has("model.vocabulary"))
      mistake("", fmt::format("{} is missing: the tokenizer's file is not read; give the vocabulary with --vocabulary",
                              name("model.vocabulary")));
    if (!s_.has("job.gpus_per_node"))
      mistake("", "no launcher says how many GPUs there are: give --gpus-per-node and --nodes");
  }

  bool all_positive() {
    bool good = diagnostics_.empty();
    for (const char* key :
         {"plan.tensor", "plan.context", "plan.pipeline", "plan.shard", "plan.micro_batch", "workload.sequence_length",
          "workload.global_batch", "model.layers", "model.hidden", "model.heads"})
      if (s_.count(key, 1) < 1) mistake(key, fmt::format("{}: at least 1", name(key))), good = false;
    return good;
  }

  bool ranks() {
    const std::int64_t nodes = s_.count("job.nodes", 1), gpus = s_.count("job.gpus_per_node", 1), world = nodes * gpus;
    const std::int64_t replica = s_.count("plan.tensor", 1) * s_.count("plan.context", 1) *
                                 s_.count("plan.pipeline", 1) * s_.count("plan.shard", 1);
    if (world % replica == 0 && (!s_.has("plan.data") || s_.count("plan.data", 1) * replica == world)) {
      s_.set("plan.data", world / replica);
      return true;
    }
    std::string product =
        fmt::format("{} x {} x {}", sized("plan.tensor"), sized("plan.context"), sized("plan.pipeline"));
    for (const char* key : {"plan.shard", "plan.data"})
      if (s_.has(key)) product += fmt::format(" x {}", sized(key));
    mistake("plan.tensor", fmt::format("{} do not divide the {} GPUs of {} nodes x {}", product, world, nodes, gpus));
    return false;
  }

  void batches() {
    const std::int64_t at_once = s_.count("plan.data", 1) * s_.count("plan.shard", 1) * s_.count("plan.micro_batch", 1);
    if (!s_.has("workload.global_batch")) s_.set("workload.global_batch", at_once);
    if (s_.count("workload.global_batch", 1) % at_once != 0)
      mistake("workload.global_batch",
              fmt::format("{} is no multiple of {} x {} data ranks", sized("workload.global_batch"),
                          sized("plan.micro_batch"), s_.count("plan.data", 1) * s_.count("plan.shard", 1)));
  }

  void model() {
    const std::int64_t context = s_.count("plan.context", 1), tensor = s_.count("plan.tensor", 1);
    if (context > 1 && s_.count("workload.sequence_length", 1) % (2 * context) != 0)
      mistake("plan.context",
              fmt::format("{} is no multiple of 2 x {}", sized("workload.sequence_length"), sized("plan.context")));
    for (const char* key : {"model.heads", "model.kv_heads", "model.ffn"})
      if (s_.has(key) && s_.count(key, 1) % tensor != 0)
        mistake("plan.tensor",
                fmt::format("{} {} do not divide over {}", key + 6, s_.count(key, 1), sized("plan.tensor")));
  }

  const ArgumentTable& table_;
  Reading& r_;
  Settings& s_;
  Diagnostics& diagnostics_;
};

}  // namespace

void complete_sizes(const Framework& framework, Reading& reading, Diagnostics& diagnostics) {
  Sizes(framework, reading, diagnostics).complete();
}

}  // namespace trainyard::launch
