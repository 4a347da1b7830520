#include "sim/report/trace.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/report/course.hpp"
#include "tests/report/made_up.hpp"

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// Two devices on two nodes; a forward pass of 1 s on the first, then a transfer that holds a stream on each.
StepTrace two_tasks() {
  StepTrace trace;
  TaskGraph& graph = trace.graph;
  graph.processors = {{"f.0.0", "Fast", 0, 16_GB, 1}, {"f.1.0", "Fast", 1, 16_GB, 3}};
  graph.streams = {{id_at<ProcessorId>(0), "compute"},
                   {id_at<ProcessorId>(0), "pipeline_send"},
                   {id_at<ProcessorId>(1), "pipeline_receive"}};
  graph.residents = {{id_at<ProcessorId>(0), MemoryClass::weights, 2_GB}};
  Task forward;
  forward.label.kind = TaskKind::forward;
  forward.label.stage = 0;
  forward.label.micro_batch = 3;
  forward.slots = {{id_at<StreamId>(0), 1}};
  forward.memory = {{id_at<ProcessorId>(0), MemoryClass::activations, 1_GB, -Bytes(5e8), 3_GB}};
  Task transfer;
  transfer.label.kind = TaskKind::pipeline;
  transfer.slots = {{id_at<StreamId>(1), 0}, {id_at<StreamId>(2), 0}};
  graph.tasks = {forward, transfer};
  trace.timeline.start = {Seconds{}, 1_s};
  trace.timeline.end = {1_s, Seconds(1.5)};
  return trace;
}

/// A forward pass on each device with a transfer of 4 GB between, over a link of 16 GB/s, which holds a stream at both
/// ends for 0.5 s.
StepTrace two_stages() {
  StepTrace trace = two_tasks();
  TaskGraph& graph = trace.graph;
  graph.channels = {{"f.0.0>f.1.0", BytesPerSecond(16e9)}};
  graph.paths = {{{{id_at<ChannelId>(0), 1}}, {}, {}}};
  graph.tasks[1].phases = {{{}, std::nullopt, {{id_at<PathId>(0), 4_GB}}}};
  graph.streams.push_back({id_at<ProcessorId>(1), "compute"});
  Task next;
  next.label.kind = TaskKind::forward;
  next.slots = {{id_at<StreamId>(3), 1}};
  graph.tasks.push_back(next);
  graph.edges = {{id_at<TaskId>(0), id_at<TaskId>(1)}, {id_at<TaskId>(1), id_at<TaskId>(2)}};
  trace.timeline.start.push_back(Seconds(1.75));
  trace.timeline.end.push_back(2_s);
  return trace;
}

CaseResult traced(const std::string& strategy) {
  CaseResult result = ran(strategy, 2_s, 600_TFLOPS, {});
  result.trace = two_tasks();
  return result;
}

std::vector<Json> events(const std::string& text, const std::string& phase) {
  std::vector<Json> found;
  const Json document = Json::parse(text);
  for (const Json& event : document["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}

}  // namespace

TEST_CASE("a task is a complete event on each stream that it holds") {
  const auto tasks = events(to_trace({traced("a")}), "X");
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0]["name"] == "forward 3 of stage 0");
  CHECK(tasks[0]["ts"] == 0.0);
  CHECK(tasks[0]["dur"] == 1e6);
  CHECK(tasks[0]["args"]["micro_batch"] == 3);
  CHECK_FALSE(tasks[0]["args"].contains("chunk"));
  CHECK(tasks[1]["ts"] == 1e6);
  CHECK(tasks[1]["dur"] == 5e5);
  CHECK(tasks[1]["pid"] == 1);
  CHECK(tasks[2]["pid"] == 2);
  CHECK(tasks[2]["tid"] == 3);
}

TEST_CASE("nodes are processes and streams are threads, with names") {
  const auto names = events(to_trace({traced("a")}), "M");
  REQUIRE(names.size() == 5);
  CHECK(names[0]["args"]["name"] == "node 0");
  CHECK(names[2]["args"]["name"] == "f.0.0 compute");
  CHECK(names[4]["args"]["name"] == "f.1.0 (stands for 3) pipeline_receive");
}

