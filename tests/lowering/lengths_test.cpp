// Samples of different length: products by the sum of their tokens, attention by the sum of the squares.
#include <catch2/catch.hpp>

#include "sim/cost/sample_runs.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// One layer that moves 1 MB a token and 1 kB a token squared forward, at 1 TB/s: 1 ms a thousand tokens and 1 ms a
/// million squares, twice that backward. 1 kB a token is kept.
Workload sized(const std::vector<double>& lengths) {
  Workload workload = make_workload({.layers = 1, .batch = double(lengths.size())});
  Operator& op = workload.modules[0].types[0].operators[0];
  op.forward_bytes = {Bytes(0), 1_MB, Bytes(1e3)};
  op.backward_bytes = {Bytes(0), 2_MB, Bytes(2e3)};
  op.saved = {Bytes(0), Bytes(1e3), Bytes(0)};
  op.output = {Bytes(0), Bytes(1), Bytes(0)};
  workload.data.sequence_length = 8000;
  for (const double length : lengths) workload.data.batch.push_back({length, length, length * length});
  return workload;
}

std::vector<std::vector<int>> listed(const std::vector<double>& lengths, std::vector<int> samples, int micro_batches) {
  Part part;
  part.pipelines.push_back({double(samples.size()), std::move(samples), micro_batches, {}});
  return sample_runs(part, 0, sized(lengths).data);
}

}  // namespace

TEST_CASE("micro-batches of different length take what their tokens and squares take") {
  // {1, 3} and {2, 4} thousand tokens: 4 + 10 ms and 6 + 20 ms forward, twice that backward.
  const Cluster cluster = make_cluster({});
  const Workload workload = sized({1000, 3000, 2000, 4000});
  const StepReport report = run_plan(make_plan({.micro_batches = 2}, cluster, workload), workload, cluster).report;
  CHECK(near(report.step_time, 120_ms));
  CHECK(report.tokens == 10000);
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::activations)] == 6_MB);
}

TEST_CASE("padded samples are as long as the longest of their micro-batch") {
  // Two of 3,000 and two of 4,000: 6 + 18 ms and 8 + 32 ms forward. The tokens that count are the same.
  const Cluster cluster = make_cluster({});
  Workload workload = sized({1000, 3000, 2000, 4000});
  workload.data.padded = true;
  const StepReport report = run_plan(make_plan({.micro_batches = 2}, cluster, workload), workload, cluster).report;
  CHECK(near(report.step_time, 192_ms));
  CHECK(report.tokens == 10000);
}

TEST_CASE("packed samples do not attend to each other") {
  // 8,000 rows, 5,000 of them tokens, and 9 + 4 million squares: 8 + 13 ms forward.
  const Cluster cluster = make_cluster({});
  Workload workload = sized({8000});
  workload.data.batch = {{5000, 8000, 13e6}};
  const StepReport report = run_plan(make_plan({.micro_batches = 1}, cluster, workload), workload, cluster).report;
  CHECK(near(report.step_time, 63_ms));
  CHECK(report.tokens == 5000);
}

TEST_CASE("the data rank with the longest samples holds up the others") {
  // 1 + 1 ms and 3 + 9 ms forward; parameters make the ranks wait for each other.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  Workload workload = sized({1000, 3000});
  workload.modules[0].types[0].operators[0].parameters = 1;
  const StepReport report = run_plan(make_plan({.data = 2}, cluster, workload), workload, cluster).report;
  CHECK(report.step_time.value == Approx(36e-3).epsilon(1e-6));
  CHECK(report.device_classes == 2);
}

TEST_CASE("listed samples are cut where the largest micro-batch is smallest") {
  CHECK(listed({1000, 3000, 2000, 4000}, {3, 1, 2, 0}, 2) == std::vector<std::vector<int>>{{3}, {1, 2, 0}});
  CHECK(listed({1000, 1000, 1000, 1000}, {0, 1, 2, 3}, 3) == std::vector<std::vector<int>>{{0, 1}, {2}, {3}});
  CHECK(listed({5000, 1000}, {0, 1}, 2) == std::vector<std::vector<int>>{{0}, {1}});
}

TEST_CASE("stages pass each micro-batch by its own tokens") {
  // Two stages of one layer each; micro-batches of 1,000 and 3,000 tokens take 2 and 12 ms forward, 4 and 24 backward.
  // The second stage ends F0 at 4, runs B0 to 8, F1 from 14 to 26, B1 to 50; the first B1 to 74.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  Workload workload = sized({1000, 3000});
  workload.modules[0].layers.push_back(workload.modules[0].layers[0]);
  workload.modules[0].layers[1].name = "1";
  const StepReport report =
      run_plan(make_plan({.stages = 2, .micro_batches = 2}, cluster, workload), workload, cluster).report;
  CHECK(report.step_time.value == Approx(74e-3).epsilon(1e-4));
}
