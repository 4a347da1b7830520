#include "validation/sources/training_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "validation/csv.hpp"

namespace trainyard {
namespace {

constexpr const char* kGroup = "gpu";

int nodes_of(const TrainingRun& run) {
  if (run.gpus <= run.site.gpus_per_node) return 1;
  if (run.gpus % run.site.gpus_per_node != 0)
    throw Unmapped(fmt::format("{} GPUs are no whole number of nodes of {}", run.gpus, run.site.gpus_per_node));
  return run.gpus / run.site.gpus_per_node;
}

int data_of(const TrainingRun& run) {
  const long model = static_cast<long>(run.tensor) * run.pipeline * run.context * run.shard;
  if (model < 1 || run.gpus % model != 0)
    throw Unmapped(fmt::format("tensor {} x pipeline {} x context {} x shard {} does not divide {} GPUs", run.tensor,
                               run.pipeline, run.context, run.shard, run.gpus));
  return static_cast<int>(run.gpus / model);
}

/// Decoder layers by visit when embedding and head each take the place of a layer; empty when they do not come out.
std::vector<int> layers_beside_ends(const TrainingRun& run) {
  const int visits = run.pipeline * run.chunks;
  if (!run.ends_count_as_layers || visits < 2 || run.layers % visits == 0 || (run.layers + 2) % visits != 0) return {};
  std::vector<int> counts(static_cast<std::size_t>(visits), (run.layers + 2) / visits);
  --counts.front();
  --counts.back();
  return counts;
}

/// `, key: value` lines of a plan.
class Keys {
 public:
  void add(const char* key, int value) { text_ += fmt::format(", {}: {}", key, value); }
  void add_above_one(const char* key, int value) {
    if (value > 1) add(key, value);
  }
  void add(const char* key, const std::string& value) {
    if (!value.empty()) text_ += fmt::format(", {}: {}", key, value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_pipeline(const TrainingRun& run, Keys& keys) {
  if (run.pipeline == 1) return;
  keys.add("pipeline", run.pipeline);
  if (run.chunks > 1) {
    keys.add("chunks", run.chunks);
    keys.add("schedule", "interleaved");
  }
  const std::vector<int> layers = run.stage_layers.empty() ? layers_beside_ends(run) : run.stage_layers;
  if (!layers.empty()) keys.add("layers", fmt::format("[{}]", fmt::join(layers, ", ")));
}

}  // namespace

std::string cluster_text(const TrainingRun& run) {
  const Site& site = run.site;
  Keys node;
  node.add("gpu", site.gpu);
  node.add("gpus_per_node", site.gpus_per_node);
  node.add("count", nodes_of(run));
  node.add("inside", site.inside);
  node.add("nics", site.nics);
  node.add("nic", site.nic);
  node.add("transport", site.transport);
  return fmt::format("{{nodes: [{{name: {}{}}}]}}", kGroup, node.text());
}

std::string workload_text(const TrainingRun& run) {
  Keys keys;
  keys.add("sequence_length", run.sequence_length);
  keys.add("global_batch", run.global_batch);
  keys.add("precision", run.precision);
  keys.add("method", run.method);
  keys.add("software", run.software);
  return fmt::format("{{model: {}{}}}", run.model, keys.text());
}

std::string plan_text(const TrainingRun& run) {
  Keys keys;
  keys.add_above_one("context", run.context);
  keys.add_above_one("expert", run.expert);
  keys.add_above_one("expert_tensor", run.expert_tensor);
  keys.add_above_one("data", data_of(run));
  keys.add_above_one("shard", run.shard);
  add_pipeline(run, keys);
  keys.add("micro_batch", run.micro_batch);
  if (run.zero >= 0) keys.add("zero", run.zero);
  if (run.keeps_gathered) keys.add("regather", "false");
  if (run.recompute != "none") keys.add("recompute", run.recompute);
  keys.add("sequence_parallel", run.sequence_parallel);
  keys.add("home", run.home);
  if (run.gpus < run.site.gpus_per_node)
    keys.add("devices", run.gpus == 1 ? fmt::format("{}.0.0", kGroup) : fmt::format("{}.0.0-{}", kGroup, run.gpus - 1));
  return fmt::format("{{tensor: {}{}}}", run.tensor, keys.text());
}

double gpt_flops(double layers, double hidden, double vocabulary, double sequence_length, double batch, bool hardware) {
  const double decoder = 24 * batch * sequence_length * layers * hidden * hidden * (1 + sequence_length / (6 * hidden));
  const double head = 6 * batch * sequence_length * hidden * vocabulary;
  return (hardware ? 4 : 3) * decoder + head;
}

}  // namespace trainyard
