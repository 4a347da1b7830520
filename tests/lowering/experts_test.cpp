// Experts on devices of their own: all-to-alls, stragglers by load, gradients among those that hold the same experts, and the reduction
// to one device a class, which loads split.
#include <catch2/catch.hpp>

#include <numeric>
#include <random>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// 1 ms of work (2 ms backward) a sample, then its copies go to their experts, 1 ms (2 ms) of work there, and back; 16 MB each way.
LayerType expert_layer(int experts, double parameters) {
  Operator work;
  work.name = "work";
  work.group = "mlp";
  work.core_attention = true;
  work.forward_bytes.fixed = Bytes(1e9);
  work.backward_bytes.fixed = Bytes(2e9);
  work.output.fixed = 16_MB;
  work.cut = TensorCut::sequence;
  work.parameters = parameters;
  Operator dispatch;
  dispatch.name = "dispatch";
  dispatch.group = "experts";
  dispatch.output.fixed = 16_MB;
  dispatch.exchange = ItemExchange::dispatch;
  dispatch.cut = dispatch.saved_cut = TensorCut::sequence;
  Operator expert = work;
  expert.name = "experts";
  expert.group = "experts";
  expert.core_attention = false;
  expert.items = experts;
  expert.saved.fixed = 8_MB;
  expert.cut = expert.saved_cut = TensorCut::routed_column;
  Operator combine = dispatch;
  combine.name = "combine";
  combine.exchange = ItemExchange::combine;
  return {"expert decoder", {work, dispatch, expert, combine}};
}

Workload expert_workload(int layers, int experts, double batch, double parameters = 0) {
  Workload workload = make_workload({.layers = layers, .batch = batch});
  workload.modules[0].types = {expert_layer(experts, parameters)};
  return workload;
}

void lay_experts(Plan& plan, int ranks, int tensor = 1) {
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    Rule rule;
    rule.operators = "experts";
    rule.settings.layout = Layout{equal_axis(AxisKind::data, int(stage.devices.size()) / (ranks * tensor)), equal_axis(AxisKind::items, ranks),
                                  equal_axis(AxisKind::tensor, tensor)};
    stage.rules.push_back(rule);
    if (axis_size(*stage.rules[0].settings.layout, AxisKind::tensor) > 1) stage.rules[0].settings.sequence_parallel = true;
  }
}

}  // namespace

// All-to-all of four: 3/4 of 16 MB through each port of 100 GB/s is 0.12 ms. Forward 1 + 0.12 + 1 + 0.12, backward 2 + 0.12 + 2 + 0.12.
TEST_CASE("equal loads: a layer is its work and two all-to-alls each way") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  const Workload workload = expert_workload(2, 4, 4);
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  REQUIRE(plan.check(cluster, workload).empty());
  const RunResult run = run_plan(plan, workload, cluster);
  CHECK(run.report.step_time.value == Approx(2 * (2.24e-3 + 4.24e-3)));
  CHECK(run.report.time.expert.value == Approx(2 * 0.48e-3));
  CHECK(run.report.device_classes == 1);
  CHECK(run.report.expert_imbalance == Approx(1));
}

// Shares 0.4 and three times 0.2: rank 0 has 1.6 times the mean, so that the exchanges and the experts take 1.6 times as long and the
// others wait for it: forward 1 + 0.192 + 1.6 + 0.192, backward 2 + 0.192 + 3.2 + 0.192.
TEST_CASE("unequal loads: the busiest rank sets the pace, the others wait and hold less") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(2, 4, 4);
  workload.data.item_load.assign(2, {0.4, 0.2, 0.2, 0.2});
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  const RunResult run = run_plan(plan, workload, cluster);
  CHECK(run.report.step_time.value == Approx(2 * (2.984e-3 + 5.584e-3)));
  CHECK(run.report.device_classes == 2);
  CHECK(run.report.expert_imbalance == Approx(1.6));
  CHECK(run.report.memory.at_peak[std::size_t(MemoryClass::activations)].value == Approx(2 * 1.6 * 8e6));
  const RunResult whole = run_plan(plan, workload, cluster, {.symmetry = false});
  CHECK(near(run.report.step_time, whole.report.step_time));
  CHECK(whole.report.device_classes == 4);
}

