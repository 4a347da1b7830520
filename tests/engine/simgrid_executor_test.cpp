// The executor against closed forms. One run a test case: SimGrid allows one engine a process.
#include "sim/engine/simgrid_executor.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/units/error.hpp"
#include "tests/engine/graphs.hpp"

using namespace trainyard;

namespace {

Timeline run(const TaskGraph& graph, const EventTrace& events = {}) {
  RunOn run_on;
  return SimGridExecutor().run(graph, events, run_on);
}

auto about(double seconds) { return Approx(seconds).epsilon(1e-9).margin(0); }

std::string error_of(const TaskGraph& graph, const EventTrace& events = {}) {
  try {
    (void)run(graph, events);
  } catch (const InternalError& error) {
    const std::string text = error.what();
    return text.substr(0, text.rfind(" ("));
  }
  return "no error";
}

/// A gpu with a stream each for computing and, in arrival order, for n flows.
struct Gpu {
  GraphBuilder b;
  ProcessorId gpu = b.processor();
  StreamId compute = b.stream(gpu);
  StreamId lane(Discipline discipline = Discipline::program_order) { return b.stream(gpu, "lane", discipline); }
};

}  // namespace

TEST_CASE("a ring all-reduce as one flow over all its edges takes alpha + 2(n-1)/n bytes / bandwidth") {
  Gpu g;
  std::vector<std::pair<ChannelId, int>> edges;
  for (int i = 0; i < 8; ++i) edges.emplace_back(g.b.channel(25_GBps), 1);
  const PathId ring = g.b.path(edges, Seconds(14 * 5e-6));
  g.b.flow(g.lane(), ring, Bytes(1.75e9));
  CHECK(run(g.b.graph).end[0].value == about(70e-6 + 1.75e9 / 25e9));
}

TEST_CASE("flows share a link equally whatever their latencies") {
  Gpu g;
  const ChannelId link = g.b.channel(8_GBps);
  for (double latency : {0.0, 1e-6, 1e-3, 0.5}) g.b.flow(g.lane(), g.b.path({{link, 1}}, Seconds(latency)), 1_GB);
  const Timeline line = run(g.b.graph);
  // a runs alone for 1 us, a and b run for 999 us, then a, b and c.
  const double a_done = 1e-6 * 8e9 + (1e-3 - 1e-6) * 4e9, b_done = (1e-3 - 1e-6) * 4e9;
  const double a_end = 1e-3 + (1e9 - a_done) / (8e9 / 3);
  const double b_end = a_end + (1e9 - b_done - (1e9 - a_done)) / 4e9;
  CHECK(line.end[0].value == about(a_end));
  CHECK(line.end[1].value == about(b_end));
  CHECK(line.end[2].value == about(b_end + (1e9 - (1e9 - a_done) - (b_end - a_end) * 4e9) / 8e9));
  CHECK(line.end[3].value == about(0.5 + 1e9 / 8e9));
}

TEST_CASE("500 flows into one link end together") {
  Gpu g;
  const ChannelId link = g.b.channel(25_GBps);
  for (int i = 0; i < 500; ++i) g.b.flow(g.lane(), g.b.path({{link, 1}}), Bytes(25e6));
  const Timeline line = run(g.b.graph);
  for (Seconds end : line.end) CHECK(end.value == about(0.5));
}

TEST_CASE("a flow of multiplicity m takes m times its rate of the link") {
  Gpu g;
  const ChannelId link = g.b.channel(10_GBps);
  g.b.flow(g.lane(), g.b.path({{link, 4}}), 1_GB);
  g.b.flow(g.lane(), g.b.path({{link, 1}}), 1_GB);
  const Timeline line = run(g.b.graph);
  CHECK(line.end[0].value == about(0.5));  // rates are equal, 2 GB/s, and use 8 + 2
  CHECK(line.end[1].value == about(0.5));
}

TEST_CASE("max-min over two bottlenecks") {
  Gpu g;
  const ChannelId narrow = g.b.channel(2_GBps), wide = g.b.channel(10_GBps);
  g.b.flow(g.lane(), g.b.path({{narrow, 1}, {wide, 1}}), 1_GB);  // 1 GB/s
  g.b.flow(g.lane(), g.b.path({{narrow, 1}}), 1_GB);             // 1 GB/s
  g.b.flow(g.lane(), g.b.path({{wide, 1}}), 9_GB);               // the other 9 GB/s
  const Timeline line = run(g.b.graph);
  for (Seconds end : line.end) CHECK(end.value == about(1.0));
}

