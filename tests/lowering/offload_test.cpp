// States whose home is the host: copies hidden or exposed as bytes over bandwidth against the kernels say, hosts' updates, peaks.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

const Home kHost{Place::host, {}, 0, false};
Home slots(int buffers) { return {Place::host, {}, buffers, false}; }
const std::map<State, Home> kAll{{State::weights, slots(2)}, {State::gradients, slots(2)}, {State::optimizer, kHost}};

struct OffloadCase {
  std::map<State, Home> home;
  double parameters = 0;                 ///< of each of the layers
  int layers = 2, gpus = 1, gpus_per_switch = 1, cores = 1000;
  Bytes saved{};
  std::string optimizer = "none";
  Update update = Update::end;
  int shards = 1;
  Bytes host_memory{1e12};
  Jitter jitter{};
  bool symmetry = true;
};

/// One sample a device: a layer takes 1 ms forward and 2 ms backward; PCIe moves 10 GB/s, DRAM 100 GB/s; all 16-bit.
StepReport run(const OffloadCase& c) {
  const Cluster cluster = make_cluster({.gpus = c.gpus, .gpus_per_switch = c.gpus_per_switch, .cores = c.cores, .host_memory = c.host_memory});
  Workload workload = make_workload({.layers = c.layers, .batch = double(c.gpus), .parameters = c.parameters, .saved = c.saved});
  workload.optimizer = c.optimizer;
  workload.software.gradient_type = workload.software.gradient_reduce_type = DataType::fp16;
  Plan plan = make_plan({.data = c.gpus}, cluster, workload);
  Settings& settings = plan.phases[0].parts[0].stages[0].rules[0].settings;
  settings.home = c.home;
  settings.update = c.update;
  if (c.shards > 1) {
    settings.layout = Layout{equal_axis(AxisKind::shard, c.shards)};
    settings.zero = 3;
  }
  REQUIRE(plan.check(cluster, workload).empty());
  return run_plan(plan, workload, cluster, {.symmetry = c.symmetry, .jitter = c.jitter}, 4).report;
}

std::map<State, Home> weights_in(int buffers) { return {{State::weights, slots(buffers)}, {State::optimizer, kHost}}; }

}  // namespace

TEST_CASE("fast fetches hide: the first one and the last gradient stand out") {
  // A copy takes 1 ms. Fetch 0 0-1, F0 1-2 beside fetch 1, F1 2-3 beside fetch 0 again, B1 3-5, B0 5-7, gradient 0 7-8.
  CHECK(near(run({.home = weights_in(2), .parameters = 5e6}).step_time, 8_ms));
}

TEST_CASE("slow fetches set the pace") {
  // 3 ms. Fetch 0 0-3, F0 3-4, fetch 1 3-6, F1 6-7, B1 7-9, fetch 0 6-9, B0 9-11, gradients 9-12 and 12-15.
  CHECK(near(run({.home = weights_in(2), .parameters = 15e6}).step_time, 15_ms));
}

TEST_CASE("with one slot nothing is fetched ahead") {
  // Fetch 0 0-1, F0 1-2, fetch 1 2-3, F1 3-4, B1 4-6, fetch 0 6-7, B0 7-9, gradient 0 9-10.
  CHECK(near(run({.home = weights_in(1), .parameters = 5e6}).step_time, 10_ms));
}

TEST_CASE("replicas add their gradients up in the host's memory, on slots of their own") {
  // As alone, 8 ms, and half an addition by each: 2 x 2.5 M parameters x 6 bytes over DRAM, 0.3 ms.
  CHECK(near(run({.home = kAll, .parameters = 5e6}).step_time, 8_ms));
  CHECK(near(run({.home = kAll, .parameters = 5e6, .gpus = 2}).step_time, 8.3_ms));
}

TEST_CASE("behind one PCIe switch copies take twice as long") {
  // Fetch 0 0-2, F0 2-3, fetch 1 2-4, F1 4-5, B1 5-7, B0 7-9, gradients 7-9 and 9-11, addition 0.3 ms.
  CHECK(near(run({.home = kAll, .parameters = 5e6, .gpus = 2, .gpus_per_switch = 2}).step_time, 11.3_ms));
}

TEST_CASE("the host's update is on the critical path: bytes over DRAM bandwidth") {
  // 28 bytes x 5 M parameters: 1.4 ms a layer. Six ms of kernels, gradient 0 6-7, update 0 7-8.4, its weights 8.4-9.4, when the next F0
  // begins; update 1 8.4-9.9, as the copy takes a tenth of the DRAM link, and its weights 9.9-10.9 hold F1 up by 0.5 ms.
  const StepReport report = run({.home = {{State::optimizer, kHost}}, .parameters = 5e6, .optimizer = "adam"});
  CHECK(near(report.step_time, 9.9_ms));
  CHECK(near(report.time.forward + report.time.backward, 6_ms));
  CHECK(near(report.time.optimizer + report.time.offload, 3.9_ms));
}