TEST_CASE("a capacity cuts the busiest expert's tokens") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(1, 4, 4);
  workload.data.item_load.assign(1, {0.4, 0.2, 0.2, 0.2});
  workload.data.routing.capacity = 1.25;
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  // forward 1 + 0.15 + 1.25 + 0.15, backward 2 + 0.15 + 2.5 + 0.15
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(2.55e-3 + 4.8e-3));
}

// With two experts a device 16 MB of tokens are copied into their order before the experts and back behind them: read and written at
// 1 TB/s, 0.032 ms each. What sends tokens once, or sorts in the exchange, needs none of it.
TEST_CASE("several experts a device: tokens are sorted by expert, unless the exchange does it") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(1, 8, 4);
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  const auto step = [&] { return run_plan(plan, workload, cluster).report.step_time.value; };
  CHECK(step() == Approx(2.304e-3 + 4.304e-3));
  workload.software.fused_permute = true;
  CHECK(step() == Approx(2.24e-3 + 4.24e-3));
}

// F0 | F1 beside B0 | F2 beside B1 | B2. Of a pair: work of F 0 to 1 ms beside B's first exchange, experts of B 1 to 3 beside F's, experts of F 3 to 4
// beside B's second, work of B 4 to 6 beside F's: 6 ms, its kernels alone. F0 takes 2.24 ms and B2 4.24.
TEST_CASE("exchanges of a pass run beside the kernels of the pass next to it") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(1, 4, 12);
  Plan plan = make_plan({.data = 4, .micro_batches = 3}, cluster, workload);
  lay_experts(plan, 4);
  REQUIRE(plan.check(cluster, workload).empty());
  const RunResult alone = run_plan(plan, workload, cluster);
  CHECK(alone.report.step_time.value == Approx(3 * 6.48e-3));
  CHECK(alone.report.memory.at_peak[std::size_t(MemoryClass::activations)].value == Approx(8e6));
  workload.software.overlap_expert = true;
  const RunResult beside = run_plan(plan, workload, cluster);
  CHECK(beside.report.step_time.value == Approx(2.24e-3 + 2 * 6e-3 + 4.24e-3));
  CHECK(beside.report.time.expert.value == Approx(0.48e-3));
  CHECK(beside.report.memory.at_peak[std::size_t(MemoryClass::activations)].value == Approx(2 * 8e6));  // F1 is held before B0 ends
}

// A Plan that holds one pass less leaves no pair; gpipe has one, its last forward pass beside its first backward pass.
TEST_CASE("exchanges hide only where a backward pass stands next to a forward pass of another micro-batch") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(1, 4, 12);
  workload.software.overlap_expert = true;
  Plan plan = make_plan({.data = 4, .micro_batches = 3}, cluster, workload);
  lay_experts(plan, 4);
  plan.phases[0].parts[0].stages[0].in_flight = 1;
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(3 * 6.48e-3));
  Plan filled = make_plan({.data = 4, .micro_batches = 3, .schedule = "gpipe"}, cluster, workload);
  lay_experts(filled, 4);
  CHECK(run_plan(filled, workload, cluster).report.step_time.value == Approx(2 * 2.24e-3 + 6e-3 + 2 * 4.24e-3));
}

