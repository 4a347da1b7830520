#include "sim/model/task_graph.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "sim/units/error.hpp"
#include "tests/task_graph/small_graph.hpp"

using namespace trainyard;

TEST_CASE("unrolling repeats tasks and turns loop-carried edges into plain ones") {
  TaskGraph graph = small_graph();
  graph.edges.push_back({TaskId{0}, TaskId{2}, 2});
  const TaskGraph all = unroll(graph, 3);
  REQUIRE(all.tasks.size() == 9);
  CHECK(all.period == 3);
  CHECK(all.tasks[7].label.step == 2);
  CHECK(all.tasks[7].phases == graph.tasks[1].phases);
  const auto edge = [](int from, int to) { return Edge{static_cast<TaskId>(from), static_cast<TaskId>(to), 0}; };
  CHECK(all.edges == std::vector<Edge>{edge(0, 1), edge(1, 2), edge(2, 3), edge(0, 8), edge(3, 4), edge(4, 5), edge(5, 6),
                                       edge(6, 7), edge(7, 8)});
  CHECK(all.streams == graph.streams);
  CHECK(all.residents == graph.residents);
  CHECK(problems(all).empty());
}

TEST_CASE("unrolling a graph of several steps counts them on") {
  TaskGraph graph = small_graph();
  graph.period = 2;
  graph.tasks[2].label.step = 1;
  const TaskGraph all = unroll(graph, 2);
  CHECK(all.period == 4);
  CHECK(all.tasks[5].label.step == 3);
}

TEST_CASE("one step without loop-carried edges unrolls to itself") {
  TaskGraph graph = small_graph();
  graph.edges.pop_back();
  CHECK(unroll(graph, 1) == graph);
  CHECK_THROWS_AS(unroll(graph, 0), InternalError);
}

TEST_CASE("equal graphs have equal hashes, names and nodes do not count, everything else does") {
  const TaskGraph graph = small_graph();
  CHECK(hash(graph) == hash(small_graph()));
  TaskGraph renamed = graph;
  renamed.processors[0].name = "z.9";
  renamed.processors[0].node = 9;
  CHECK(hash(renamed) == hash(graph));
  TaskGraph negative_zero = graph;
  negative_zero.tasks[0].release = Seconds(-0.0);
  CHECK(negative_zero == graph);
  CHECK(hash(negative_zero) == hash(graph));

  using Change = std::function<void(TaskGraph&)>;
  const std::vector<Change> changes{
      [](TaskGraph& g) { g.processors[0].model = "x"; },
      [](TaskGraph& g) { g.processors[0].memory = 1_GB; },
      [](TaskGraph& g) { g.processors[1].devices = 3; },
      [](TaskGraph& g) { g.streams[0].processor = ProcessorId{1}; },
      [](TaskGraph& g) { g.streams[0].name = "x"; },
      [](TaskGraph& g) { g.streams[0].discipline = Discipline::priority; },
      [](TaskGraph& g) { g.channels[0].capacity = 1_GBps; },
      [](TaskGraph& g) { g.paths[0].channels[0].second = 1; },
      [](TaskGraph& g) { g.paths[0].limit = 1_GBps; },
      [](TaskGraph& g) { g.paths[0].latency = 1_us; },
      [](TaskGraph& g) { g.tasks[0].label.layer = 1; },
      [](TaskGraph& g) { g.tasks[0].label.parts.push_back({}); },
      [](TaskGraph& g) { g.tasks[0].slots[0].compute_share = 0.5; },
      [](TaskGraph& g) { g.tasks[0].phases[0].delay = 2_us; },
      [](TaskGraph& g) { g.tasks[0].phases[0].kernel->alone = 2_ms; },
      [](TaskGraph& g) { g.tasks[0].phases[0].kernel->shape.k = 1; },
      [](TaskGraph& g) { g.tasks[0].phases[0].kernel.reset(); },
      [](TaskGraph& g) { g.tasks[1].phases[0].flows[0].bytes = 2_GB; },
      [](TaskGraph& g) { g.tasks[1].memory[0].peak_inside = 2_GB; },
      [](TaskGraph& g) { g.tasks[2].priority = 0; },
      [](TaskGraph& g) { g.tasks[2].release = 0_s; },
      [](TaskGraph& g) { g.edges[2].distance = 2; },
      [](TaskGraph& g) { g.residents[0].kind = MemoryClass::optimizer; },
      [](TaskGraph& g) { g.period = 2; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    TaskGraph changed = graph;
    changes[i](changed);
    CHECK(hash(changed) != hash(graph));
  }
}

TEST_CASE("a graph as text") {
  CHECK(to_text(small_graph()) ==
        "0 forward pipeline 0 stage 1 micro-batch 2 on a.0.compute[1] after 2 of 1 back: delay 1e-06 s, gemm 0.003 s\n"
        "1 pipeline on a.0.compute, b.0.compute[0.125] after 0: 1000000000 B over path 0; buffers on b.0 +1000000000 B at start, "
        "-1000000000 B at end, peak 1000000000 B\n"
        "2 backward on b.0.compute[1] after 1 from 2 s priority 4: gemm 0.003 s\n");
  CHECK(describe(small_graph(), TaskId{0}) == "task 0 (forward pipeline 0 stage 1 micro-batch 2)");
}
