#include "sim/planning/plan_traits.hpp"

#include <algorithm>
#include <set>

#include "sim/model/cluster.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {
namespace {

/// Grows `least` and `most` to hold a value; 0: nothing seen yet.
void widen(int value, int& least, int& most) {
  least = least == 0 ? value : std::min(least, value);
  most = std::max(most, value);
}

class Counting {
 public:
  Counting(const Cluster& cluster, const Workload& workload) : cluster_(cluster), workload_(workload) {}

  void count(const Part& part) {
    const Module& module = workload_.modules[index(workload_.passes[index(part.pass)].module)];
    const std::vector<bool> counted = module.counted_layers();
    for (const Stage& stage : part.stages) count(stage, counted);
    for (const Pipeline& pipeline : part.pipelines) count(pipeline, part);
    if (traits_.schedule.empty()) traits_.schedule = part.schedule;
  }

  [[nodiscard]] PlanTraits traits() const {
    PlanTraits traits = traits_;
    traits.kinds = int(kinds_.size());
    for (const std::string& word : recompute_) traits.recompute += (traits.recompute.empty() ? "" : "/") + word;
    return traits;
  }

 private:
  void count(const Stage& stage, const std::vector<bool>& counted) {
    int layers = 0;
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk) {
        layers += counted[index(layer)] ? 1 : 0;
        const Settings written = written_settings(stage, layer);
        recompute_.insert(std::string(word(written.recompute.value_or(Recompute{}).kind)));
        traits_.zero = std::max(traits_.zero, written.zero.value_or(0));
      }
    widen(layers, traits_.least_layers, traits_.most_layers);
    widen(axis_size(layout_of(stage), AxisKind::tensor), traits_.least_tensor, traits_.most_tensor);
    for (const DeviceId device : stage.devices) kinds_.insert(cluster_.devices[index(device)].type);
  }

  void count(const Pipeline& pipeline, const Part& part) {
    traits_.stages = std::max(traits_.stages, int(pipeline.stages.size()));
    traits_.micro_batches = std::max(traits_.micro_batches, double(pipeline.micro_batches));
    int ranks = 1;
    for (const StageId id : pipeline.stages) {
      const Layout layout = layout_of(part.stages[index(id)]);
      ranks = axis_size(layout, AxisKind::data) * axis_size(layout, AxisKind::shard);
      traits_.micro_batch = std::max(traits_.micro_batch, pipeline.batch / pipeline.micro_batches / ranks);
    }
    traits_.replicas += ranks;
  }

  [[nodiscard]] Layout layout_of(const Stage& stage) const {
    const LayerId first = stage.chunks.empty() || stage.chunks[0].empty() ? LayerId{} : stage.chunks[0][0];
    return *settings_of(stage, first, workload_).layout;
  }

  const Cluster& cluster_;
  const Workload& workload_;
  PlanTraits traits_;
  std::set<DeviceTypeId> kinds_;
  std::set<std::string> recompute_;
};

}  // namespace

PlanTraits traits_of(const Plan& plan, const Cluster& cluster, const Workload& workload) {
  Counting counting(cluster, workload);
  if (!plan.phases.empty())
    for (const Part& part : plan.phases.front().parts) counting.count(part);
  return counting.traits();
}

}  // namespace trainyard
