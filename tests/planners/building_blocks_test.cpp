// What planners are made of: integer programs, balanced cuts, groups of devices, the last round of a search.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/planning/device_groups.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/integer_program.hpp"
#include "sim/planning/layer_balance.hpp"
#include "sim/planning/matching.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/stage_chain.hpp"
#include "tests/planners/mixed_fixture.hpp"

using namespace trainyard;

TEST_CASE("an integer program takes the best of what its rows allow") {
  // max 5a + 4b + 3c with 2a + 3b + c <= 5, 4a + b + 2c <= 11, 3a + 4b + 2c <= 8: a and b, of binaries.
  IntegerProgram program;
  const VariableId a = program.add_binary(-5), b = program.add_binary(-4), c = program.add_binary(-3);
  program.at_most({{a, 2}, {b, 3}, {c, 1}}, 5);
  program.at_most({{a, 4}, {b, 1}, {c, 2}}, 11);
  program.at_most({{a, 3}, {b, 4}, {c, 2}}, 8);
  const auto best = program.minimise(100);
  REQUIRE(best);
  CHECK(best->cost == Approx(-9));
  CHECK(best->proven);
  CHECK((best->whole(a) == 1 && best->whole(b) == 1 && best->whole(c) == 0));
}

TEST_CASE("integers are whole, the others are not, and what cannot be is nothing") {
  IntegerProgram whole, broken, continuous;
  (void)whole.add_integer(0, 10, 1);
  whole.at_least({{VariableId{}, 2}}, 7);
  (void)continuous.add_continuous(0, 10, 1);
  continuous.at_least({{VariableId{}, 2}}, 7);
  (void)broken.add_integer(0, 10, 1);
  broken.equal({{VariableId{}, 2}}, 7);
  CHECK(whole.minimise(10)->cost == Approx(4));
  CHECK(continuous.minimise(10)->cost == Approx(3.5));
  CHECK_FALSE(broken.minimise(10));
}

namespace {

StageLoad load_of(std::vector<double> seconds, double usable = 1e12, double in_flight = 1) {
  StageLoad load;
  for (const double time : seconds) {
    load.time.push_back(Seconds(time));
    load.states.push_back(Bytes(10));
    load.kept.push_back(Bytes(1));
    load.transient.push_back(Bytes(3));
  }
  load.usable = Bytes(usable);
  load.in_flight = in_flight;
  return load;
}

}  // namespace

TEST_CASE("layers go where the slowest stage is fastest") {
  // Twice as fast a device takes two thirds of nine equal layers.
  const StageLoad fast = load_of(std::vector<double>(9, 1)), slow = load_of(std::vector<double>(9, 2));
  const auto cut = balance_layers(std::vector{fast, slow});
  REQUIRE(cut);
  CHECK(cut->bounds == std::vector{0, 6, 9});
  CHECK(cut->slowest == Seconds(6));
  CHECK(cut->sum == Seconds(12));
  CHECK(cut->step(10) == Seconds(12 + 9 * 6));
}

TEST_CASE("of equally fast cuts the shorter is taken, and memory limits all") {
  // 4 | 1 1 1: the first layer alone sets the pace, so the second device, three times slower, should take only one of the others.
  const StageLoad first = load_of({4, 1, 1, 1}), second = load_of({12, 3, 3, 3});
  CHECK(balance_layers(std::vector{first, second})->bounds == std::vector{0, 3, 4});
  // 2 layers x (10 + 2 in flight x 1) + 3 = 27 bytes.
  const std::vector<double> even(4, 1);
  CHECK(balance_layers(std::vector{load_of(even, 27, 2), load_of(even)})->bounds == std::vector{0, 2, 4});
  CHECK(balance_layers(std::vector{load_of(even, 26, 2), load_of(even)})->bounds == std::vector{0, 1, 4});
  CHECK_FALSE(balance_layers(std::vector{load_of(even, 14, 2), load_of(even)}));
  CHECK_FALSE(balance_layers(std::vector(5, load_of(even))));
  CHECK(stage_fits(load_of(even, 27, 2), 0, 2));
  CHECK_FALSE(stage_fits(load_of(even, 27, 2), 1, 4));
  CHECK(stage_time(load_of(even), 1, 4) == Seconds(3));
}

