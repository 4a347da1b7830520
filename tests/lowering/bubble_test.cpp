// Uniform stages without communication: the bubble of gpipe and 1f1b is (p-1)/(m+p-1).
#include <catch2/catch.hpp>

#include "sim/engine/simgrid_executor.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

RunResult run_uniform(const std::string& schedule, int stages, int micro_batches, Executor* executor = nullptr) {
  const Cluster cluster = make_cluster({.nodes = stages});
  const Workload workload = make_workload({.layers = stages, .batch = double(micro_batches)});
  const Plan plan = make_plan({.stages = stages, .micro_batches = micro_batches, .schedule = schedule}, cluster, workload);
  return run_plan(plan, workload, cluster, {}, 2, executor);
}

/// `F0B0W0`, single digits.
Lane compute_lane(const Stage& stage, const std::string& order) {
  Lane lane{stage.devices, "compute", {}};
  for (std::size_t i = 0; i < order.size(); i += 2) lane.entries.push_back({{order[i], {}, order[i + 1] - '0', 0}, {}});
  return lane;
}

}  // namespace

TEST_CASE("bubble of uniform stages equals the closed form") {
  const std::string schedule = GENERATE("1f1b", "gpipe");
  const int p = GENERATE(2, 3, 4, 8);
  const int rounds = GENERATE(1, 2, 4);
  const int m = p * rounds;
  const RunResult run = run_uniform(schedule, p, m);
  INFO(schedule << " p " << p << " m " << m);
  CHECK(run.report.bubble_fraction == Approx(double(p - 1) / (m + p - 1)).epsilon(1e-9));
  CHECK(near(run.report.step_time, 3_ms * double(m + p - 1)));
  CHECK(near(run.report.time.total(), run.report.step_time));
}

TEST_CASE("bubble of 1f1b on SimGrid") {
  SimGridExecutor executor;
  CHECK(run_uniform("1f1b", 4, 8, &executor).report.bubble_fraction == Approx(3.0 / 11).epsilon(1e-9));
}

TEST_CASE("bubble of gpipe on SimGrid") {
  SimGridExecutor executor;
  CHECK(run_uniform("gpipe", 4, 8, &executor).report.bubble_fraction == Approx(3.0 / 11).epsilon(1e-9));
}

TEST_CASE("v chunks divide the bubble by v: (p-1)/(vm+p-1)") {
  const int p = GENERATE(2, 3, 4), v = GENERATE(2, 3), rounds = GENERATE(1, 2, 4);
  const int m = p * rounds;
  const Cluster cluster = make_cluster({.nodes = p});
  const Workload workload = make_workload({.layers = p * v, .batch = double(m)});
  const Plan plan = make_plan({.stages = p, .micro_batches = m, .chunks = v, .schedule = "interleaved"}, cluster, workload);
  INFO("p " << p << " v " << v << " m " << m);
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(report.bubble_fraction == Approx(double(p - 1) / (v * m + p - 1)).epsilon(1e-9));
}

TEST_CASE("ZB-H1 shortens the ramp of a pipeline to (p-1)(F+B-W)") {
  // Qi et al., arXiv 2401.10241, Table 2; forward, input and weight gradients of a product take equally long.
  const int p = GENERATE(2, 3, 4), m = GENERATE(4, 8, 12);
  const Cluster cluster = make_cluster({.nodes = p});
  const Workload workload = make_workload({.layers = p, .batch = double(m), .product = true});
  const auto step = [&](const char* schedule) {
    const Plan plan = make_plan({.stages = p, .micro_batches = m, .schedule = schedule}, cluster, workload);
    return run_plan(plan, workload, cluster).report.step_time;
  };
  const Seconds pass = step("1f1b") / (3.0 * (m + p - 1));
  INFO("p " << p << " m " << m);
  CHECK(near(step("zb_h1"), pass * double(3 * m + p - 1)));
}

TEST_CASE("ZB-H1 holds no more activations than 1f1b on its first stage") {
  const Cluster cluster = make_cluster({.nodes = 4});
  const Workload workload = make_workload({.layers = 4, .batch = 8, .saved = 100_MB, .product = true});
  const auto peak = [&](const char* schedule) {
    const Plan plan = make_plan({.stages = 4, .micro_batches = 8, .schedule = schedule}, cluster, workload);
    return run_plan(plan, workload, cluster).report.memory.peak.value;
  };
  CHECK(peak("zb_h1") <= Approx(peak("1f1b")).epsilon(1e-3));
}