TEST_CASE("an update layer by layer begins beside the backward pass") {
  // Gradient 1 4-5; update 1 5-6.44, beside the copy of gradient 0 (6-7) from 6 on; its weights until 7.44; update 0 7-8.44; weights.
  const StepReport report = run({.home = {{State::optimizer, kHost}}, .parameters = 5e6, .optimizer = "adam", .update = Update::layer});
  CHECK(near(report.step_time, Seconds((9 + 4.0 / 9) * 1e-3)));
}

TEST_CASE("few cores are slower than the memory") {
  // A core updates 5 M parameters in 5e6 / (10e9 / 2.57 s / 48). Both updates, then the weights of layer 1, F1, B1, B0, gradient 0.
  const double update = 5e6 / (10e9 / 2.57 / 48);
  CHECK(near(run({.home = {{State::optimizer, kHost}}, .parameters = 5e6, .cores = 1, .optimizer = "adam"}).step_time,
             Seconds(2 * update + 7e-3)));
}

TEST_CASE("activations leave and come back through two slots") {
  // Forward 0-4, the last layer's 10 MB out 4-5 and back 5-6, then the backward passes 6-14 with reloads beside them.
  const StepReport report = run({.home = {{State::activations, kHost}}, .layers = 4, .saved = 10_MB});
  CHECK(near(report.step_time, 14_ms));
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::activations)] == 20_MB);
  CHECK(report.peak_host_memory == 40_MB);
  // With one slot each reload waits for the backward pass before it: 1 ms more a layer but the last.
  CHECK(near(run({.home = {{State::activations, slots(1)}}, .layers = 4, .saved = 10_MB}).step_time, 17_ms));
}

TEST_CASE("the device holds two layers and the host everything, once for all its devices") {
  const int gpus = GENERATE(1, 2);
  const StepReport report = run({.home = kAll, .parameters = 1e8, .layers = 4, .gpus = gpus, .optimizer = "adam"});
  const auto held = [&](MemoryClass kind) { return report.memory.at_peak[std::size_t(kind)]; };
  CHECK(held(MemoryClass::weights) == 400_MB);
  CHECK(held(MemoryClass::gradients) <= 400_MB);
  CHECK(held(MemoryClass::optimizer) == 0_MB);
  CHECK(report.peak_host_memory.value == Approx(4e8 * (2 + 2 + 12)));
}

TEST_CASE("a host that is too small is named") {
  const StepReport report = run({.home = kAll, .parameters = 1e8, .optimizer = "adam", .host_memory = 3_GB});
  CHECK_FALSE(report.memory.fits());
  CHECK(report.memory.device == "n.0.cpu");
  CHECK(report.memory.missing().value == Approx(3.2e9 - 3e9));
}

TEST_CASE("shards are fetched in parts and gathered") {
  // Half a layer from the host in 0.5 ms, gathered in 0.05 ms: fetch 0, gather 0, F0, F1, B1, B0, scatter, half a gradient.
  const StepReport report = run({.home = weights_in(2), .parameters = 5e6, .gpus = 2, .shards = 2});
  CHECK(near(report.step_time, 7.1_ms));
}

TEST_CASE("jitter reaches copies to and from the host, and the host's own work") {
  OffloadCase c{.home = kAll, .parameters = 15e6, .gpus = 2, .gpus_per_switch = 2, .cores = 4, .optimizer = "adam"};
  const Seconds plain = run(c).step_time;
  c.jitter = {.kernels = 0, .communication = 0.2, .seed = 3};
  const Seconds copies = run(c).step_time;
  c.jitter = {.kernels = 0.2, .communication = 0, .seed = 3};
  const Seconds work = run(c).step_time;
  CHECK_FALSE(near(copies, plain));
  CHECK_FALSE(near(work, plain));
  CHECK(near(run(c).step_time, work));
  c.symmetry = false;
  CHECK(near(run(c).step_time, work));
}

TEST_CASE("a copy's jitter is a factor on its time") {
  // 15 ms: gradients and weights of 30 MB set the pace (slow fetches above); spread so little that the order stays.
  OffloadCase c{.home = weights_in(2), .parameters = 15e6};
  c.jitter = {.kernels = 0, .communication = 0.01, .seed = 5};
  const Seconds drawn = run(c).step_time;
  CHECK_FALSE(near(drawn, 15_ms));
  CHECK(std::abs(drawn / 15_ms - 1) < 0.03);
}