TEST_CASE("layers in proportion to speed, at least one a stage, as long as they fit") {
  // Speeds 3 : 2 : 1 over twelve layers of equal length.
  const auto layers = [](double time) { return load_of(std::vector<double>(12, time)); };
  CHECK(proportional_cut({layers(2), layers(3), layers(6)})->bounds == std::vector{0, 6, 10, 12});
  // 100 : 100 : 1 leaves the slow one nothing by rounding; it gets one layer, from the earlier of the two.
  const auto least = proportional_cut({layers(1), layers(1), layers(100)});
  REQUIRE(least);
  CHECK(least->bounds.back() - least->bounds[2] == 1);
  CHECK(least->slowest == Seconds(100));
  StageLoad small = layers(1);
  small.usable = Bytes(20);
  CHECK_FALSE(proportional_cut({small, layers(1)}));
  CHECK_FALSE(proportional_cut({load_of({1}), load_of({1})}));
}

TEST_CASE("a bottleneck matching spares the heaviest pairs, not the sum") {
  // Sum would take 0-0, 1-1 (1 + 9); the bottleneck takes 0-1, 1-0 (6 + 6).
  const Matching matching = bottleneck_matching({{1, 6}, {6, 9}});
  CHECK(matching.longest == 6);
  CHECK(matching.partners == std::vector{1, 0});
  CHECK(bottleneck_matching({{5}}).longest == 5);
}

TEST_CASE("the shortest open path needs no way back") {
  // Points on a line at 0, 10, 1, 11: neighbours 1 apart, 9 between the pairs; as a tour it would be 22.
  const std::vector<double> at{0, 10, 1, 11};
  const auto line = [](const std::vector<double>& places) {
    std::vector<std::vector<double>> distance(places.size(), std::vector<double>(places.size()));
    for (std::size_t a = 0; a < places.size(); ++a)
      for (std::size_t b = 0; b < places.size(); ++b) distance[a][b] = std::abs(places[a] - places[b]);
    return distance;
  };
  const OpenPath path = shortest_open_path(line(at));
  CHECK(path.length == 11);
  CHECK(path.order.size() == 4);
  // Twelve points in a row are beyond the exact search; the walk from an end finds them.
  std::vector<double> row(12);
  for (int i = 0; i < 12; ++i) row[std::size_t(i * 5 % 12)] = i;
  CHECK(shortest_open_path(line(row)).length == 11);
}

TEST_CASE("tensor units stay inside a node and a kind") {
  const Scenario scenario = fixture::mixed("megatron", "gpt2", 4);
  const Cluster& cluster = scenario.variants[0].cluster;
  const std::vector<NodeId> nodes = nodes_with_gpus(cluster);
  const std::vector<TensorUnit> units = tensor_units(cluster, nodes, 2);
  REQUIRE(units.size() == 6);
  CHECK(units[0].kind == units[1].kind);
  CHECK(units[2].kind != units[1].kind);
  CHECK(units[5].devices == std::vector{cluster.gpus()[10], cluster.gpus()[11]});
  CHECK(tensor_units(cluster, nodes, 3).size() == 3);
  CHECK(tensor_sizes(cluster, nodes, scenario.variants[0].workload) == std::vector{1, 2, 4});
  CHECK(nodes_by_kind(cluster, nodes) == std::vector<std::vector<NodeId>>{{nodes[0]}, {nodes[1], nodes[2]}});
}

TEST_CASE("islands end where cards or rates differ") {
  const auto islands_of = [](const std::string& nodes, const std::string& fabric) {
    const Scenario scenario = fixture::scenario_of(nodes, fabric, "megatron");
    const Router router(scenario.variants[0].cluster);
    std::vector<std::size_t> sizes;
    for (const auto& island : islands(scenario.variants[0].cluster, router, nodes_with_gpus(scenario.variants[0].cluster)))
      sizes.push_back(island.size());
    return sizes;
  };
  const std::string ib = "{name: ib, gpu: A100-SXM4-80GB, gpus_per_node: 2, count: 2, nics: 2, nic: 200 Gbps, transport: infiniband}";
  const std::string roce = "{name: ro, gpu: A100-SXM4-80GB, gpus_per_node: 2, count: 2, nics: 2, nic: 200 Gbps, transport: roce}";
  CHECK(islands_of(ib, "{kind: star}") == std::vector<std::size_t>{2});
  CHECK(islands_of(ib + ", " + roce, "{kind: star}") == std::vector<std::size_t>{2, 2});
  const std::string eight = "{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 1, count: 8, nics: 1, nic: 200 Gbps, transport: infiniband}";
  CHECK(islands_of(eight, "{kind: fat_tree, leaf: 4, oversubscription: 80}") == std::vector<std::size_t>{4, 4});
}