TEST_CASE("ZB-V has no bubble where F, B and W take equally long") {
  // Qi et al., arXiv 2401.10241, §6: no stage waits between its first and its last pass, with the memory of 1f1b.
  const int p = GENERATE(2, 3, 4), m = GENERATE(8, 12);
  const Cluster cluster = make_cluster({.nodes = p});
  const Workload workload = make_workload({.layers = 2 * p, .batch = double(m), .saved = 100_MB, .product = true});
  const auto run = [&](const char* schedule, int chunks) {
    const Plan plan = make_plan({.stages = p, .micro_batches = m, .chunks = chunks, .schedule = schedule}, cluster, workload);
    return run_plan(plan, workload, cluster, {}, 4).report;  // starts of four steps: the last steps end as they like
  };
  const StepReport plain = run("1f1b", 1), v = run("zb_v", 2);
  INFO("p " << p << " m " << m);
  CHECK(near(v.step_time, plain.step_time * (double(m) / (m + p - 1))));
  CHECK(v.bubble_fraction == Approx(0).margin(1e-9));
  CHECK(v.memory.peak.value <= Approx(plain.memory.peak.value).epsilon(1e-3));
}

TEST_CASE("DualPipe waits (p/2 - 1)(F + B - 2W)") {
  // DeepSeek-V3, arXiv 2412.19437, Table 2, has (p/2 - 1)(F&B + B - 3W), F&B being both at once: their results leave together at its
  // end. Here F and B run one after the other and F's result leaves W sooner: F&B = F + B, less W. B = 2 F = 2 W.
  const int p = GENERATE(2, 4, 6), rounds = GENERATE(1, 2);
  const int m = p * rounds;
  const Cluster cluster = make_cluster({.nodes = p});
  const Workload workload = make_workload({.layers = p, .batch = 2.0 * m, .product = true});
  const auto first_step = [&](const char* schedule, int micro_batches) {
    const Plan plan = make_plan({.stages = p, .micro_batches = micro_batches, .schedule = schedule}, cluster, workload);
    return run_plan(plan, workload, cluster).report.first_step_time;
  };
  const Seconds pass = first_step("1f1b", 2 * m) / (3.0 * (2 * m + p - 1));
  INFO("p " << p << " m " << m);
  INFO(first_step("dualpipe", m) / pass - 6 * m);
  CHECK(near(first_step("dualpipe", m), pass * (6.0 * m + 1.0 * (p / 2 - 1))));
}

TEST_CASE("an order table is run as it stands") {
  // 1f1b of two stages and three micro-batches, written out; then with the last stage's weight gradients at the end.
  const Cluster cluster = make_cluster({.nodes = 2});
  const Workload workload = make_workload({.layers = 2, .batch = 3, .product = true});
  const auto step = [&](const std::string& first, const std::string& last) {
    Plan plan = make_plan({.stages = 2, .micro_batches = 3, .schedule = "table"}, cluster, workload);
    plan.phases[0].lanes = {compute_lane(plan.phases[0].parts[0].stages[0], first), compute_lane(plan.phases[0].parts[0].stages[1], last)};
    return run_plan(plan, workload, cluster).report.step_time;
  };
  const Seconds pass = step("F0F1B0F2B1B2", "F0B0F1B1F2B2") / 12.0;
  // F0 | F1 B0 .. as 1f1b: 3 (m + p - 1) passes; without W between its B's the last stage answers sooner.
  CHECK(near(step("F0F1B0W0F2B1W1B2W2", "F0B0F1B1W0F2B2W1W2"), pass * 10.0));
}

TEST_CASE("an unequal stage sets the pace") {
  const Cluster cluster = make_cluster({.nodes = 2});
  const Workload workload = make_workload({.layers = 4, .batch = 8});
  const Plan plan = make_plan({.stages = 2, .micro_batches = 8, .layers = {1, 3}}, cluster, workload);
  // T = sum of stages + (m-1) times the slowest: 3 + 9 + 7 * 9 ms.
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, 75_ms));
}

TEST_CASE("a slow GPU takes twice as long for the same layers") {
  const Cluster cluster = make_cluster({.nodes = 2, .slow_nodes = 1});
  const Workload workload = make_workload({.layers = 3, .batch = 4});
  const Plan plan = make_plan({.stages = 2, .micro_batches = 4, .layers = {2, 1}}, cluster, workload);
  // Both stages take 6 ms a micro-batch: 6 * (4 + 2 - 1).
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, 30_ms));
}

TEST_CASE("a transfer delays the pipeline once on its way down and once on its way back") {
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 2, .batch = 1, .output = 10_MB});
  const Plan plan = make_plan({.stages = 2, .micro_batches = 1}, cluster, workload);
  const StepReport report = run_plan(plan, workload, cluster).report;
  // 10 MB at 10 GB/s, both ways, between 2 x 3 ms of work.
  CHECK(near(report.step_time, 8_ms));
  CHECK(near(report.time.pipeline, 2_ms));
}

TEST_CASE("full recompute repeats the forward pass") {
  const Cluster cluster = make_cluster({});
  const Workload workload = make_workload({.layers = 2, .batch = 1});
  const Plan plan = make_plan({.micro_batches = 1, .recompute = RecomputeKind::full}, cluster, workload);
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(near(report.step_time, 8_ms));
  CHECK(near(report.time.recompute, 2_ms));
  CHECK(report.hardware_flops / report.model_flops == Approx(4.0 / 3));
}