TEST_CASE("held bytes are a counter that shows the highest inside a task") {
  const auto counters = events(to_trace({traced("a")}), "C");
  REQUIRE(counters.size() == 2);
  CHECK(counters[0]["ts"] == 0.0);
  CHECK(counters[0]["args"]["weights"] == 2e9);
  CHECK(counters[0]["args"]["activations"] == 3e9);
  CHECK(counters[1]["ts"] == 1e6);
  CHECK(counters[1]["args"]["activations"] == 5e8);
}

TEST_CASE("several results have processes of their own with the strategy's name") {
  const std::string text = to_trace({traced("a"), failed("b", "x"), traced("c")});
  const auto names = events(text, "M");
  REQUIRE(names.size() == 10);
  CHECK(names[0]["args"]["name"] == "a · node 0");
  CHECK(names[5]["args"]["name"] == "c · node 0");
  CHECK(names[5]["pid"] == 4);  // 3 would hold the links of the first
}

TEST_CASE("tasks that did not run are left out") {
  CaseResult result = traced("a");
  result.trace->timeline.end[1] = Seconds(std::numeric_limits<double>::quiet_NaN());
  CHECK(events(to_trace({result}), "X").size() == 1);
}

TEST_CASE("without any trace the document is empty and valid") {
  CHECK(Json::parse(to_trace({failed("a", "x")}))["traceEvents"].empty());
}

TEST_CASE("arrows lead from what made the bytes over both ends of the transfer to what needs them") {
  CaseResult result = traced("a");
  result.trace = two_stages();
  const std::string text = to_trace({result});
  const auto starts = events(text, "s"), steps = events(text, "t"), ends = events(text, "f");
  REQUIRE(starts.size() == 1);
  REQUIRE(steps.size() == 2);
  REQUIRE(ends.size() == 1);
  CHECK(starts[0]["tid"] == 1);
  CHECK(starts[0]["ts"] == 999999.999);
  CHECK(steps[0]["tid"] == 2);
  CHECK(steps[1]["tid"] == 3);
  CHECK(steps[1]["ts"] == 1e6);
  CHECK(ends[0]["tid"] == 4);
  CHECK(ends[0]["pid"] == 2);
  CHECK(ends[0]["ts"] == 1.75e6);
  CHECK(ends[0]["id"] == starts[0]["id"]);
}

TEST_CASE("a link's load is a counter of the links' own process") {
  CaseResult result = traced("a");
  result.trace = two_stages();
  const std::string text = to_trace({result});
  std::vector<Json> loads;
  for (const Json& event : events(text, "C"))
    if (event["name"] == "load on f.0.0>f.1.0") loads.push_back(event);
  REQUIRE(loads.size() == 2);
  CHECK(loads[0]["ts"] == 1e6);
  CHECK(loads[0]["args"]["bytes_per_s"] == 8e9);  // 4 GB in 0.5 s
  CHECK(loads[0]["pid"] == 3);
  CHECK(loads[1]["ts"] == 1.5e6);
  CHECK(loads[1]["args"]["bytes_per_s"] == 0.0);
}

TEST_CASE("events stand in order of time, and what follows on a thread starts where the last one ended") {
  CaseResult result = traced("a");
  result.trace = two_stages();
  StepTrace& trace = *result.trace;
  trace.timeline.end[0] = Seconds(0.1) + Seconds(0.2);  // 0.30000000000000004
  trace.timeline.start[1] = Seconds(0.3);
  double last = 0;
  const Json document = Json::parse(to_trace({result, result}));
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "M") continue;
    CHECK(event["ts"] >= last);
    last = event["ts"];
  }
  const auto tasks = events(to_trace({result}), "X");
  CHECK(tasks[0]["dur"] == 3e5);
  CHECK(tasks[1]["ts"] == 3e5);
}

TEST_CASE("names that hold quotes, tags and line breaks stay inside their strings") {
  CaseResult result = traced("a");
  const std::string name = "<script>\"'\n\\" + std::string(10000, 'x');
  result.trace->graph.processors[0].name = name;
  CHECK(events(to_trace({result}), "M")[2]["args"]["name"] == name + " compute");
}

TEST_CASE("mean load and busy share of a link over a window") {
  const LinkLoad link{"l", BytesPerSecond(10.0), "", {{1_s, 5}, {2_s, 0}, {3_s, 10}, {4_s, 0}}};
  const LinkUse use = use_of(link, Seconds(1.5), Seconds(5.5));
  CHECK(use.load == Approx((0.5 * 5 + 10) / (10 * 4)));
  CHECK(use.busy == Approx(1.5 / 4));
}
