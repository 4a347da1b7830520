// What recoveries answer: policies from options, Plans after losses, copies that neighbours keep.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "sim/lowering/state_moves.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/replicas.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

const char* const kWorkload =
    "{model: {family: llama, layers: 8, hidden: 1024, heads: 16, ffn: 2816, vocabulary: 32000}, sequence_length: 1024, "
    "global_batch: 16, precision: fp16, optimizer: adam, software: megatron-core-2024}";

std::string cluster_of(int nodes) {
  return "{nodes: [{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: " + std::to_string(nodes) + ", nics: 1, nic: 10 Gbps}], fabric: {kind: star}}";
}

Variant variant(int nodes) {
  return load_scenario_text("cluster: " + cluster_of(nodes) + "\nworkload: " + kWorkload + "\nstrategies: [megatron]\n", "test.yaml", ".").variants.front();
}

/// Says that everything fits, and that fewer stages are faster.
class StageCounter final : public Simulator {
 public:
  std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override {
    std::vector<SimulationOutcome> outcomes;
    for (const Plan& plan : plans) {
      StepReport report;
      std::size_t longest = 0;
      for (const Pipeline& pipeline : plan.phases[0].parts[0].pipelines) longest = std::max(longest, pipeline.stages.size());
      report.step_time = Seconds(double(longest));
      outcomes.emplace_back(report);
    }
    return outcomes;
  }
};

/// `data` replicas of `stages` stages of one GPU, 8 layers, embedding and head, as `fixed` makes them.
Plan plan_on(const Variant& on, int stages, int data) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < on.cluster.nodes.size(); ++i) nodes.push_back(id_at<NodeId>(i));
  StageCounter simulator;
  const PlanningContext context{on.cluster, on.workload, simulator, 1};
  std::vector<std::vector<NodeId>> runs;
  for (int d = 0; d < data; ++d) runs.emplace_back(nodes.begin() + d * stages, nodes.begin() + (d + 1) * stages);
  return *pipelines_of(context, {1, 1, {}, false}, runs);
}

std::unique_ptr<Recovery> recovery(const std::string& name, const std::string& options = "{}") {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text(options, "options.yaml", diagnostics);
  const RecoveryInfo& info = *RecoveryRegistry::instance().find(name);
  REQUIRE(check(value, info.options, diagnostics));
  return info.make(View(value), diagnostics);
}

/// The answer to the loss of these nodes of the first cluster.
std::optional<Planned> after_loss(const Recovery& recovery, const Plan& running, const std::set<int>& lost, int nodes) {
  const Variant before = variant(nodes), now = variant(nodes - int(lost.size()));
  std::vector<std::optional<NodeId>> now_of;
  int left = 0;
  for (int n = 0; n < nodes; ++n) now_of.push_back(lost.contains(n) ? std::nullopt : std::optional(NodeId(left++)));
  StageCounter simulator;
  const PlanningContext context{now.cluster, now.workload, simulator, 1};
  const std::optional<Planned> planned = recovery.replan({context, before.cluster, running, now_of});
  if (planned) CHECK(planned->plan.check(now.cluster, now.workload) == std::vector<std::string>{});
  return planned;
}

/// [pipeline][stage] the GPU's node in the cluster after the loss, and how many layers it has.
std::vector<std::vector<std::pair<int, int>>> stages_of(const Plan& plan, const Cluster& cluster) {
  std::vector<std::vector<std::pair<int, int>>> all;
  const Part& part = plan.phases[0].parts[0];
  for (const Pipeline& pipeline : part.pipelines) {
    all.emplace_back();
    for (const StageId id : pipeline.stages) {
      const Stage& stage = part.stages[index(id)];
      all.back().emplace_back(int(cluster.devices[index(stage.devices[0])].node), int(stage.chunks[0].size()));
    }
  }
  return all;
}

int layers_of(const std::vector<std::pair<int, int>>& pipeline) {
  int sum = 0;
  for (const auto& [node, layers] : pipeline) sum += layers;
  return sum;
}

}  // namespace

TEST_CASE("saves go where and when the options say") {
  CHECK(recovery("layer_local_first")->saves().to == std::vector<CopyPlace>{CopyPlace::host, CopyPlace::store});
  CHECK_FALSE(recovery("layer_local_first")->saves().every.has_value());
  CHECK(recovery("layer_local_first", "{every: 10 min, to: [store]}")->saves().every == 600_s);
  CHECK_FALSE(recovery("layer_local_first")->restore().from_devices);
  CHECK(recovery("layer_local_first", "{on_notice: true}")->on_notice() == OnNotice::save);
  const std::vector<CopyPlace> near{CopyPlace::host, CopyPlace::peer}, all{CopyPlace::host, CopyPlace::peer, CopyPlace::store};
  CHECK(recovery("peer_replication", "{store_every: never}")->saves().to == near);
  const SavePolicy seldom = recovery("peer_replication", "{}")->saves(), always = recovery("peer_replication", "{store_every: save}")->saves();
  CHECK((seldom.to == all && seldom.store_every == Seconds(10800) && seldom.store_if_there));
  CHECK((always.to == all && !always.store_every && !always.store_if_there));
  CHECK(recovery("redundant_computation", "{every: never}")->saves().to.empty());
  CHECK(recovery("proactive_migration")->on_notice() == OnNotice::leave);
  for (const char* live : {"redundant_computation", "pipeline_templates", "proactive_migration"}) {
    CHECK(recovery(live)->restore().from_devices);
    CHECK(recovery(live, "{restart: 7 s}")->restore().restart == 7_s);
  }
  CHECK(recovery("pipeline_templates", "{failover: 2 s}")->restore().failover == 2_s);
}