// Two directions over the same devices: forward passes of one beside backward passes of the other.
TEST_CASE("dualpipe hides exchanges behind the other direction") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload = expert_workload(2, 4, 16);
  Plan plan = make_plan({.stages = 2, .data = 2, .micro_batches = 4, .schedule = "dualpipe"}, cluster, workload);
  lay_experts(plan, 2);
  REQUIRE(plan.check(cluster, workload).empty());
  const RunResult alone = run_plan(plan, workload, cluster);
  workload.software.overlap_expert = true;
  const RunResult beside = run_plan(plan, workload, cluster), full = run_plan(plan, workload, cluster, {.symmetry = false});
  CHECK(beside.report.time.expert.value < 0.5 * alone.report.time.expert.value);
  CHECK(beside.report.step_time < alone.report.step_time);
  CHECK(near(beside.report.step_time, full.report.step_time));
}

// Two experts a rank even out: shares 0.4 0.1 | 0.25 0.25 are two equal ranks.
TEST_CASE("several experts a rank: their loads add up; owners say which") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 2});
  Workload workload = expert_workload(1, 4, 2);
  workload.data.item_load.assign(1, {0.4, 0.1, 0.25, 0.25});
  Plan plan = make_plan({.data = 2}, cluster, workload);
  lay_experts(plan, 2);
  CHECK(run_plan(plan, workload, cluster).report.expert_imbalance == Approx(1));
  plan.phases[0].parts[0].stages[0].rules[1].settings.owners = {{0, 2}, {1, 3}};
  REQUIRE(plan.check(cluster, workload).empty());
  CHECK(run_plan(plan, workload, cluster).report.expert_imbalance == Approx(1.3));
}

// 40 MB of gradients of the rest (20e6 in fp16) over four, and of one expert of two (10e6, 20 MB) over the two that hold it: rings move
// 3/2 and 1 of that at 10 GB/s: 6 ms and 2 ms, behind each other on the data stream.
TEST_CASE("gradients of experts are added among those that hold the same ones") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 1});
  Workload workload = expert_workload(1, 2, 4, 20e6);
  workload.software.gradient_reduce_type = DataType::fp16;
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 2);
  const RunResult run = run_plan(plan, workload, cluster);
  const Seconds exchanged = run.report.time.data;
  CHECK(exchanged.value == Approx(6e-3 + 2e-3));
}

namespace {

/// Four devices that shard all states, two ranks of one expert each; 20 M parameters beside the experts' 20 M. Nothing is dispatched.
RunResult sharded_experts(int zero) {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 1});
  Workload workload = expert_workload(1, 2, 4, 20e6);
  workload.software.gradient_reduce_type = DataType::fp16;
  for (Operator& op : workload.modules[0].types[0].operators) op.output = {};
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 2);
  plan.phases[0].parts[0].stages[0].rules[0].settings.zero = zero;
  REQUIRE(plan.check(cluster, workload) == std::vector<std::string>{});
  return run_plan(plan, workload, cluster);
}

Bytes held(const RunResult& run, MemoryClass kind) { return run.report.memory.at_peak[std::size_t(kind)]; }

}  // namespace

// 40 MB over four and 20 MB over the two that hold the same expert take 3 and 1 ms at 10 GB/s. Gathered 0-4, forward 4-6, gathered again
// 4-8, backward 8-12, scattered 12-16.
TEST_CASE("fully sharded, experts are gathered among those that hold the same ones") {
  const RunResult run = sharded_experts(3);
  CHECK(run.report.step_time.value == Approx(16e-3));
  CHECK(held(run, MemoryClass::weights) == 40_MB);    // 4 bytes of 5 M of the rest and of 5 M of an expert
  CHECK(held(run, MemoryClass::gradients) == 40_MB);
  CHECK(held(run, MemoryClass::optimizer) == 80_MB);
  CHECK(held(run, MemoryClass::buffers) >= 60_MB);    // the layer, gathered: 2 bytes of 30 M
}

