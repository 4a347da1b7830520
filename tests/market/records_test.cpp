// Public records of spot nodes: small files in the shape of each format, and everything that can be wrong with them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "topologies/market/fit.hpp"
#include "topologies/market/records.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

/// A file that goes away with the test; tests run side by side.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) : path_(fs::temp_directory_path() / ("trainyard-record-" + std::to_string(getpid()))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { fs::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Record good(const std::string& text, const RecordOptions& options = {}) {
  const ScratchFile file(text);
  Diagnostics diagnostics;
  const auto record = read_record(file.path(), options, {}, diagnostics);
  INFO(diagnostics.text());
  REQUIRE(record.has_value());
  return *record;
}

/// The one mistake, `line:column: message`.
std::string mistake(const std::string& text, const RecordOptions& options = {}) {
  const ScratchFile file(text);
  Diagnostics diagnostics;
  const auto record = read_record(file.path(), options, {}, diagnostics);
  REQUIRE_FALSE(record.has_value());
  REQUIRE(diagnostics.all().size() == 1);
  const Diagnostic& one = diagnostics.all().front();
  return std::to_string(one.place.line) + ":" + std::to_string(one.place.column) + ": " + one.message;
}

const LevelTrace& levels(const Record& record) { return std::get<LevelTrace>(record.availability); }
const InstanceTrace& instances(const Record& record) { return std::get<InstanceTrace>(record.availability); }

RecordOptions as(const std::string& format) { return {format, "", "", false, false}; }
RecordOptions sorted() { return {"", "", "", true, false}; }

const std::string kEvents = "0,add,node1\n0,add,node2\n60000,remove,node1\n60000,add,node3\r\n120000,remove,node3";

}  // namespace

TEST_CASE("Bamboo's events name their instances, in milliseconds") {
  const Record record = good(kEvents, as("bamboo"));
  CHECK(record.dialect == Dialect::instance_events);
  CHECK(instances(record).length == 120_s);
  CHECK(instances(record).changes == std::vector<InstanceChange>{{0_s, true, 0}, {0_s, true, 1}, {60_s, false, 0}, {60_s, true, 2}, {120_s, false, 2}});
  CHECK(good(kEvents, as("spotserve")).availability == record.availability);
  CHECK(good(kEvents).availability == record.availability);
}

TEST_CASE("events that contradict each other are refused with their line") {
  CHECK(mistake("0,add,a\n5,add,a\n") == "2:1: \"a\" is added, and it is there already");
  CHECK(mistake("0,add,a\n5,remove,b\n") == "2:1: \"b\" is removed, and it is not there");
  CHECK(mistake("0,add,a\n5,remove,a\n6,remove,a\n") == "3:1: \"a\" is removed, and it is not there");
  CHECK(mistake("9000,add,a\n5000,add,b\n") == "2:1: time goes back by 4 s; `sort: true` puts the record into order");
  CHECK(mistake("0,add,a\n5,stop,a\n") == "2:3: no operation \"stop\"; known: add, remove");
  CHECK(mistake("0,add,a\nx,add,b\n") == "2:1: \"x\" is no number");
  CHECK(mistake("0,add,a\n5,add\n") == "2:1: 2 cells; a line of this record has 3");
  CHECK(mistake("-5,add,a\n") == "1:1: a time before 0");
  CHECK(instances(good("9000,add,a\n5000,add,b\n", sorted())).changes.front().instance == 0);
}

TEST_CASE("Parcae's and SpotServe's lines, with comments, no-ops and the end") {
  const std::string text =
      "#[0, \"add\", {\"nodes\": [\"node-9\"]}]\n[0, \"add\", {\"nodes\": [\"node-0\", \"node-10\"]}]\n"
      "[60000, \"no-op\", {\"nodes\": [], \"duration\": 60000, \"liveput_truth_strategy\": [8, 4]}]\n[90000, \"remove\", {\"nodes\": [\"node-0\"]}]\n"
      "[120000, \"migration\", {\"nodes\": []}]\n[360000, \"DONE\", {\"nodes\": []}]\n";
  const Record record = good(text, as("parcae"));
  CHECK(record.dialect == Dialect::event_lines);
  CHECK(instances(record).length == 360_s);
  CHECK(instances(record).changes == std::vector<InstanceChange>{{0_s, true, 0}, {0_s, true, 1}, {90_s, false, 0}});
  CHECK(good("[0, \"add\", {\"nodes\": [\"a\"], \"duration\": 60000}]\n").availability == Availability(InstanceTrace{{{0_s, true, 0}}, 60_s, {}}));
}