namespace {

/// Says of the n-th Plan that it takes `times[n]`, or that it failed where that is 0; from `full` on they do not fit.
class Scripted final : public Simulator {
 public:
  explicit Scripted(std::vector<double> times) : times_(std::move(times)) {}
  std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override {
    std::vector<SimulationOutcome> outcomes;
    for (std::size_t i = 0; i < plans.size(); ++i, ++asked_) {
      StepReport report;
      report.step_time = Seconds(times_[asked_]);
      outcomes.push_back(times_[asked_] > 0 ? SimulationOutcome{report} : SimulationError{"a dead link"});
    }
    return outcomes;
  }
  std::size_t asked_ = 0;

 private:
  std::vector<double> times_;
};

Plan data_parallel(const Scenario& scenario, double micro_batch) {
  ShortPlan shape;
  shape.data = 12;
  shape.micro_batch = micro_batch;
  return expand(shape, scenario.variants[0].cluster, scenario.variants[0].workload).plan;
}

}  // namespace

TEST_CASE("of the finalists the fastest in simulation is taken, with its own estimate") {
  const Scenario scenario = fixture::mixed("megatron", "gpt2", 4);
  Scripted simulator({0, 5, 4});
  const PlanningContext context{scenario.variants[0].cluster, scenario.variants[0].workload, simulator, 1};
  const Router router(context.cluster);
  Finalists finalists(context, router, 3);
  CHECK(std::get<Infeasible>(finalists.choose("nothing was found")).why == "nothing was found");
  finalists.add(data_parallel(scenario, 1), 3_s);
  finalists.add(data_parallel(scenario, 2), 2_s);
  finalists.add(data_parallel(scenario, 4), 1_s);
  finalists.add(data_parallel(scenario, 4), 1_s);
  CHECK(finalists.best_estimate() == 1_s);
  const PlanOrInfeasible answer = finalists.choose("", true);
  CHECK(simulator.asked_ == 3);
  const Planned& planned = std::get<Planned>(answer);
  CHECK(planned.plan == data_parallel(scenario, 1));
  CHECK(planned.estimated_step_time == 3_s);
  CHECK(planned.truncated);
  REQUIRE(planned.rejected.size() == 2);
  CHECK(planned.rejected[0].why == "a dead link");
  CHECK(planned.rejected[1].why == "slower: 5 s");
}

TEST_CASE("a message holds the stage that sends it and the one that receives it") {
  const std::string nodes = "{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 1, count: 3, nics: 1, nic: 5 Gbps, transport: ethernet}";
  const Scenario scenario = fixture::scenario_of(nodes, "{kind: star}", "megatron");
  Scripted simulator({});
  const PlanningContext context{scenario.variants[0].cluster, scenario.variants[0].workload, simulator, 1};
  const Router router(context.cluster);
  LayerCosts costs(context.cluster, context.workload, router);
  const ChainTools tools{context, router, costs};
  const std::vector<StageUnits> stages = stages_over({tensor_units(context.cluster, nodes_with_gpus(context.cluster), 1)}, 1);
  const ChainShape shape{1, 8, RecomputeKind::none, 0};
  const Seconds hop = hop_time(tools, stages[0], stages[1], shape);
  CHECK(hop > 0_s);
  const std::vector<StageLoad> three = chain_loads(tools, stages, shape);
  CHECK(three[0].transfer == hop);
  CHECK(three[1].transfer == 2.0 * hop);
  CHECK(three[2].transfer == hop);
  // So that the link between two stages, however slow, moves no layers from one to the other.
  std::vector<StageLoad> two = chain_loads(tools, {stages[0], stages[1]}, shape);
  const auto over_link = balance_layers(two);
  for (StageLoad& load : two) load.transfer = 0_s;
  REQUIRE(over_link.has_value());
  CHECK(over_link->bounds == balance_layers(two)->bounds);
}
