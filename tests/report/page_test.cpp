#include "sim/report/page/page.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/report/page/views.hpp"
#include "sim/report/ranking.hpp"
#include "tests/report/made_up.hpp"

using namespace trainyard;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostBytes = 3'000'000;

/// Two nodes of two GPUs on one leaf of the fabric, 10 GB/s each way; a switch inside each node.
Cluster wired_cluster() {
  Cluster cluster;
  cluster.fabric = "star";
  cluster.device_types = {DeviceType{}};
  cluster.device_types[0].name = "Fast";
  cluster.vertices = {"a.0.0", "a.0.1", "a.0.pcie0", "a.1.0", "a.1.1", "a.1.pcie0", "fabric.leaf0"};
  for (std::size_t n = 0; n < 2; ++n) {
    Node node;
    node.group = "a";
    for (std::size_t d = 0; d < 2; ++d) {
      Device device;
      device.node = id_at<NodeId>(n);
      device.vertex = id_at<VertexId>(3 * n + d);
      node.devices.push_back(id_at<DeviceId>(cluster.devices.size()));
      cluster.devices.push_back(device);
    }
    cluster.nodes.push_back(node);
  }
  const auto join = [&](std::size_t a, std::size_t b, double rate) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      cluster.links.push_back(
          {"", id_at<VertexId>(from), id_at<VertexId>(to), BytesPerSecond(rate), BytesPerSecond(rate), {}, {}});
  };
  for (const std::size_t first : {0, 3}) {
    join(first, first + 2, 30e9);
    join(first + 1, first + 2, 30e9);
    join(first + 2, 6, 10e9);
  }
  return cluster;
}

/// Two steps in which `tasks` kernels a millisecond long follow each other on one stream, forward and backward in turn.
StepTrace row_of_tasks(std::size_t tasks) {
  StepTrace trace;
  trace.graph.processors = {{"a.0.0", "Fast", 0, 16_GB, 4}};
  trace.graph.streams = {{id_at<ProcessorId>(0), "compute"}};
  trace.graph.residents = {{id_at<ProcessorId>(0), MemoryClass::weights, 4_GB}};
  for (std::size_t i = 0; i < 2 * tasks; ++i) {
    Task task;
    task.label.kind = i % 2 == 0 ? TaskKind::forward : TaskKind::backward;
    task.label.step = i < tasks ? 0 : 1;
    task.label.stage = 0;
    task.slots = {{id_at<StreamId>(0), 1}};
    trace.graph.tasks.push_back(task);
    trace.timeline.start.push_back(Seconds(1e-3 * double(i)));
    trace.timeline.end.push_back(Seconds(1e-3 * double(i + 1)));
  }
  return trace;
}

struct Made {
  Cluster cluster = wired_cluster();
  Workload workload = small_workload();
  TableBlock block{"small", "", "throughput", &cluster, &workload, Ranking::throughput, {}};
};

Json data_of(const std::string& page) {
  const std::string start = R"(id="data">)";
  const std::size_t from = page.find(start) + start.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::string page_of(const std::vector<TableBlock>& blocks, std::vector<PageSource> sources = {}) {
  return results_page(
      {blocks, std::move(sources), {"1.2.3", "0123456789abcdef"}, [](const std::string& json) { return "# " + json; }});
}

}  // namespace

TEST_CASE("a page holds its program, its charts and nothing that it would have to fetch") {
  Made made;
  made.block.results = {ran("a", 2_s, 600_TFLOPS, dollars_per_hour(36))};
  const std::string page = page_of({made.block});
  CHECK_THAT(page, Catch::StartsWith("<!DOCTYPE html>"));
  CHECK_THAT(page, Catch::Contains("Content-Security-Policy") && Catch::Contains("default-src 'none'"));
  for (const char* outside : {" src=", "<link", "@import", "sourceMappingURL", "@vega.js@", "@data@"}) {
    INFO(outside);
    CHECK(page.find(outside) == std::string::npos);
  }
}

TEST_CASE("rows stand in the ranking's order with their places, their Plan and the front of throughput and cost") {
  Made made;
  made.block.results = {ran("slow_dear", 4_s, 600_TFLOPS, dollars_per_hour(36)),
                        ran("fast", 2_s, 600_TFLOPS, dollars_per_hour(36)),
                        ran("slow_cheap", 4_s, 600_TFLOPS, dollars_per_hour(9)), did_not_fit("large")};
  mark_pareto_front(made.block);
  const Json block = data_of(page_of({made.block}))["blocks"][0];
  const Json& rows = block["rows"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["name"] == "fast");
  CHECK(rows[0]["record"]["pareto_front"] == true);
  CHECK(rows[0]["plan_yaml"] == "# {\"pipeline\": 2}");
  CHECK(rows[1]["name"] == "slow_dear");
  CHECK(rows[1]["record"]["pareto_front"] == false);
  CHECK(rows[2]["record"]["pareto_front"] == true);
  CHECK(rows[2]["cheapest"] == true);
  CHECK(rows[3]["record"]["reason"] == "does not fit: s.0.1 lacks 4 GB");
  CHECK(rows[0]["record"]["tokens_per_s"] == 5120.0);
  CHECK_FALSE(rows[0]["record"].contains("plan"));
}