TEST_CASE("damaged lines of Parcae are refused") {
  CHECK(mistake("[0, \"add\", {\"nodes\": [\"a\"]}]\n[5, \"add\", {\"nodes\": [\"b\"") == "2:26: no JSON: the line is damaged");
  CHECK(mistake("[0, \"add\", {\"nodes\": [\"a\"]}]\n[5, \"lost\", {}]\n") == "2:1: no operation \"lost\"; known: add, remove, no-op, migration, DONE");
  CHECK(mistake("[0, \"add\", {\"nodes\": 7}]\n") == "1:1: \"nodes\" is no list of names");
  CHECK(mistake("[0, \"add\", {\"nodes\": [7]}]\n") == "1:1: \"nodes\" is no list of names");
  CHECK(mistake("[0, \"add\"]\n") == "1:1: a line of this record is [milliseconds, \"add\", {\"nodes\": [..]}]");
  CHECK(mistake("[0, \"DONE\", {}]\n[5, \"no-op\", {}]\n") == "2:1: a line after \"DONE\"");
  CHECK(mistake("[0, \"no-op\", {}]\n") == "1:1: holds no record");
}

TEST_CASE("polls count nodes; time that goes back must be asked for") {
  const std::string polls = "2021-12-10, 13:07:45, 80\n2021-12-10, 13:08:45, 80\n2021-12-10, 13:10:45, 70\n";
  const Record record = good(polls, as("bamboo"));
  CHECK(levels(record).levels == std::vector<NodeLevel>{{0_s, 80}, {180_s, 70}});
  CHECK(levels(record).length == 300_s);  // the last poll holds as long as the one before it
  const std::string back = polls + "2021-12-10, 13:09:45, 75\n";
  CHECK(mistake(back) == "4:1: time goes back by 60 s; `sort: true` puts the record into order");
  CHECK(levels(good(back, sorted())).levels == std::vector<NodeLevel>{{0_s, 80}, {120_s, 75}, {180_s, 70}});
  const std::string twice = "2021-12-10, 13:07:45, 80\n2021-12-10, 13:07:45, 70\n";
  CHECK(mistake(twice) == "2:1: two numbers of nodes at one time, 80 and 70; `sort: true` takes the last one");
  CHECK(levels(good(twice, sorted())).levels == std::vector<NodeLevel>{{0_s, 70}});
  CHECK(mistake("2021-12-10, 13:07:45, 80\n2021-13-10, 13:07:46, 80\n") == "2:1: no time such as 2021-12-10, 13:07:45");
  CHECK(mistake("2021-12-10, 13:07:45, 80\n2021-12-10, 13:08:45, 1.5\n") == "2:1: 1.5 is no number of nodes: a whole one from 0 to 1,000,000");
  CHECK(mistake("2021-12-10, 13:07:45, -1\n") == "1:1: -1 is no number of nodes: a whole one from 0 to 1,000,000");
}

TEST_CASE("tables of autoscaling groups; tables of changes are not levels") {
  CHECK(levels(good("timestamp,count\n2021-07-26T18:42:00Z,3\n2021-07-26T18:45:00Z,5\n")).levels == std::vector<NodeLevel>{{0_s, 3}, {180_s, 5}});
  CHECK(levels(good("time,count\n2021-09-17 04:00:00,0.0\n2021-09-17 04:01:00,2.0\n")).length == 120_s);
  CHECK_THAT(mistake("timestamp,number\n2021-07-26T18:47:00Z,1\n"), Catch::StartsWith("1:1: is no record of nodes; known: "));
  CHECK(mistake("time,count\n") == "1:1: holds no record");
  CHECK(mistake("time,count\nyesterday,3\n") == "2:1: \"yesterday\" is no time such as 2021-07-26T18:42:00Z");
}

TEST_CASE("pairs say every change twice, and not in what their times are") {
  const std::string plot = "0,0\n21529,0\n21529,4\n21556,4\n21556,8\n30000,8\n";
  const RecordOptions seconds{"bamboo", "", "s", false, false}, hours{"bamboo", "", "h", false, false};
  CHECK(levels(good(plot, seconds)).levels == std::vector<NodeLevel>{{0_s, 0}, {21529_s, 4}, {21556_s, 8}});
  CHECK(levels(good(plot, seconds)).length == 30000_s);
  CHECK(levels(good("0.000,0\n5.980,0\n5.980,4\n7,4\n", hours)).levels[1].at.value == Approx(5.98 * 3600));
  CHECK(levels(good("0,1\n0,2\n60000,3\n60000,1\n", as("parcae"))).levels == std::vector<NodeLevel>{{0_s, 2}, {60_s, 1}});
  CHECK(mistake(plot, as("bamboo")) == "1:1: pairs of time and nodes do not say in what their times are: give `unit: s`, `ms` or `h`");
  const Record one = good("0,8", seconds);
  CHECK(levels(one).levels == std::vector<NodeLevel>{{0_s, 8}});
  CHECK(levels(one).length == 0_s);
}

