// Pipelines of several lengths made ahead; after a loss those that lost nodes go on as shorter ones, states come from the others.
// Paper: Jang et al., Oobleck: Resilient Distributed Training of Large Models Using Pipeline Templates, SOSP'23, arXiv 2309.08125.
#include <algorithm>

#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"
#include "strategies/recovery/replicas.hpp"

namespace trainyard {
namespace {

/// The nodes of each replica, in the order of its stages.
std::vector<std::vector<NodeId>> nodes_of(const std::vector<Replica>& replicas, const Cluster& cluster) {
  std::vector<std::vector<NodeId>> all;
  for (const Replica& replica : replicas) {
    all.emplace_back();
    for (const Stage& stage : replica.stages)
      for (const DeviceId device : stage.devices) {
        const NodeId node = cluster.devices[index(device)].node;
        if (std::ranges::find(all.back(), node) == all.back().end()) all.back().push_back(node);
      }
  }
  return all;
}

/// Those that are left, in the ids of now, without pipelines that lost all.
std::vector<std::vector<NodeId>> left_of(const std::vector<std::vector<NodeId>>& runs, const Replanning& change) {
  std::vector<std::vector<NodeId>> left;
  for (const std::vector<NodeId>& run : runs) {
    std::vector<NodeId> there;
    for (const NodeId node : run)
      if (const std::optional<NodeId> now = change.now_of[index(node)]) there.push_back(*now);
    if (!there.empty()) left.push_back(std::move(there));
  }
  std::ranges::stable_sort(left, {}, [](const auto& run) { return -std::ptrdiff_t(run.size()); });  // it does not matter which one is shorter
  return left;
}

void join_shortest(std::vector<std::vector<NodeId>>& runs) {
  std::ranges::stable_sort(runs, {}, [](const auto& run) { return -std::ptrdiff_t(run.size()); });
  const std::vector<NodeId> shortest = runs.back();
  runs.pop_back();
  runs.back().insert(runs.back().end(), shortest.begin(), shortest.end());
}

class PipelineTemplates final : public Recovery {
 public:
  explicit PipelineTemplates(const View& options)
      : saves_(saves_of(options, {CopyPlace::store})), restore_(pauses_of(options, kRestart, kRegroup)), tolerate_(int(options["tolerate"].integer_or(1))) {
    restore_.from_devices = true;
  }

  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }

  /// At least tolerate + 1 pipelines, so that so many nodes may fall at once; as many as fit where there are too few nodes.
  Plan modify(Plan plan, const PlanningContext& context) const override {
    const PipelineShape shape = shape_of(plan, context.workload);
    for (int at_least = tolerate_ + 1; at_least > 0; --at_least)
      if (std::optional<Plan> pipelines = best_pipelines(context, shape, at_least)) return *std::move(pipelines);
    return plan;
  }

  bool replans() const override { return true; }

  /// Whoever is left of a pipeline is a shorter one; where no template is so short, it joins the shortest other one.
  std::optional<Planned> replan(const Replanning& change) const override {
    const std::optional<std::vector<Replica>> replicas = replicas_of(change.running);
    if (!replicas) return std::nullopt;
    const PipelineShape shape = shape_of(change.running, change.now.workload);
    for (std::vector<std::vector<NodeId>> runs = left_of(nodes_of(*replicas, change.before), change); !runs.empty(); join_shortest(runs)) {
      if (std::optional<Plan> plan = pipelines_of(change.now, shape, runs); plan && seems_to_fit(change.now, *plan)) return Planned{*std::move(plan), {}, {}, false};
      if (runs.size() == 1) break;
    }
    return std::nullopt;
  }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
  int tolerate_;
};

Schema options() {
  using namespace schema;
  std::vector<SchemaField> fields = save_fields("when to save to the store, for the loss of all replicas");
  fields.insert(fields.begin(), optional("tolerate", integer(between(0, 1000), "nodes that may be lost at once"), "1"));
  for (SchemaField& field : pause_fields("30 s", "5 s")) fields.push_back(std::move(field));
  return object(std::move(fields), "options of pipeline_templates");
}

const RecoveryRegistrar registrar({
    .name = "pipeline_templates",
    .summary = "at least tolerate + 1 pipelines of whole nodes; after a loss the nodes left of one go on as a shorter one",
    .paper = "Jang et al., Oobleck, SOSP'23, arXiv 2309.08125",
    .options = options(),
    .simplified = {"pipelines are as equally long as the nodes allow; Oobleck tries every sum of its templates",
                   "stages are one tensor group each; Oobleck also gives stages several nodes or parts of one"},
    .make = [](const View& values, Diagnostics&) { return std::make_unique<PipelineTemplates>(values); },
});

}  // namespace
}  // namespace trainyard
