// The planners' profiles against the estimate of a whole Plan that uses the same cost functions.
#include <catch2/catch.hpp>

#include "sim/planning/estimate.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/stage_plan.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

TEST_CASE("layers' costs add up to the estimate of one stage") {
  const int tensor = GENERATE(1, 4);
  const RecomputeKind recompute = GENERATE(RecomputeKind::none, RecomputeKind::full);
  const Scenario scenario = fixture::scenario("megatron");
  const Cluster& cluster = scenario.variants[0].cluster;
  const Workload& workload = scenario.variants[0].workload;
  const Router router(cluster);
  LayerCosts costs(cluster, workload, router);
  std::vector<DeviceId> group = cluster.gpus();
  group.resize(std::size_t(tensor));
  const std::vector<LayerCost>& layers = costs.of({group, 2, recompute});
  Seconds pass{};
  Bytes states{}, kept{};
  for (const LayerCost& layer : layers) {
    pass += layer.forward + layer.backward;
    states += layer.states;
    kept += layer.kept;
  }
  const auto plan_with = [&](int micro_batches) {
    return plan_of({{{{0, int(layers.size()), group, tensor, {recompute, 1}}}, 2.0 * micro_batches, micro_batches}});
  };
  const StepEstimate one = estimate_step(plan_with(1), cluster, workload, router), nine = estimate_step(plan_with(9), cluster, workload, router);
  CHECK((nine.step_time - one.step_time).value == Approx(8 * pass.value).epsilon(1e-9));  // what is left out ends the step once
  CHECK(one.memory.peak >= states + kept);
  CHECK(costs.usable_memory(group[0], tensor) < cluster.devices[index(group[0])].memory);
}

TEST_CASE("an answer is given once for groups that are alike") {
  const Scenario scenario = fixture::scenario("megatron");
  const Router router(scenario.variants[0].cluster);
  LayerCosts costs(scenario.variants[0].cluster, scenario.variants[0].workload, router);
  const std::vector<DeviceId> gpus = scenario.variants[0].cluster.gpus();
  CHECK(&costs.of({{gpus[0]}, 1, RecomputeKind::none}) == &costs.of({{gpus[9]}, 1, RecomputeKind::none}));
  CHECK(&costs.of({{gpus[0]}, 1, RecomputeKind::none}) != &costs.of({{gpus[0], gpus[1]}, 1, RecomputeKind::none}));
}