TEST_CASE("experts that nobody else holds are not sharded further, but stand beside the gathered rest while they are used") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 1});
  Workload workload = expert_workload(1, 4, 4, 20e6);
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  plan.phases[0].parts[0].stages[0].rules[0].settings.zero = 3;
  const RunResult run = run_plan(plan, workload, cluster);
  CHECK(held(run, MemoryClass::weights) == 40_MB);    // 4 bytes of 5 M of the rest and of the whole expert of 5 M
  CHECK(held(run, MemoryClass::buffers) >= 50_MB);    // 2 bytes of 20 M and of 5 M
}

TEST_CASE("with zero 2 gradients of experts are scattered among those that hold the same ones") {
  const RunResult one = sharded_experts(1), two = sharded_experts(2);
  CHECK(held(one, MemoryClass::gradients) == 3.0 * held(two, MemoryClass::gradients));  // 30 M whole, 5 M and 5 M in parts
  CHECK(near(one.report.step_time, two.report.step_time));  // one micro-batch
}

TEST_CASE("what experts cannot do yet is refused by name, and what they cannot be by number") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  const Workload workload = expert_workload(1, 2, 4);
  Plan plan = make_plan({.data = 4}, cluster, workload);
  lay_experts(plan, 4);
  CHECK(plan.check(cluster, workload) == std::vector<std::string>{"stage 0: 2 experts do not divide over expert: 4"});
  Plan sharded = make_plan({.data = 4}, cluster, workload);
  lay_experts(sharded, 2);
  sharded.phases[0].parts[0].stages[0].rules[0].settings.zero = 3;
  sharded.phases[0].parts[0].stages[0].rules[0].settings.layout = Layout{equal_axis(AxisKind::data, 2), equal_axis(AxisKind::shard, 2)};
  CHECK(sharded.check(cluster, workload) ==
        std::vector<std::string>{"experts laid out apart with `zero: 3` in several pipelines, or with shards fewer than data ranks: not simulated yet"});
}

TEST_CASE("experts take the tokens of long and short micro-batches alike, and wait for the longest") {
  // Work of 1 ms a thousand tokens forward, 2 backward: 1,000 and 3,000 tokens on two devices, of which each expert gets 2,000. Exchanges
  // wait for the longest, before and after: 3 + 2 ms forward, 6 + 4 backward.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  Workload workload = expert_workload(1, 2, 2, 1);
  for (Operator& op : workload.modules[0].types[0].operators) {
    if (op.forward_bytes.fixed > Bytes(0)) op.forward_bytes = {Bytes(0), 1_MB, Bytes(0)};
    if (op.backward_bytes.fixed > Bytes(0)) op.backward_bytes = {Bytes(0), 2_MB, Bytes(0)};
  }
  workload.data.sequence_length = 3000;
  for (const double length : {1000, 3000}) workload.data.batch.push_back({length, length, length * length});
  Plan plan = make_plan({.data = 2}, cluster, workload);
  lay_experts(plan, 2);
  REQUIRE(plan.check(cluster, workload) == std::vector<std::string>{});
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(report.step_time.value == Approx(15e-3).epsilon(1e-4));
  CHECK(report.tokens == 4000);
}

TEST_CASE("data ranks with unequal shares of a micro-batch share their experts") {
  // 3 and 1 samples of 1 ms: experts have 2 each; 3 + 2 ms forward, 6 + 4 backward.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  const Workload workload = expert_workload(1, 2, 4, 1);
  Plan plan = make_plan({.data = 2}, cluster, workload);
  lay_experts(plan, 2);
  for (Axis& axis : *plan.phases[0].parts[0].stages[0].rules[0].settings.layout)
    if (axis.kind == AxisKind::data) axis.shares = {3, 1};
  REQUIRE(plan.check(cluster, workload) == std::vector<std::string>{});
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(15e-3).epsilon(1e-4));
}

