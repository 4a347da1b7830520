// Every device keeps the next stage's states and runs its forward passes too; when a node is lost, the one before it takes its stage.
// Paper: Thorpe et al., Bamboo: Making Preemptible Instances Resilient for Affordable Training of Large DNNs, NSDI'23, arXiv 2204.12013.
#include <algorithm>

#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"
#include "strategies/recovery/replicas.hpp"

namespace trainyard {
namespace {

constexpr DeviceId kLost = static_cast<DeviceId>(-1);
/// All processes meeting again, and those of one pipeline: the times that Bamboo's own simulator takes for GPT-2 and BERT
/// (uclasystem/bamboo project_pactum/simulation/simulator.py, global and local rendezvous).
constexpr Seconds kAllMeet{30}, kPipelineMeets{20};

Settings redundant_settings() {
  Settings settings;
  settings.zero = 0;
  settings.redundant_forward = true;
  return settings;
}

/// The device in the cluster now.
DeviceId device_now(const Replanning& change, DeviceId before) {
  const NodeId old = change.before.devices[index(before)].node;
  const std::optional<NodeId> node = change.now_of[index(old)];
  if (!node) return kLost;
  const std::vector<DeviceId>& then = change.before.nodes[index(old)].devices;
  const auto place = std::ranges::find(then, before) - then.begin();
  return change.now.cluster.nodes[index(*node)].devices[std::size_t(place)];
}

/// The stage's devices now; whether all are there.
bool move_stage(const Replanning& change, Stage& stage) {
  for (DeviceId& device : stage.devices) device = device_now(change, device);
  return std::ranges::find(stage.devices, kLost) == stage.devices.end();
}

void take_over(const Stage& lost, Stage& by, bool in_front) {
  std::vector<LayerId>& layers = by.chunks.front();
  const std::vector<LayerId>& more = lost.chunks.front();
  layers.insert(in_front ? layers.begin() : layers.end(), more.begin(), more.end());
}

/// The replica without its lost stages, each taken by the stage before it; nothing where that one is lost too. The first stage's copy
/// lies with the last one, which becomes the first: its own stage then goes to the one before it, which has a copy of that.
std::optional<Replica> shrunk(const Replanning& change, Replica replica) {
  std::vector<bool> there;
  for (Stage& stage : replica.stages) there.push_back(move_stage(change, stage));
  if (std::ranges::find(there, false) == there.end()) return replica;
  const std::size_t last = replica.stages.size() - 1;
  if (!there[0]) {
    if (last < 2 || !there[last] || !there[last - 1]) return std::nullopt;
    replica.stages[0].devices = replica.stages[last].devices;
    there[0] = true;
    there[last] = false;
  }
  Replica left{replica.batch, replica.micro_batches, {}};
  for (std::size_t s = 0; s <= last; ++s) {
    if (!there[s] && !there[s - 1]) return std::nullopt;
    if (there[s]) left.stages.push_back(replica.stages[s]);
    else take_over(replica.stages[s], left.stages.back(), false);
  }
  return left;
}

class RedundantComputation final : public Recovery {
 public:
  explicit RedundantComputation(const View& options) : saves_(saves_of(options, {CopyPlace::store})), restore_(pauses_of(options, kAllMeet, kPipelineMeets)) {
    restore_.from_devices = true;
  }

  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }

  Plan modify(Plan plan, const PlanningContext& context) const override {
    Plan redundant = with_settings(plan, redundant_settings());
    if (fits(context, redundant)) return redundant;
    PipelineShape shape = shape_of(plan, context.workload);
    shape.redundant_forward = true;
    std::optional<Plan> deeper = best_pipelines(context, shape, 1);
    return deeper ? *std::move(deeper) : redundant;
  }

  /// What the devices of the next stage hold.
  Holdings also_held(const Plan& plan, const Workload& workload, const Cluster& cluster) const override {
    Holdings copies(cluster.devices.size());
    const std::optional<std::vector<Replica>> replicas = replicas_of(plan);
    if (!replicas) return copies;
    const Holdings own = holdings_of(plan, workload, cluster.devices.size());
    for (const Replica& replica : *replicas)
      for (std::size_t s = 0; s < replica.stages.size() && replica.stages.size() > 1; ++s) {
        const Stage &stage = replica.stages[s], &next = replica.stages[(s + 1) % replica.stages.size()];
        for (std::size_t i = 0; i < stage.devices.size() && i < next.devices.size(); ++i)
          copies[index(stage.devices[i])] = own[index(next.devices[i])];
      }
    return copies;
  }

  bool replans() const override { return true; }
  std::optional<Planned> replan(const Replanning& change) const override {
    const std::optional<std::vector<Replica>> replicas = replicas_of(change.running);
    if (!replicas) return std::nullopt;
    std::vector<Replica> left;
    for (const Replica& replica : *replicas) {
      std::optional<Replica> one = shrunk(change, replica);
      if (!one) return std::nullopt;
      left.push_back(*std::move(one));
    }
    return Planned{plan_of_replicas(change.running, left), {}, {}, false};
  }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
};

Schema options() {
  std::vector<SchemaField> fields = save_fields("when to save to the store, for losses that redundancy does not cover");
  for (SchemaField& field : pause_fields("30 s", "20 s")) fields.push_back(std::move(field));
  return schema::object(std::move(fields), "options of redundant_computation");
}

const RecoveryRegistrar registrar({
    .name = "redundant_computation",
    .summary = "each node also keeps the next one's stage and runs its forward passes, and takes it over when that is lost",
    .paper = "Thorpe et al., Bamboo, NSDI'23, arXiv 2204.12013",
    .options = options(),
    .simplified = {"redundant forward passes follow the own ones; Bamboo moves them into bubbles",
                   "copies of states are brought up to date without traffic of their own",
                   "copies lie with the stage before, which on nodes of several GPUs may be the same node",
                   "the step at hand is run again as a whole; Bamboo repeats only the lost node's backward passes"},
    .make = [](const View& values, Diagnostics&) { return std::make_unique<RedundantComputation>(values); },
});

}  // namespace
}  // namespace trainyard