namespace {

/// Two layers on one GPU; a pass takes 2 ms forward and 4 ms backward and keeps 20 MB, 2 ms over PCIe.
struct TableCase {
  Cluster cluster = make_cluster({.gpus = 1, .gpus_per_switch = 1});
  Workload workload;
  Plan plan;

  TableCase(int micro_batches, std::vector<Entry> compute, std::vector<Entry> out, std::vector<Entry> back)
      : workload(make_workload({.layers = 2, .batch = double(micro_batches), .saved = 10_MB})) {
    plan = make_plan({.micro_batches = micro_batches, .schedule = "table"}, cluster, workload);
    Stage& stage = plan.phases[0].parts[0].stages[0];
    stage.rules[0].settings.home = {{State::activations, kHost}};
    plan.phases[0].lanes = {{stage.devices, "compute", std::move(compute)}, {stage.devices, "d2h", std::move(out)}, {stage.devices, "h2d", std::move(back)}};
  }

  StepReport report() const {
    REQUIRE(plan.check(cluster, workload).empty());
    return run_plan(plan, workload, cluster, {}, 3).report;
  }
};

Entry op(char kind, int micro_batch) { return {{kind, PassId{}, micro_batch, 0}, std::nullopt}; }
Entry after(Entry entry, Entry before) {
  entry.not_before = before.operation;
  return entry;
}

}  // namespace

TEST_CASE("tables say when a pass's activations leave and when they come back") {
  // F0 0-2, F1 2-4, B0 4-8 beside O1 4-6; R1 after B0 8-10, B1 10-14.
  const std::vector<Entry> order{op('F', 0), op('F', 1), op('B', 0), op('B', 1)};
  CHECK(near(TableCase(2, order, {op('O', 1)}, {after(op('R', 1), op('B', 0))}).report().step_time, 14_ms));
  // As early as may be, 6-8, it is there when B1 wants it.
  CHECK(near(TableCase(2, order, {op('O', 1)}, {op('R', 1)}).report().step_time, 12_ms));
}

TEST_CASE("a pass that left makes room for the next, on the device and not on the host") {
  // F0 0-2, F1 2-4 beside O0, F2 4-6, B2 6-10, R0 10-12 beside B1 10-14, B0 14-18: two passes at most.
  const StepReport report =
      TableCase(3, {op('F', 0), op('F', 1), op('F', 2), op('B', 2), op('B', 1), op('B', 0)}, {op('O', 0)}, {after(op('R', 0), op('B', 2))}).report();
  CHECK(near(report.step_time, 18_ms));
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::activations)] == 40_MB);
  CHECK(report.peak_host_memory == 20_MB);
}

TEST_CASE("offloads and reloads that cannot be run are refused") {
  const auto problem = [](std::vector<Entry> out, std::vector<Entry> back) {
    TableCase one(2, {op('F', 0), op('B', 0), op('F', 1), op('B', 1)}, std::move(out), std::move(back));
    const auto problems = one.plan.check(one.cluster, one.workload);
    return problems.empty() ? std::string() : problems.front();
  };
  CHECK(problem({op('O', 0)}, {}) == "stage 0: order: R0 is missing");
  CHECK(problem({}, {op('R', 0)}) == "stage 0: order: R0: its activations are never offloaded");
  CHECK(problem({op('O', 2)}, {op('R', 2)}) == "stage 0: order: O2: no such pass in the table of compute");
  CHECK(problem({op('O', 0), op('O', 0)}, {op('R', 0)}) == "stage 0: order: O0 stands twice");
  CHECK(problem({op('R', 0)}, {op('R', 0)}) == "stage 0: order: R0 stands on the stream d2h");
  CHECK(problem({op('O', 0)}, {after(op('R', 0), op('W', 0))}) == "stage 0: order: R0@W0: the second is not in the table of compute");
  CHECK(problem({op('O', 0)}, {after(op('R', 0), op('F', 1))}) == "stage 0: order: the tables wait for each other: B0 waits for R0 of stage 0");
  TableCase at_home(2, {op('F', 0), op('B', 0), op('F', 1), op('B', 1)}, {op('O', 0)}, {op('R', 0)});
  at_home.plan.phases[0].parts[0].stages[0].rules[0].settings.home.clear();
  CHECK(at_home.plan.check(at_home.cluster, at_home.workload).front() == "stage 0: order: O and R need `home: {activations: host}`");
}