namespace {

/// Data ranks and micro-batches of different length.
void draw_lengths(Workload& workload, std::mt19937& random) {
  for (Operator& op : workload.modules[0].types[0].operators)
    for (Cost<Bytes>* cost : {&op.forward_bytes, &op.backward_bytes, &op.saved, &op.output}) *cost = {Bytes(0), cost->fixed / 1000.0, Bytes(0)};
  workload.data.sequence_length = 2000;
  for (int i = 0; i < int(workload.global_batch); ++i) {
    const double length = 500 * double(1 + random() % 4);
    workload.data.batch.push_back({length, length, length * length});
  }
}

void check_random_experts(unsigned from, unsigned to) {
  for (unsigned seed = from; seed < to; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
    const int stages = pick({1, 2}), data = pick({2, 4}), tensor = pick({1, 2}), gpus = pick({1, 2, 4});
    const int width = data * tensor, experts = pick({4, 6, 8});
    const int expert_tensor = tensor == 2 && random() % 2 ? 2 : 1, ranks = pick({2, width / expert_tensor >= 4 ? 4 : 2});
    const Cluster cluster = make_cluster({.nodes = std::max(1, stages * width / gpus), .gpus = gpus, .slow_nodes = pick({0, 0, 1}) * (stages * width > gpus),
                                          .nodes_per_leaf = pick({0, 2}), .oversubscription = double(pick({1, 3}))});
    const int micro_batches = pick({1, 3});
    Workload workload = expert_workload(2 * stages, experts, double(micro_batches * data), pick({0, 1}) * 45e6);
    for (int layer = 0; layer < 2 * stages && seed % 3 > 0; ++layer) {
      std::vector<double> shares;
      for (int i = 0; i < experts; ++i) shares.push_back(pick({1, 1, 2, 5}));
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      for (double& share : shares) share /= sum;
      workload.data.item_load.push_back(shares);
    }
    workload.software.overlap_gradient_reduce = random() % 2;
    workload.software.distributed_optimizer = random() % 2;
    workload.software.overlap_weight_gather = random() % 2;
    workload.software.overlap_expert = seed % 2;
    if (random() % 3 == 0) workload.optimizer = "adam";
    if (seed % 5 == 2) draw_lengths(workload, random);
    Plan plan = make_plan({.stages = stages, .data = data, .tensor = tensor, .micro_batches = micro_batches, .schedule = random() % 2 ? "1f1b" : "zb_h1",
                           .recompute = random() % 3 == 0 ? RecomputeKind::full : RecomputeKind::none}, cluster, workload);
    lay_experts(plan, ranks, expert_tensor);
    if (seed % 4 == 1 && plan.phases[0].parts[0].schedule == "1f1b")
      for (Stage& stage : plan.phases[0].parts[0].stages) stage.rules[0].settings.zero = pick({2, 3});
    INFO("seed " << seed << " stages " << stages << " data " << data << " tensor " << tensor << " gpus " << gpus << " ranks " << ranks << " x " << expert_tensor);
    REQUIRE(plan.check(cluster, workload) == std::vector<std::string>{});
    const RunResult reduced = run_plan(plan, workload, cluster, {.symmetry = true}, 2);
    const RunResult full = run_plan(plan, workload, cluster, {.symmetry = false}, 2);
    const RunResult detailed = run_plan(plan, workload, cluster, {.symmetry = true, .full_detail = true}, 2);
    REQUIRE(near(reduced.report.step_time, full.report.step_time));
    REQUIRE(near(reduced.report.first_step_time, full.report.first_step_time));
    REQUIRE(near(reduced.report.step_time, detailed.report.step_time));
    REQUIRE(reduced.report.memory.peak.value == Approx(full.report.memory.peak.value));
    for (const TimePartName& part : kTimeParts)
      REQUIRE((reduced.report.time.*part.part).value == Approx((full.report.time.*part.part).value).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("with experts the reduced simulation equals the full one, and full detail merged tasks: cases 0 to 29") { check_random_experts(0, 30); }
TEST_CASE("with experts the reduced simulation equals the full one, and full detail merged tasks: cases 30 to 59") { check_random_experts(30, 60); }
