#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {
std::string why_not(const ShortPlan& plan, const Cluster& cluster, const Workload& workload) {
  const Expanded expanded = expand(plan, cluster, workload);
  CHECK(expanded.plan == Plan{});
  return expanded.why_not;
}
std::vector<std::size_t> layer_counts(const Plan& plan) {
  std::vector<std::size_t> counts;
  for (const Stage& stage : plan.phases.at(0).parts.at(0).stages)
    for (const auto& chunk : stage.chunks) counts.push_back(chunk.size());
  return counts;
}
}  // namespace

TEST_CASE("planners' and written short forms expand alike") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 4, 8}});
  const Workload workload = workload_of(30, 128);
  ShortPlan plan;
  plan.tensor = 4, plan.data = 2, plan.pipeline = 4, plan.micro_batch = 2, plan.schedule = "gpipe";
  plan.layers = {8, 8, 7, 7};
  plan.settings.zero = 1;
  plan.settings.recompute = Recompute{RecomputeKind::full, 1};
  const Expanded expanded = expand(plan, cluster, workload);
  CHECK(expanded.why_not == "");
  CHECK(expanded.plan == plan_of("{tensor: 4, data: 2, pipeline: 4, micro_batch: 2, schedule: gpipe, "
                                 "layers: [8, 8, 7, 7], zero: 1, recompute: full}",
                                 cluster, workload));
  CHECK(expanded.plan.check(cluster, workload).empty());
  CHECK(layer_counts(expanded.plan) == std::vector<std::size_t>{9, 8, 7, 8});
  CHECK(expanded.plan.phases[0].parts[0].pipelines[0].micro_batches == 32);
  CHECK(one_line(expanded.plan, cluster, workload) ==
        "TP4 · PP4 [8,8,7,7] · DP2 · micro-batch 2 · gpipe · ZeRO-1 · recompute full");
}

TEST_CASE("even layers: what is left over goes to the earlier stages and chunks") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 1, 4}});
  const Workload workload = workload_of(10, 16);
  ShortPlan plan;
  plan.pipeline = 4;
  CHECK(layer_counts(expand(plan, cluster, workload).plan) == std::vector<std::size_t>{4, 3, 2, 3});
  plan.chunks = 2;
  CHECK(layer_counts(expand(plan, cluster, workload).plan) == std::vector<std::size_t>{3, 1, 2, 1, 1, 1, 1, 2});
  plan.layers = {4, 2, 2, 2};
  CHECK(layer_counts(expand(plan, cluster, workload).plan) == std::vector<std::size_t>{3, 2, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("rank order: who is a neighbour") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 1, 8}});
  const Workload workload = workload_of(8, 16);
  const auto first = [&](const std::string& order) {
    return plan_of("{tensor: 2, data: 2, pipeline: 2" + order + "}", cluster, workload).phases[0].parts[0].stages;
  };
  CHECK(first("")[0].devices == devices(0, 4));
  CHECK(first("")[1].devices == devices(4, 4));
  CHECK(first(", rank_order: [tensor, context, pipeline, data]")[0].devices ==
        std::vector{DeviceId{0}, DeviceId{1}, DeviceId{4}, DeviceId{5}});
  // the layout stays [data, tensor]: tensor is the last axis of the list, wherever its members are
  CHECK(first(", rank_order: [data, tensor, context, pipeline]")[0].devices ==
        std::vector{DeviceId{0}, DeviceId{2}, DeviceId{1}, DeviceId{3}});
  CHECK(first(", rank_order: [pipeline]")[1].devices == devices(1, 4, 2));
}

TEST_CASE("experts get a layout of their own") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 2, 8}});
  const Workload workload = workload_of(8, 16);
  const Plan plan = plan_of("{data: 16, expert: 4}", cluster, workload);
  const Stage& stage = plan.phases[0].parts[0].stages[0];
  REQUIRE(stage.rules.size() == 2);
  CHECK(stage.rules[1].operators == "experts");
  CHECK(stage.rules[1].settings.layout == Layout{equal_axis(AxisKind::data, 4), equal_axis(AxisKind::items, 4)});
}

TEST_CASE("why a short form is no Plan") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 2, 8}});
  const Workload workload = workload_of(40, 512);
  ShortPlan plan;
  plan.tensor = 8, plan.pipeline = 3;
  CHECK(why_not(plan, cluster, workload) == "tensor 8 x pipeline 3 need 24 devices, there are 16");
  plan = {};
  CHECK(why_not(plan, cluster, workload) == "sizes of 1 need 1 devices, there are 16");
  plan.data = 16, plan.micro_batch = 3;
  CHECK(why_not(plan, cluster, workload) == "a global batch of 512 is no multiple of 16 data ranks x micro_batch 3");
  plan.micro_batch = 64;
  CHECK(why_not(plan, cluster, workload) == "a global batch of 512 is no multiple of 16 data ranks x micro_batch 64");
  plan.micro_batch = 1, plan.expert = 3;
  CHECK(why_not(plan, cluster, workload) == "expert 3 does not divide the 16 devices of a stage");
  plan = {};
  plan.pipeline = 2, plan.data = 8, plan.layers = {20, 21};
  CHECK(why_not(plan, cluster, workload) == "layers sum to 41, the model has 40");
  plan.layers = {40};
  CHECK(why_not(plan, cluster, workload) == "layers has 1 counts for 2 stages");
  plan.layers = {}, plan.chunks = 21;
  CHECK(why_not(plan, cluster, workload) == "40 layers are too few for pipeline 2 x chunks 21");
  plan.chunks = 1, plan.rank_order = {"data", "data"};
  CHECK(why_not(plan, cluster, workload) == "rank_order names data twice");
  plan.rank_order = {"tensr"};
  CHECK(why_not(plan, cluster, workload) == "rank_order: no axis \"tensr\"; did you mean \"tensor\"?");
  plan = {};
  plan.tensor = 16;
  CHECK(expand(plan, cluster, workload).why_not == "");
  plan.data = 0;
  CHECK(why_not(plan, cluster, workload) == "data 0: at least 1");
  plan = {};
  plan.tensor = 3, plan.devices = devices(0, 3);
  CHECK(why_not(plan, cluster, workload) == "32 attention heads do not divide over tensor 3");
}
