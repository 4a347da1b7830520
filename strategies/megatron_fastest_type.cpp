// Megatron-LM on one type of GPU alone: what people do with a mixed cluster when their software cannot mix.
// Paper: the homogeneous baseline of HetPipe, AMP, Metis and other work on mixed clusters; layouts as in SC'21 Megatron-LM.
#include <map>

#include "sim/planning/registry.hpp"
#include "sim/planning/uniform_search.hpp"

namespace trainyard {
namespace {

/// Nodes by the type of their first GPU, in the cluster's order of types.
std::map<DeviceTypeId, std::vector<NodeId>> nodes_by_type(const Cluster& cluster) {
  std::map<DeviceTypeId, std::vector<NodeId>> groups;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (!cluster.nodes[i].devices.empty())
      groups[cluster.devices[index(cluster.nodes[i].devices.front())].type].push_back(id_at<NodeId>(i));
  return groups;
}

class MegatronFastestType final : public Strategy {
 public:
  explicit MegatronFastestType(const StrategyOptions& options) {
    search_.simulate = int(options.values["simulate"].integer_or(search_.simulate));
  }

  PlanOrInfeasible plan(const PlanningContext& context) override {
    std::optional<UniformPlan> best;
    std::optional<Infeasible> nearest;
    for (const auto& [type, nodes] : nodes_by_type(context.cluster)) {
      UniformOrInfeasible found = search_uniform(context, nodes, search_);
      if (auto* infeasible = std::get_if<Infeasible>(&found)) {
        if (!nearest || lacks_less(*infeasible, *nearest)) nearest = std::move(*infeasible);
      } else if (auto& plan = std::get<UniformPlan>(found); !best || plan.step_time < best->step_time) {
        best = std::move(plan);
      }
    }
    if (best) return std::move(best->planned);
    return nearest ? std::move(*nearest) : Infeasible{"the cluster has no GPUs", std::nullopt, {}};
  }

 private:
  static bool lacks_less(const Infeasible& a, const Infeasible& b) {
    return a.memory && (!b.memory || a.memory->missing() < b.memory->missing());
  }

  UniformSearchOptions search_;
};

const StrategyRegistrar registrar({
    .name = "megatron_fastest_type",
    .summary = "megatron on the one GPU type of the cluster that is fastest alone",
    .paper = "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC'21, arXiv 2104.04473",
    .options = schema::object({schema::optional("simulate", schema::integer(between(1, 10000), "candidates simulated for each GPU type"), "20")},
                              "options of megatron_fastest_type"),
    .simplified = {"a node's type is that of its first GPU"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<MegatronFastestType>(options); },
});

}  // namespace
}  // namespace trainyard
