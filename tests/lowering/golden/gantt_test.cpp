// The renderer on a graph made by hand.
#include "tests/lowering/golden/gantt.hpp"

#include <catch2/catch.hpp>

#include "sim/units/error.hpp"

using namespace trainyard;
using namespace trainyard::golden;

namespace {

struct Drawn {
  TaskGraph graph;
  Timeline timeline;

  void add(TaskKind kind, int micro_batch, int stream, Seconds start, Seconds end) {
    Task task;
    task.label.kind = kind;
    task.label.micro_batch = micro_batch;
    task.slots = {{StreamId(stream), 1}};
    graph.tasks.push_back(task);
    timeline.start.push_back(start);
    timeline.end.push_back(end);
    timeline.status.push_back(TaskStatus::done);
    timeline.makespan = std::max(timeline.makespan, end);
  }
};

Drawn two_streams() {
  Drawn drawn;
  drawn.graph.processors = {{"n.0.0", "fast", 0, 16_GB, 2}};
  drawn.graph.streams = {{ProcessorId(0), "compute"}, {ProcessorId(0), "tensor"}, {ProcessorId(0), "data"}};
  drawn.add(TaskKind::forward, 0, 0, Seconds(0), 1.5_ms);
  drawn.add(TaskKind::data, -1, 2, 1.5_ms, 2_ms);
  drawn.add(TaskKind::backward, 11, 0, 2_ms, 3_ms);
  return drawn;
}

}  // namespace

TEST_CASE("a bar is its mark and dashes, an idle stream dots, a stream without work no row") {
  const Drawn drawn = two_streams();
  CHECK(gantt(drawn.graph, drawn.timeline) ==
        "one column: 0.5 ms\n"
        "                  0         5\n"
        "n.0.0 x2 compute  F0----..Bb--\n"
        "         data     ......A-....\n");
}

TEST_CASE("small letters are the second chunk") {
  Drawn drawn = two_streams();
  drawn.graph.tasks[2].label.chunk = 1;
  CHECK(gantt(drawn.graph, drawn.timeline).find("bb--") != std::string::npos);
}

TEST_CASE("two tasks at once on one stream have no picture") {
  Drawn drawn = two_streams();
  drawn.add(TaskKind::forward, 1, 0, 2.5_ms, 3_ms);
  CHECK_THROWS_AS(gantt(drawn.graph, drawn.timeline), InternalError);
}

TEST_CASE("times without a common divisor have no picture") {
  Drawn drawn = two_streams();
  drawn.add(TaskKind::forward, 1, 0, 3_ms, 3.0017_ms);
  CHECK_THROWS_AS(gantt(drawn.graph, drawn.timeline), InternalError);
}
