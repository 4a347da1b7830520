// The chain that makes the length of a step, against what can be worked out by hand.
#include "sim/model/critical_path.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/lowering/step_report.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"
#include "tests/task_graph/small_graph.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

Seconds time_of(const std::vector<PathPart>& path, const std::string& kind, int stage = -2) {
  Seconds sum{};
  for (const PathPart& part : path)
    if ((kind.empty() || part.kind == kind) && (stage == -2 || part.stage == stage)) sum += part.time;
  return sum;
}

/// Of the last of `steps` steps, start to start.
std::vector<PathPart> path_of(const RunResult& run) {
  const StepWindow window = step_times(run.lowered.graph, run.timeline).last(1);
  return critical_path(run.lowered.graph, run.timeline, window.from, window.to, 1);
}

RunResult run_1f1b(int stages, int micro_batches, int slow_nodes, Bytes output = {}) {
  const Cluster cluster = make_cluster({.nodes = stages, .slow_nodes = slow_nodes});
  const Workload workload = make_workload({.layers = stages, .batch = double(micro_batches), .output = output});
  return run_plan(make_plan({.stages = stages, .micro_batches = micro_batches}, cluster, workload), workload, cluster,
                  {}, 3);
}

}  // namespace

TEST_CASE("a chain by hand: kernel, transfer, wait for a release, kernel; the next step closes it") {
  // a.0 computes 3 s, sends 2 s until 5; b.0 may start at 6 and computes until 9, when a.0 goes on.
  const TaskGraph graph = small_graph();
  Timeline timeline;
  for (const double step : {0.0, 9.0})
    for (const auto& [from, to] : {std::pair(0.0, 3.0), {3.0, 5.0}, {6.0, 9.0}}) {
      timeline.start.push_back(Seconds(step + from));
      timeline.end.push_back(Seconds(step + to));
    }
  const std::vector<PathPart> path = critical_path(graph, timeline, 0_s, 9_s, 1);
  REQUIRE(path.size() == 4);
  CHECK(path[0].kind == "backward");
  CHECK(path[0].device == "b.0");
  CHECK(path[1].kind == "forward");
  CHECK(path[1].stage == 1);
  CHECK(path[1].model == "A100-SXM4-40GB");
  CHECK(path[0].time == 3_s);
  CHECK(path[1].time == 3_s);
  CHECK(path[2].kind == "pipeline");
  CHECK(path[2].time == 2_s);
  CHECK(path[3].kind == "wait");
  CHECK(path[3].time == 1_s);
  SECTION("over two steps it is the mean") {
    timeline.start.push_back(18_s);
    timeline.end.push_back(21_s);
    timeline.start.resize(9, Seconds(std::nan("")));
    timeline.end.resize(9, Seconds(std::nan("")));
    const std::vector<PathPart> both = critical_path(graph, timeline, 0_s, 18_s, 2);
    CHECK(time_of(both, "") == 9_s);
    CHECK(time_of(both, "wait") == 1_s);
  }
  SECTION("parts of a merged task share its time") {
    TaskGraph merged = graph;
    merged.tasks[0].label.parts = {{TaskKind::forward, 2_s}, {TaskKind::tensor, 1_s}};
    const std::vector<PathPart> split = critical_path(merged, timeline, 0_s, 9_s, 1);
    CHECK(time_of(split, "forward") == 2_s);
    CHECK(time_of(split, "tensor") == 1_s);
  }
}

TEST_CASE("1f1b on equal stages: a chain without waits of m + p - 1 forwards and as many backwards") {
  const int p = GENERATE(1, 2, 4), m = GENERATE(4, 8);
  const RunResult run = run_1f1b(p, m, 0);
  const std::vector<PathPart> path = path_of(run);
  INFO("p " << p << " m " << m);
  CHECK(near(time_of(path, ""), 3_ms * double(m + p - 1)));
  CHECK(time_of(path, "wait") < 1e-9 * run.report.step_time);
  CHECK(near(time_of(path, "forward") + time_of(path, "backward"), run.report.step_time));
}

TEST_CASE("1f1b with a last stage of half the speed: the chain lies on it, but for the way there and back") {
  const int p = GENERATE(2, 3, 4), m = 8;
  const RunResult run = run_1f1b(p, m, 1);
  const std::vector<PathPart> path = path_of(run);
  INFO("p " << p);
  CHECK(near(time_of(path, ""), 6_ms * double(m) + 3_ms * double(p - 1)));
  CHECK(near(time_of(path, "", p - 1), 6_ms * double(m)));
  CHECK(near(time_of(path, "forward", 0), 1_ms));
  CHECK(near(time_of(path, "backward", 0), 2_ms));
}

TEST_CASE("messages that the slow stage waits for stand in the chain") {
  // 10 MB over 10 GB/s: 1 ms. Without a stream of their own they hold up the computing: the last stage receives before
  // each of its 8 forwards; the chain ends with one message back.
  const RunResult run = run_1f1b(2, 8, 1, Bytes(10e6));
  const std::vector<PathPart> path = path_of(run);
  CHECK(near(time_of(path, ""), run.report.step_time));
  CHECK(near(time_of(path, "pipeline"), 9_ms));
  CHECK(near(time_of(path, ""), 6_ms * 8.0 + 3_ms + 9_ms));
}