TEST_CASE("the limit of a path bounds each of its flows by itself") {
  Gpu g;
  const PathId path = g.b.path({{g.b.channel(10_GBps), 1}}, {}, 2_GBps);
  g.b.flow(g.lane(), path, 1_GB);
  g.b.flow(g.lane(), path, 1_GB);
  const PathId free_of_channels = g.b.path({}, 1_ms, 2_GBps);
  g.b.flow(g.lane(), free_of_channels, 1_GB);
  const Timeline line = run(g.b.graph);
  CHECK(line.end[0].value == about(0.5));
  CHECK(line.end[1].value == about(0.5));
  CHECK(line.end[2].value == about(0.501));
}

TEST_CASE("what has no amount takes no time, and latency passes without bytes") {
  Gpu g;
  const ChannelId link = g.b.channel(10_GBps);
  const StreamId lane = g.lane();
  g.b.flow(lane, g.b.path({{link, 1}}), 0_B);
  g.b.flow(lane, g.b.path({{link, 1}}, 3_us), 0_B);
  g.b.task({{lane, 0}}, {});
  g.b.kernel(g.compute, 0_s);
  g.b.task({}, {{.delay = 7_us, .kernel = {}, .flows = {}}});
  const Timeline line = run(g.b.graph);
  CHECK(line.end[0].value == 0);
  CHECK(line.end[1].value == 3e-6);
  CHECK(line.end[2].value == 3e-6);
  CHECK(line.end[3].value == 0);
  CHECK(line.end[4].value == 7e-6);
}

TEST_CASE("gpipe of equal stages takes (m + p - 1) kernels") {
  GraphBuilder b;
  constexpr int kStages = 4, kMicroBatches = 8;
  std::vector<StreamId> streams;
  for (int s = 0; s < kStages; ++s) streams.push_back(b.stream(b.processor()));
  std::vector<TaskId> before;
  for (int m = 0; m < kMicroBatches; ++m) {
    for (int s = 0; s < kStages; ++s) {
      const TaskId task = b.kernel(streams[static_cast<std::size_t>(s)], 3_ms);
      if (s > 0) b.edge(before.back(), task);
      before.push_back(task);
    }
  }
  CHECK(run(b.graph).makespan.value == about(3e-3 * (kMicroBatches + kStages - 1)));
}

TEST_CASE("program order waits for an earlier task even if a later one is ready") {
  Gpu g;
  const TaskId other = g.b.kernel(g.lane(), 2_s, 0);
  const TaskId first = g.b.kernel(g.compute, 1_s), second = g.b.kernel(g.compute, 1_s);
  g.b.edge(other, first);
  const Timeline line = run(g.b.graph);
  CHECK(line.start[index(first)].value == about(2));
  CHECK(line.start[index(second)].value == about(3));
}

TEST_CASE("arrival takes who is ready first, ties by id, and priority the highest") {
  Gpu g;
  const StreamId arrival = g.lane(Discipline::arrival), priority = g.lane(Discipline::priority);
  std::vector<TaskId> a, p;
  for (int i = 0; i < 4; ++i) {
    a.push_back(g.b.kernel(arrival, 1_s, 0));
    p.push_back(g.b.kernel(priority, 1_s, 0));
    g.b[p.back()].priority = i;
  }
  g.b[a[1]].release = Seconds(0.75);
  g.b[a[2]].release = Seconds(0.25);
  g.b[p[3]].release = Seconds(0.5);
  const Timeline line = run(g.b.graph);
  const auto start = [&](TaskId task) { return line.start[index(task)].value; };
  CHECK(start(a[0]) == 0);
  CHECK(start(a[3]) == about(1));
  CHECK(start(a[2]) == about(2));
  CHECK(start(a[1]) == about(3));
  CHECK(start(p[2]) == 0);
  CHECK(start(p[3]) == about(1));
  CHECK(start(p[1]) == about(2));
  CHECK(start(p[0]) == about(3));
}

