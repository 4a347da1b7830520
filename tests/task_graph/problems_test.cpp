#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "sim/model/task_graph.hpp"
#include "tests/task_graph/small_graph.hpp"

using namespace trainyard;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("a sound graph has no problems, an empty one neither") {
  CHECK(problems(small_graph()).empty());
  CHECK(problems(TaskGraph{}).empty());
}

TEST_CASE("every problem is named") {
  struct Case {
    std::function<void(TaskGraph&)> spoil;
    std::string text;
  };
  const std::string first = "task 0 (forward pipeline 0 stage 1 micro-batch 2): ";
  const std::vector<Case> cases{
      {[](TaskGraph& g) { g.processors[0].memory = Bytes(-1); }, "processor 0 (a.0): memory is -1"},
      {[](TaskGraph& g) { g.processors[1].devices = 0; }, "processor 1 (b.0): stands for 0 devices"},
      {[](TaskGraph& g) { g.streams[1].processor = ProcessorId{2}; }, "stream 1 (compute): there is no processor 2 (of 2)"},
      {[](TaskGraph& g) { g.streams[1].processor = ProcessorId{-1}; }, "stream 1 (compute): there is no processor -1 (of 2)"},
      {[](TaskGraph& g) { g.channels[0].capacity = BytesPerSecond(0); }, "channel 0 (up): capacity is 0"},
      {[](TaskGraph& g) { g.channels[0].capacity = BytesPerSecond(kInfinity); }, "channel 0 (up): capacity is inf"},
      {[](TaskGraph& g) { g.paths[0].limit = BytesPerSecond(kNaN); }, "path 0: limit is nan"},
      {[](TaskGraph& g) { g.paths[0].latency = Seconds(-1); }, "path 0: latency is -1"},
      {[](TaskGraph& g) { g.paths[0].channels[0].first = ChannelId{5}; }, "path 0: there is no channel 5 (of 1)"},
      {[](TaskGraph& g) { g.paths[0].channels[0].second = 0; }, "path 0: multiplicity of channel 0 is 0"},
      {[=](TaskGraph& g) { g.tasks[0].release = Seconds(kNaN); }, first + "release is nan"},
      {[=](TaskGraph& g) { g.tasks[0].slots[0].stream = StreamId{9}; }, first + "there is no stream 9 (of 2)"},
      {[=](TaskGraph& g) { g.tasks[0].slots.push_back(g.tasks[0].slots[0]); }, first + "holds stream 0 twice"},
      {[=](TaskGraph& g) { g.tasks[0].slots[0].compute_share = 1.5; }, first + "compute share on stream 0 is 1.5"},
      {[=](TaskGraph& g) { g.tasks[0].phases[0].delay = Seconds(-2); }, first + "delay is -2"},
      {[=](TaskGraph& g) { g.tasks[0].phases[0].kernel->alone = Seconds(kInfinity); }, first + "kernel time is inf"},
      {[=](TaskGraph& g) { g.tasks[0].phases[0].kernel->flops = Flops(-1); }, first + "kernel FLOPs is -1"},
      {[](TaskGraph& g) { g.tasks[1].phases[0].flows[0].path = PathId{1}; }, "task 1 (pipeline): there is no path 1 (of 1)"},
      {[](TaskGraph& g) { g.tasks[1].phases[0].flows[0].bytes = Bytes(-1); }, "task 1 (pipeline): bytes of a flow is -1"},
      {[](TaskGraph& g) { g.tasks[1].phases[0].flows[0].bytes = Bytes(1e19); },
       "task 1 (pipeline): a flow of 1e+19 bytes is more than 2^53"},
      {[](TaskGraph& g) { g.tasks[1].memory[0].at_end = Bytes(kNaN); }, "task 1 (pipeline): memory of class buffers is nan"},
      {[](TaskGraph& g) { g.tasks[1].memory[0].processor = ProcessorId{4}; }, "task 1 (pipeline): there is no processor 4 (of 2)"},
      {[](TaskGraph& g) { g.edges[0].to = TaskId{3}; }, "edge 0: there is no task 3 (of 3)"},
      {[](TaskGraph& g) { g.edges[1].distance = -1; }, "edge 1: distance is -1"},
      {[](TaskGraph& g) { g.residents[0].bytes = Bytes(-4); }, "resident 0: bytes is -4"},
      {[](TaskGraph& g) { g.period = 0; }, "the period is 0, not at least 1"},
      {[](TaskGraph& g) { g.edges[2].distance = 0; },
       "a cycle: task 0 (forward pipeline 0 stage 1 micro-batch 2) waits for task 2 (backward) waits for task 1 (pipeline) waits "
       "for task 0 (forward pipeline 0 stage 1 micro-batch 2)"},
      {[](TaskGraph& g) { g.edges = {{TaskId{1}, TaskId{1}, 0}}; }, "a cycle: task 1 (pipeline) waits for task 1 (pipeline)"},
      {[](TaskGraph& g) { g.edges = {{TaskId{1}, TaskId{2}, 0}, {TaskId{2}, TaskId{1}, 0}, {TaskId{1}, TaskId{0}, 0}}; },
       "a cycle: task 1 (pipeline) waits for task 2 (backward) waits for task 1 (pipeline)"},
  };
  for (const Case& one : cases) {
    TaskGraph graph = small_graph();
    one.spoil(graph);
    CHECK(problems(graph) == std::vector<std::string>{one.text});
  }
}

TEST_CASE("all problems of a graph are shown") {
  TaskGraph graph = small_graph();
  graph.period = 0;
  graph.tasks[0].release = Seconds(-1);
  CHECK(problems(graph).size() == 2);
}
