// A context axis: each device works on its share of every sequence while keys and values come by.
#include <catch2/catch.hpp>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

StepReport two_shares(ContextKind kind, BytesPerSecond nic) {
  const Cluster cluster = make_cluster({.nodes = 2, .nic = nic});
  const Workload workload = make_workload({.layers = 1, .batch = 1, .attention = true});
  Plan plan = make_plan({.micro_batches = 1, .context = 2}, cluster, workload);
  plan.phases[0].parts[0].stages[0].rules[0].settings.context_kind = kind;
  return run_plan(plan, workload, cluster).report;
}

}  // namespace

TEST_CASE("a ring of keys and values runs beside the attention of half a sequence") {
  // Half a sample: 0.5 ms forward, 1 ms backward. 16 MB of keys and values, half of them on the wire, twice backward.
  CHECK(near(two_shares(ContextKind::ring, BytesPerSecond(100e9)).step_time, 1.5_ms));
  // At 10 GB/s: 0.8 ms and 1.6 ms of wire set the pace.
  const StepReport slow = two_shares(ContextKind::ring, BytesPerSecond(10e9));
  CHECK(near(slow.step_time, 2.4_ms));
  CHECK(near(slow.time.context, 0.9_ms));
}

TEST_CASE("gathered keys and values come before the attention") {
  CHECK(near(two_shares(ContextKind::gather, BytesPerSecond(10e9)).step_time, 3.9_ms));
}

TEST_CASE("Ulysses exchanges heads before and behind the attention") {
  // Per device 4 MB of queries and 8 MB of keys and values, half of each on the wire: 0.6 ms before the attention, and 0.2 ms for
  // its 4 MB of output behind it; the gradients take as long. 0.5 + 1 ms of work.
  const StepReport report = two_shares(ContextKind::ulysses, BytesPerSecond(10e9));
  CHECK(near(report.step_time, 3.1_ms));
  CHECK(near(report.time.context, 1.6_ms));
}

TEST_CASE("context ranks synchronise gradients and share optimizer states like data ranks") {
  const Cluster cluster = make_cluster({.nodes = 4});
  Workload workload = make_workload({.layers = 1, .batch = 2, .parameters = 8e6});
  workload.optimizer = "adam";
  workload.software.distributed_optimizer = true;
  const Plan plan = make_plan({.data = 2, .micro_batches = 1, .context = 2}, cluster, workload);
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::optimizer)] == 24_MB);  // 12 x 8 M / 4
  CHECK(report.device_classes == 1);
}