TEST_CASE("a task of several streams starts when all are free, others pass it meanwhile") {
  Gpu g;
  const StreamId one = g.lane(Discipline::arrival), two = g.lane(Discipline::arrival);
  g.b.kernel(one, 2_s, 0);
  const TaskId both = g.b.task({{one, 0}, {two, 0}}, {GraphBuilder::work(1_s)});
  const TaskId passes = g.b.kernel(two, 1_s, 0);
  const Timeline line = run(g.b.graph);
  CHECK(line.start[index(passes)].value == 0);
  CHECK(line.start[index(both)].value == about(2));
}

TEST_CASE("nothing starts before its release, also on an idle stream") {
  Gpu g;
  const TaskId task = g.b.kernel(g.compute, 1_s);
  g.b[task].release = 5_s;
  CHECK(run(g.b.graph).end[0].value == about(6));
}

TEST_CASE("a collective slows the kernels beside it by its share, while its flow runs") {
  Gpu g;
  const PathId path = g.b.path({{g.b.channel(10_GBps), 1}});
  g.b.kernel(g.compute, 2_s);
  g.b.flow(g.lane(), path, 10_GB, 0.2);
  const Timeline line = run(g.b.graph);
  CHECK(line.end[1].value == about(1));
  CHECK(line.end[0].value == about(1 + 1.2));  // 0.8 s of work in the first second
}

TEST_CASE("two kernels on one processor halve each other, smaller shares that fit do not") {
  Gpu g;
  const ProcessorId other = g.b.processor();
  g.b.kernel(g.compute, 1_s);
  g.b.kernel(g.lane(), 2_s);
  g.b.kernel(g.b.stream(other), 1_s, 0.5);
  g.b.kernel(g.b.stream(other), 1_s, 0.3);
  const Timeline line = run(g.b.graph);
  CHECK(line.end[0].value == about(2));
  CHECK(line.end[1].value == about(3));
  CHECK(line.end[2].value == about(1));
  CHECK(line.end[3].value == about(1));
}

TEST_CASE("kernels last what they should over a long run") {
  Gpu g;
  for (int i = 0; i < 10000; ++i) g.b.kernel(g.compute, Seconds(1e-6 * (1 + i % 7)));
  const Timeline line = run(g.b.graph);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) sum += 1e-6 * (1 + i % 7);
  CHECK(line.makespan.value == about(sum));
}

TEST_CASE("losing a processor loses what runs on it and all that waits for it") {
  Gpu g;
  const ProcessorId second = g.b.processor("second");
  const StreamId other = g.b.stream(second), port = g.b.stream(second, "port");
  const PathId path = g.b.path({{g.b.channel(1_GBps), 1}});
  const TaskId before = g.b.kernel(other, 1_s), running = g.b.kernel(other, 2_s), after = g.b.kernel(other, 1_s);
  const TaskId transfer = g.b.task({{port, 0}, {g.lane(), 0}}, {{.delay = {}, .kernel = {}, .flows = {{path, 9_GB}}}});
  const TaskId survivor = g.b.flow(g.lane(), path, 3_GB), successor = g.b.kernel(g.compute, 1_s);
  g.b.edge(running, successor);
  const Timeline line = run(g.b.graph, {{2_s, ProcessorLost{second}}});
  const auto status = [&](TaskId task) { return line.status[index(task)]; };
  CHECK(status(before) == TaskStatus::done);
  CHECK(status(running) == TaskStatus::lost);
  CHECK(std::isnan(line.end[index(running)].value));
  CHECK(status(after) == TaskStatus::never_started);
  CHECK(status(transfer) == TaskStatus::lost);
  CHECK(status(successor) == TaskStatus::never_started);
  CHECK(line.end[index(survivor)].value == about(4));  // 1 GB in two seconds, then alone
  CHECK_FALSE(line.stopped_early);
}

TEST_CASE("a task that ends in the very instant of the loss is done") {
  Gpu g;
  g.b.kernel(g.compute, 1_s);
  g.b.kernel(g.compute, 1_s);
  const Timeline line = run(g.b.graph, {{1_s, ProcessorLost{g.gpu}}});
  CHECK(line.status[0] == TaskStatus::done);
  CHECK(line.status[1] == TaskStatus::never_started);
}

TEST_CASE("a capacity that changes changes the rates of flows in flight, both ways") {
  Gpu g;
  const ChannelId link = g.b.channel(2_GBps);
  g.b.flow(g.lane(), g.b.path({{link, 1}}), 10_GB);
  const Timeline line = run(g.b.graph, {{1_s, CapacityChanged{link, 5_GBps}}, {2_s, CapacityChanged{link, 1_GBps}}});
  CHECK(line.end[0].value == about(2 + 3));
}

