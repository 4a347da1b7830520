// Galvatron's dynamic program.
#include <catch2/catch.hpp>

#include "sim/planning/layer_layouts.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

struct Bench {
  Scenario scenario = fixture::scenario("megatron", "llama-2-7b", 1);
  Router router{scenario.variants[0].cluster};
  LayoutSearch search;
  explicit Bench(std::vector<RecomputeKind> recomputes) : search(scenario.variants[0].cluster, scenario.variants[0].workload, router, std::move(recomputes)) {}

  std::optional<LayoutAnswer> best(double memory_share, int first = 0, int last = 34) {
    Budget budget(1'000'000);
    return search.best({scenario.variants[0].cluster.gpus(), first, last, 8, 8, 1, memory_share}, budget);
  }
};

Seconds step(const LayoutAnswer& answer) { return answer.micro_batch * 8.0 + answer.exposed; }

}  // namespace

TEST_CASE("less memory never gives faster layouts, and at last none") {
  Bench bench({RecomputeKind::none, RecomputeKind::full});
  std::optional<LayoutAnswer> before = bench.best(1);
  REQUIRE(before);
  int changes = 0;
  for (const double share : {0.8, 0.6, 0.45, 0.35, 0.28}) {
    const std::optional<LayoutAnswer> now = bench.best(share);
    REQUIRE(now);
    CHECK(step(*now) >= step(*before) * 0.999);
    changes += !(*now == *before);
    before = now;
  }
  CHECK(changes >= 3);
  CHECK_FALSE(bench.best(0.02));
}

TEST_CASE("with little memory states are sharded or cut, and activations are computed again") {
  Bench bench({RecomputeKind::none, RecomputeKind::full});
  const std::optional<LayoutAnswer> answer = bench.best(0.28);
  REQUIRE(answer);
  for (const LayerLayout& layer : answer->layers) CHECK((layer.sharded || layer.tensor > 1));
  CHECK(std::ranges::any_of(answer->layers, [](const LayerLayout& layer) { return layer.recompute == RecomputeKind::full; }));
}

TEST_CASE("two layers: the program finds the best of all pairs of layouts") {
  Bench bench({RecomputeKind::none});
  const std::optional<LayoutAnswer> both = bench.best(1, 3, 5), one = bench.best(1, 3, 4);
  REQUIRE(both);
  REQUIRE(one);
  CHECK(both->layers[0] == both->layers[1]);      // equal layers with memory to spare: nothing is gained by a change of layout
  CHECK(both->layers[0] == one->layers[0]);
  CHECK(step(*both).value == Approx(2 * step(*one).value));
}

TEST_CASE("a stage's rules say what each layer's layout is") {
  const LayerLayout outer{2, 4, false, false, RecomputeKind::none}, sharded{1, 8, true, true, RecomputeKind::full};
  const Stage stage = stage_with_layouts(std::vector<DeviceId>(8), 5, {outer, outer, sharded});
  REQUIRE(stage.rules.size() == 2);
  CHECK(stage.rules[0].layers == std::vector{LayerId(5), LayerId(6)});
  CHECK(stage.rules[0].settings.layout == Layout{equal_axis(AxisKind::tensor, 2), equal_axis(AxisKind::data, 4)});
  CHECK(stage.rules[1].settings.layout == Layout{equal_axis(AxisKind::shard, 8)});
  CHECK(stage.rules[1].settings.zero == 3);
  CHECK_FALSE(stage.rules[0].settings.zero);
}