TEST_CASE("SkyPilot's ticks, with and without prices, and read the other way round") {
  const Record record = good("{\"metadata\": {\"gap_seconds\": 300}, \"data\": [0, 0, 4, 4, 2]}", as("skypilot"));
  CHECK(levels(record).levels == std::vector<NodeLevel>{{0_s, 0}, {600_s, 4}, {1200_s, 2}});
  CHECK(levels(record).length == 1500_s);
  CHECK(mistake("{\"metadata\": {\"gap_seconds\": 30}, \"data\": [1, 1], \"prices\": [0.9]}") == "1:61: 1 prices for 2 entries of data");
  const RecordOptions inverted{"", "", "", false, true};
  CHECK(levels(good("{\"metadata\": {\"gap_seconds\": 30}, \"data\": [1, 0]}", inverted)).levels == std::vector<NodeLevel>{{0_s, 0}, {30_s, 1}});
  CHECK(mistake("{\"metadata\": {\"gap_seconds\": 30}, \"data\": [2]}", inverted) == "1:44: `inverted` is for 0 and 1, not 2");
  CHECK_THAT(mistake("{\"metadata\": {\"gap_seconds\": 0}, \"data\": [1]}"), Catch::StartsWith("1:30: "));
  CHECK_THAT(mistake("{\"metadata\": {\"gap_seconds\": 30}, \"data\": []}"), Catch::StartsWith("1:43: has 0 elements"));
  CHECK_THAT(mistake("{\"metadata\": {\"gap_seconds\": 30}, \"data\": [1, 0.5]}"), Catch::StartsWith("1:47: expected a whole number"));
  CHECK_THAT(mistake("{\"metadata\": {\"gap_seconds\": 30}, \"data\": [1, 0"), Catch::StartsWith("1:"));
}

TEST_CASE("Sailor counts GPUs, in a list or in a table of pools") {
  const Record list = good("[\n    {\"Time\": 0, \"GPUs\": 16},\n\n    {\"Time\": 63.5, \"GPUs\": 12}\n]\n", as("sailor"));
  CHECK(list.counts_gpus);
  CHECK(levels(in_nodes(list, 8)).levels == std::vector<NodeLevel>{{0_s, 2}, {63.5_s, 1}});
  const std::string table = ",Timestamp,A100-40_us-central1-a,V100-16_us-central1-a\n0,1712574014.5,32,96\n1,1712574137.5,80,240";
  const RecordOptions pool{"sailor", "V100-16_us-central1-a", "", false, false};
  CHECK(levels(good(table, pool)).levels == std::vector<NodeLevel>{{0_s, 96}, {123_s, 240}});
  CHECK(mistake(table) == "1:1: several pools; `column` says which: A100-40_us-central1-a, V100-16_us-central1-a");
  CHECK(mistake(table, {"", "V100-16_us-central1-b", "", false, false}) ==
        "1:1: no column \"V100-16_us-central1-b\"; did you mean \"V100-16_us-central1-a\"?");
  CHECK(levels(good(",Timestamp,A100-40_us-central1-a\n0,1712574258.5,128\n")).levels == std::vector<NodeLevel>{{0_s, 128}});
}

TEST_CASE("Tenplex gives minutes that a size holds; schedules by steps have no times") {
  const Record record = good("[{\"time\": 35, \"size\": 16}, {\"time\": 10, \"size\": 8}, {\"time\": 0, \"size\": 0}]", as("tenplex"));
  CHECK(levels(record).levels == std::vector<NodeLevel>{{0_s, 16}, {2100_s, 8}});
  CHECK(levels(record).length == 2700_s);
  CHECK(record.counts_gpus);
  CHECK(mistake("[{\"step\": 0, \"size\": 16}]") == "1:2: resizes by training steps, not by time: when they come depends on the job");
}