TEST_CASE("a lost stage goes to the one before it, the first one to the last device") {
  const Variant on = variant(8);
  const auto bamboo = recovery("redundant_computation");
  StageCounter simulator;
  const Plan plan = bamboo->modify(plan_on(on, 4, 2), {on.cluster, on.workload, simulator, 1});
  const auto before = stages_of(plan, on.cluster);
  const auto middle = after_loss(*bamboo, plan, {2}, 8);
  REQUIRE(middle);
  const Cluster left = variant(7).cluster;
  const auto shrunk = stages_of(middle->plan, left);
  REQUIRE(shrunk.size() == 2);
  CHECK(shrunk[1] == std::vector<std::pair<int, int>>{{0, before[0][0].second}, {1, before[0][1].second + before[0][2].second}, {2, before[0][3].second}});
  CHECK(shrunk[0].size() == 4);  // whole pipelines stand first
  const auto first = after_loss(*bamboo, plan, {0}, 8);
  REQUIRE(first);
  const auto turned = stages_of(first->plan, left)[1];
  // nodes 1, 2, 3 are 0, 1, 2 now: the last one takes the first stage, and the one before it the last one's
  CHECK(turned == std::vector<std::pair<int, int>>{{2, before[0][0].second}, {0, before[0][1].second}, {1, before[0][2].second + before[0][3].second}});
  CHECK_FALSE(after_loss(*bamboo, plan, {1, 2}, 8));  // neighbours: both copies of a stage are gone
  CHECK(after_loss(*bamboo, plan, {1, 3}, 8));
  CHECK(after_loss(*bamboo, plan, {1, 6}, 8));
}

TEST_CASE("a device keeps what the next stage's device holds, so that takeovers move nothing") {
  const Variant on = variant(4);
  const auto bamboo = recovery("redundant_computation");
  StageCounter simulator;
  const Plan plan = bamboo->modify(plan_on(on, 4, 1), {on.cluster, on.workload, simulator, 1});
  const Holdings own = holdings_of(plan, on.workload, on.cluster.devices.size()), copies = bamboo->also_held(plan, on.workload, on.cluster);
  const std::vector<DeviceId> gpus = on.cluster.gpus();
  for (std::size_t s = 0; s < 4; ++s) CHECK(copies[index(gpus[s])] == own[index(gpus[(s + 1) % 4])]);
  const StateSizes sizes(on.workload);
  const auto next = after_loss(*bamboo, plan, {1}, 4);
  REQUIRE(next);
  const Variant now = variant(3);
  StateCopies there{Holdings(now.cluster.devices.size()), {}, false};
  const std::vector<int> kept{0, 2, 3};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    auto& parts = there.devices[index(now.cluster.gpus()[i])];
    parts = own[index(gpus[std::size_t(kept[i])])];
    const auto& more = copies[index(gpus[std::size_t(kept[i])])];
    parts.insert(parts.end(), more.begin(), more.end());
  }
  const auto moves = moves_to(holdings_of(next->plan, now.workload, now.cluster.devices.size()), there, sizes, now.cluster);
  REQUIRE(moves);
  CHECK(moves->empty());
}

TEST_CASE("templates make at least so many pipelines, and shorten those that lost nodes") {
  const Variant on = variant(9);
  const auto oobleck = recovery("pipeline_templates", "{tolerate: 2}");
  StageCounter simulator;
  const Plan base = plan_on(on, 4, 2);
  const Plan plan = oobleck->modify(base, {on.cluster, on.workload, simulator, 1});
  CHECK(plan.check(on.cluster, on.workload) == std::vector<std::string>{});
  CHECK(plan.phases[0].parts[0].pipelines.size() >= 3);
  StageCounter again;
  const Plan three = *pipelines_of({on.cluster, on.workload, again, 1}, shape_of(base, on.workload),
                                   {{NodeId(0), NodeId(1), NodeId(2)}, {NodeId(3), NodeId(4), NodeId(5)}, {NodeId(6), NodeId(7), NodeId(8)}});
  const auto one = after_loss(*oobleck, three, {4}, 9);
  REQUIRE(one);
  const auto stages = stages_of(one->plan, variant(8).cluster);
  REQUIRE(stages.size() == 3);
  CHECK(stages[1].size() == 3);
  CHECK(stages[2].size() == 2);
  for (const auto& pipeline : stages) CHECK(layers_of(pipeline) == 10);
  double batch = 0;
  for (const Pipeline& pipeline : one->plan.phases[0].parts[0].pipelines) batch += pipeline.batch;
  CHECK(batch == 16);
  const auto whole = after_loss(*oobleck, three, {3, 4, 5}, 9);
  REQUIRE(whole);
  CHECK(whole->plan.phases[0].parts[0].pipelines.size() == 2);
}

TEST_CASE("samples go to pipelines by their speed, every one at least one micro-batch") {
  const Variant on = variant(5);
  StageCounter simulator;
  const PlanningContext context{on.cluster, on.workload, simulator, 1};
  const Plan plan = *pipelines_of(context, {1, 1, {}, false}, {{NodeId(0), NodeId(1), NodeId(2), NodeId(3)}, {NodeId(4)}});
  const std::vector<Pipeline>& pipelines = plan.phases[0].parts[0].pipelines;
  CHECK(pipelines[0].micro_batches + pipelines[1].micro_batches == 16);
  CHECK(pipelines[0].micro_batches >= 11);
  CHECK(pipelines[1].micro_batches >= 1);
}

TEST_CASE("a Plan is taken apart into its data ranks and put together again") {
  const Variant on = variant(8);
  const std::vector<Replica> replicas = *replicas_of(plan_on(on, 4, 2));
  REQUIRE(replicas.size() == 2);
  CHECK(replicas_of(plan_of_replicas(plan_on(on, 4, 2), replicas))->size() == 2);
}