namespace {
struct Recorder final : Controller {
  std::vector<std::pair<double, std::size_t>> calls;
  AfterEvents on_events(Seconds now, std::span<const Event> events) noexcept override {
    calls.emplace_back(now.value, events.size());
    return AfterEvents::go_on;
  }
};
}  // namespace

TEST_CASE("the controller is told once an instant, and nothing after the last end") {
  Gpu g;
  const ChannelId link = g.b.channel(2_GBps);
  g.b.kernel(g.compute, 2_s);
  const CapacityChanged same{link, 2_GBps};
  Recorder recorder;
  (void)SimGridExecutor().run(g.b.graph, {{0_s, same}, {1_s, same}, {1_s, same}, {3_s, same}}, recorder);
  CHECK(recorder.calls == std::vector<std::pair<double, std::size_t>>{{0.0, 1}, {1.0, 2}});
}

TEST_CASE("the controller's stop cuts everything off") {
  Gpu g;
  const ProcessorId second = g.b.processor("second");
  g.b.kernel(g.b.stream(second), 9_s);
  g.b.kernel(g.compute, 1_s);
  g.b.kernel(g.compute, 5_s);
  g.b.kernel(g.compute, 5_s);
  StopAtLoss stop;
  const Timeline line = SimGridExecutor().run(g.b.graph, {{2_s, ProcessorLost{second}}}, stop);
  CHECK(line.stopped_early);
  CHECK(line.makespan.value == about(1));
  CHECK(line.status == std::vector{TaskStatus::lost, TaskStatus::done, TaskStatus::lost, TaskStatus::never_started});
}

TEST_CASE("edges against program order: the error names the circle") {
  Gpu g;
  const TaskId first = g.b.kernel(g.compute, 1_s), second = g.b.kernel(g.compute, 1_s);
  g.b.edge(second, first);
  CHECK(error_of(g.b.graph) ==
        "the simulation came to a halt with 2 of 2 tasks not ended: task 0 (other) waits for task 1 (other) waits for task 0 "
        "(other) (before it on stream \"compute\" of gpu)");
}

TEST_CASE("what cannot run is refused before SimGrid sees it") {
  Gpu g;
  const TaskId task = g.b.kernel(g.compute, 1_s);
  SECTION("a bad graph") {
    g.b[task].release = Seconds(-1);
    CHECK(error_of(g.b.graph) == "a task graph with 1 problems, first: task 0 (other): release is -1");
  }
  SECTION("loop-carried edges") {
    g.b.graph.edges.push_back({task, task, 1});
    CHECK(error_of(g.b.graph) == "a task graph with loop-carried edges must be unrolled before it runs");
  }
  SECTION("events out of order") {
    CHECK(error_of(g.b.graph, {{2_s, ProcessorLost{g.gpu}}, {1_s, ProcessorLost{g.gpu}}}) == "event 1 at 1 s is out of order");
  }
  SECTION("events on what does not exist") {
    CHECK(error_of(g.b.graph, {{2_s, CapacityChanged{ChannelId{3}, 1_GBps}}}) ==
          "event 0 names what does not exist or a capacity that cannot be");
  }
}

TEST_CASE("a flow over a dead link waits until the link has capacity again") {
  Gpu g;
  const ChannelId link = g.b.channel(2_GBps);
  g.b.flow(g.lane(), g.b.path({{link, 1}}), 4_GB);
  const Timeline line = run(g.b.graph, {{1_s, CapacityChanged{link, {}}}, {5_s, CapacityChanged{link, 1_GBps}}});
  CHECK(line.end[0].value == about(5 + 2));
  CHECK(line.halt.empty());
}

