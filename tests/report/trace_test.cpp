#include "sim/report/trace.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

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
  CHECK(names[5]["pid"] == 3);
}

TEST_CASE("tasks that did not run are left out") {
  CaseResult result = traced("a");
  result.trace->timeline.end[1] = Seconds(std::numeric_limits<double>::quiet_NaN());
  CHECK(events(to_trace({result}), "X").size() == 1);
}

TEST_CASE("without any trace the document is empty and valid") {
  CHECK(Json::parse(to_trace({failed("a", "x")}))["traceEvents"].empty());
}