TEST_CASE("a file that is no record, or one of another format, is named") {
  CHECK(mistake("") == "1:1: holds no record");
  CHECK(mistake("\n\n# nothing\n") == "1:1: holds no record");
  CHECK_THAT(mistake("hello\n"), Catch::StartsWith("1:1: is no record of nodes; known: lines of milliseconds,add|remove,node; "));
  CHECK_THAT(mistake(std::string("\x00\x01\x02\xff", 4)), Catch::StartsWith("1:1: is no record of nodes"));
  CHECK_THAT(mistake("{\"SpotPriceHistory\": []}"), Catch::StartsWith("1:1: is no record of nodes"));
  CHECK(mistake(kEvents, as("skypilot")) == "1:1: lines of milliseconds,add|remove,node: not the format skypilot");
  CHECK(mistake("[{\"Time\": 0, \"GPUs\": 4}]", as("bamboo")) == "1:1: Sailor's list of {\"Time\": .., \"GPUs\": ..}: not the format bamboo");
}

TEST_CASE("tables of a cluster's jobs are no record of nodes") {
  const std::string refused = "1:1: is no record of nodes; known: ";
  for (const std::string table :
       {R"([{"status": "Pass", "jobid": "j", "attempts": [{"start_time": null, "end_time": "2017-10-09 03:15:12"}]}, {"jobid": "k", "attempts": []}])",
        "instance_sn,role,gpu_request,creation_time,scheduled_time,deletion_time\ni1,CN,1,,,30\n", "job_id,num_gpu,submit_time,duration\n1,24,0,53294624\n",
        "Transformer (batch size 128)\tcd %s && python3\t-step\t1\t300000000\t0.0\t24\n"})
    for (const RecordOptions& options : {RecordOptions{}, as("bamboo"), as("sailor"), as("parcae")}) CHECK_THAT(mistake(table, options), Catch::StartsWith(refused));
}

TEST_CASE("nineteen nodes come, and six go, at one instant") {
  std::string text;
  for (int node = 1; node <= 19; ++node) text += "0,add,node" + std::to_string(node) + "\n";
  for (int node = 1; node <= 6; ++node) text += "60000,remove,node" + std::to_string(node) + "\n";
  const RecordFigures found = figures_of(good(text + "120000,add,node20\n").availability);
  CHECK(found.most_nodes == 19);
  CHECK(found.lost == 6);
  CHECK(found.mean_nodes == Approx(16));  // 19, then 13, a minute each
}

TEST_CASE("the figures of a record, by hand") {
  const RecordFigures events = figures_of(good(kEvents).availability);
  CHECK(events.mean_nodes == Approx(2));
  CHECK(events.node_hours == Approx(4 / 60.0));
  CHECK(events.lost == 2);
  CHECK(events.loss_events == 2);
  CHECK(events.gained == 1);
  const RecordFigures polls = figures_of(good("{\"metadata\": {\"gap_seconds\": 3600}, \"data\": [4, 1, 1, 3]}").availability);
  CHECK(polls.mean_nodes == Approx(9 / 4.0));
  CHECK(polls.most_nodes == 4);
  CHECK(polls.lost == 3);
  CHECK(polls.loss_events == 1);
  const WeibullProcess process = fitted_exponential(polls);
  CHECK(process.up.value == Approx(3600 * 9 / 3.0));
  CHECK(process.down.value == Approx(3600 * 7 / 2.0));
}

TEST_CASE("a chain fitted to a record has its mean times and shares, and is closed") {
  // 4 for 1 h, 1 for 2 h, 4 for 3 h, 0 for 1 h, 1 for 1 h: the last level goes on as the first level 1 did
  const MarkovProcess chain = fitted_chain(levels(good("{\"metadata\": {\"gap_seconds\": 3600}, \"data\": [4, 1, 1, 4, 4, 4, 0, 1]}")));
  REQUIRE(chain.levels.size() == 3);
  CHECK(chain.levels[0] == MarkovLevel{4, 7200_s, {{0, 0.5}, {1, 0.5}}});
  CHECK(chain.levels[1] == MarkovLevel{0, 3600_s, {{1, 1}}});
  CHECK(chain.levels[2] == MarkovLevel{1, 10800_s, {{4, 1}}});
  const MarkovProcess closed = fitted_chain(levels(good("{\"metadata\": {\"gap_seconds\": 60}, \"data\": [2, 1]}")));
  CHECK(closed.levels[1] == MarkovLevel{1, 60_s, {{2, 1}}});
  CHECK(fitted_chain(levels(good("{\"metadata\": {\"gap_seconds\": 60}, \"data\": [2, 2]}"))).levels[0].to.empty());
}