TEST_CASE("a dead link: the halt names the communication, the link, and who waits, while flows beside it go on") {
  Gpu g;
  const StreamId peer = g.b.stream(g.b.processor("peer"), "data");
  const ChannelId dead = g.b.channel(2_GBps), alive = g.b.channel(2_GBps);
  g.b.graph.channels[0].name = "gpu.nic>leaf";
  const TaskId exchange = g.b.task({{g.lane(), 0}, {peer, 0}}, {{.delay = {}, .kernel = {}, .flows = {{g.b.path({{dead, 1}, {alive, 1}}), 4_GB}}}});
  const TaskId beside = g.b.flow(g.lane(), g.b.path({{alive, 1}}), 4_GB), after = g.b.kernel(g.compute, 1_s);
  g.b[exchange].label.kind = TaskKind::data;
  g.b[after].label.kind = TaskKind::optimizer;
  g.b.edge(exchange, after);
  const Timeline line = run(g.b.graph, {{1_s, CapacityChanged{dead, {}}}});
  CHECK(line.status == std::vector{TaskStatus::lost, TaskStatus::done, TaskStatus::never_started});
  CHECK(line.end[index(beside)].value == about(1 + 3.0 / 2));  // 1 GB in the first second, then all of the link
  CHECK(line.halt ==
        "task 0 (data) of gpu and peer cannot end: link gpu.nic>leaf is dead since 1 s; task 2 (optimizer) of gpu waits for it; "
        "2 of 3 tasks did not end");
}

TEST_CASE("a dead peer: the halt names the collective that it is missing in") {
  Gpu g;
  const ProcessorId second = g.b.processor("second");
  const StreamId computing = g.b.stream(second), peer = g.b.stream(second, "data");
  const TaskId mine = g.b.kernel(g.compute, 1_s), theirs = g.b.kernel(computing, 3_s);
  const TaskId exchange = g.b.task({{g.lane(), 0}, {peer, 0}}, {{.delay = {}, .kernel = {}, .flows = {{g.b.path({{g.b.channel(1_GBps), 1}}), 1_GB}}}});
  const TaskId after = g.b.kernel(g.compute, 1_s);
  g.b[exchange].label.kind = TaskKind::data;
  g.b.edge(mine, exchange);
  g.b.edge(theirs, exchange);
  g.b.edge(exchange, after);
  const Timeline line = run(g.b.graph, {{2_s, ProcessorLost{second}}});
  CHECK(line.halt ==
        "task 2 (data) of gpu and second cannot start: second is gone since 2 s; task 3 (other) of gpu waits for it; 3 of 4 tasks did "
        "not end");
}

TEST_CASE("messages that cross: the error names who waits for whom, on which stream") {
  GraphBuilder b;
  const StreamId left = b.stream(b.processor("left"), "link"), right = b.stream(b.processor("right"), "link");
  const PathId path = b.path({{b.channel(1_GBps), 1}});
  // Each sends before it receives, on one stream: neither can receive.
  const auto half = [&](StreamId on, TaskKind kind) {
    const TaskId task = b.flow(on, path, 1_GB);
    b[task].label.kind = kind;
    return task;
  };
  const TaskId left_receives = half(left, TaskKind::data), left_sends = half(left, TaskKind::pipeline);
  const TaskId right_receives = half(right, TaskKind::data), right_sends = half(right, TaskKind::pipeline);
  b.edge(left_sends, right_receives);
  b.edge(right_sends, left_receives);
  CHECK(error_of(b.graph) ==
        "the simulation came to a halt with 4 of 4 tasks not ended: task 0 (data) waits for task 3 (pipeline) waits for task 2 (data) "
        "(before it on stream \"link\" of right) waits for task 1 (pipeline) waits for task 0 (data) (before it on stream \"link\" of left)");
}

TEST_CASE("a kernel bounds the flows of its device to a share of their limit while it runs") {
  Gpu g;
  g.b.graph.processors[0].interference = {{OperatorClass::memory_bound, 0.25}};
  const auto kernel = [&](Seconds alone, OperatorClass kind) {
    const TaskId task = g.b.kernel(g.compute, alone);
    g.b[task].phases[0].kernel->kind = kind;
  };
  kernel(1_s, OperatorClass::memory_bound);
  kernel(1_s, OperatorClass::gemm);
  const PathId shared = g.b.path({{g.b.channel(8_GBps), 1}}, {}, 4_GBps), own = g.b.path({}, {}, 4_GBps);
  g.b.flow(g.lane(), shared, 9_GB);
  g.b.flow(g.lane(), own, 9_GB);
  const Timeline line = run(g.b.graph);
  CHECK(line.end[2].value == about(1 + 2));  // 1 GB beside the first kernel, 4 GB/s after
  CHECK(line.end[3].value == about(1 + 2));
}