TEST_CASE("whatever names hold, the page's data stays one script and reads back") {
  Made made;
  const std::string name = "</script><script>alert('1')</script>\n\"&amp;\\ \xC2\xA0 \xFF" + std::string(10'000, 'x');
  made.block.scenario = made.block.variant = name;
  made.block.results = {ran(name, 2_s, 600_TFLOPS, {})};
  made.block.results[0].plan_line = name;
  made.block.results[0].trace = row_of_tasks(3);
  made.block.results[0].trace->graph.processors[0].name = name;
  const std::string page = page_of({made.block}, {{name, name}});
  CHECK(page.find("<script>alert") == std::string::npos);
  const Json data = data_of(page);
  const std::string shown = data["blocks"][0]["rows"][0]["name"];
  CHECK(shown.starts_with("</script><script>alert('1')</script>\n\"&amp;\\ \xC2\xA0 \xEF\xBF\xBDx"));
  CHECK(data["sources"][0]["text"].get<std::string>().size() > 10'000);
  CHECK(page.size() < kMostBytes);
}

TEST_CASE("a page of many long steps stays below 3 MB and says which are left out") {
  Made made;
  const StepTrace trace = row_of_tasks(5000);
  for (int i = 0; i < 20; ++i) {
    made.block.results.push_back(ran("a" + std::to_string(i), 2_s, 600_TFLOPS, {}));
    made.block.results.back().trace = trace;
  }
  const std::string page = page_of({made.block});
  CHECK(page.size() < kMostBytes);
  const Json rows = data_of(page)["blocks"][0]["rows"];
  CHECK(rows[15]["step"].is_object());
  CHECK(rows[16]["step"].is_null());
  CHECK(rows[16]["step_left_out"] == true);
}

TEST_CASE("the last simulated step is shown, from its start, one span a task where there is room") {
  const Json view = step_view(row_of_tasks(4), {});
  CHECK(view["step"] == 2);
  CHECK(view["length_us"] == 4000);
  CHECK(view["tasks"] == 4);
  CHECK(view["joined_below_us"] == 0);
  CHECK(view["spans"]["start"] == Json({0, 1000, 2000, 3000}));
  CHECK(view["spans"]["length"] == Json({1000, 1000, 1000, 1000}));
  CHECK(view["rows"][0]["device"] == "a.0.0");
  CHECK(view["rows"][0]["stage"] == 0);
  CHECK(view["memory"]["shown"][0]["held_mb"].size() == PageBudget{}.points);
  CHECK(view["memory"]["shown"][0]["held_mb"][0] == 4000);
}

TEST_CASE("beyond the budget neighbours become one span: no task and no time is lost") {
  PageBudget budget;
  budget.spans = 100;
  const Json view = step_view(row_of_tasks(5000), budget);
  const Json& spans = view["spans"];
  CHECK(spans["row"].size() <= 100);
  CHECK(view["joined_below_us"].get<int>() >= 1000);
  std::int64_t tasks = 0, length = 0;
  for (const Json& one : spans["tasks"]) tasks += one.get<std::int64_t>();
  for (const Json& one : spans["length"]) length += one.get<std::int64_t>();
  CHECK(tasks == 5000);
  CHECK(length == 5'000'000);
}

TEST_CASE("equal nodes on the same switch are one box of the topology") {
  const Json drawing = topology_view(wired_cluster());
  REQUIRE(drawing["points"].size() == 2);
  CHECK(drawing["points"][0]["name"] == "a");
  CHECK(drawing["points"][0]["members"] == 2);
  CHECK(drawing["points"][0]["what"] == "2 × Fast");
  CHECK(drawing["points"][1]["name"] == "fabric.leaf0");
  CHECK(drawing["points"][1]["tier"] == 1);
  REQUIRE(drawing["lines"].size() == 1);
  CHECK(drawing["lines"][0]["rate"] == "10 GB/s");
  CHECK(drawing["left_out"] == 0);
}

TEST_CASE("a job's timeline is drawn as means over equal parts of the horizon, sums at their ends") {
  const Json timeline = {
      {{"at_s", 0.0}, {"nodes", 4}, {"nodes_used", 4}, {"tokens_per_s", 100.0}, {"tokens_trained", 0.0}, {"usd", 0.0}},
      {{"at_s", 5.0}, {"nodes", 2}, {"nodes_used", 0}, {"tokens_per_s", 0.0}, {"tokens_trained", 500.0}, {"usd", 6.0}}};
  Json record{{"horizon_s", 20.0}, {"timeline", timeline}, {"tokens_trained", 500.0}, {"usd_total", 12.0}};
  const Json view = job_view(record, 2);
  CHECK(view["at_s"] == Json({0.0, 10.0, 20.0}));
  CHECK(view["nodes"] == Json({3.0, 2.0}));
  CHECK(view["tokens_per_s"] == Json({50.0, 0.0}));
  CHECK(view["tokens_trained"] == Json({0.0, 500.0, 500.0}));
  CHECK(view["usd"] == Json({0.0, 8.0, 12.0}));
  record["usd_total"] = nullptr;
  CHECK_FALSE(job_view(record, 2).contains("usd"));
  record["horizon_s"] = nullptr;
  CHECK(job_view(record, 2).is_null());
}

TEST_CASE("a sweep's page has the keys that were set and the figures that any point has") {
  const std::string ok = to_json_line(ran("a", 2_s, 600_TFLOPS, dollars_per_hour(36)));
  const std::string none = to_json_line(did_not_fit("a"));
  const Json data = data_of(sweep_page({{{{"x", "1"}, {"y", "2"}}, ok}, {{{"x", "2"}, {"y", "2"}}, none}}, {"1", "2"}));
  CHECK(data["kind"] == "sweep");
  CHECK(data["keys"] == Json({"x", "y"}));
  CHECK(data["rows"][0]["set"] == Json({"1", "2"}));
  CHECK(data["rows"][0]["figures"][0] == 5120.0);
  CHECK(data["rows"][1]["figures"][0].is_null());
  CHECK(data["rows"][1]["reason"] == "does not fit: s.0.1 lacks 4 GB");
}
