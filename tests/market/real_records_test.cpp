// The real files, where they are: their figures as published tables and FORMATS.md give them.
#include <catch2/catch.hpp>
#include <filesystem>

#include "topologies/market/fit.hpp"
#include "topologies/market/price_records.hpp"
#include "topologies/market/records.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

const fs::path kTraces = fs::path(TRAINYARD_SOURCE_DIR) / "../shared/data/traces";

bool absent(const std::string& file) {
  if (fs::exists(kTraces / file)) return false;
  WARN("skipped: no " << file << " in ../shared/data/traces");
  return true;
}

RecordFigures figures(const std::string& file, const RecordOptions& options = {}) {
  Diagnostics diagnostics;
  const auto record = read_record((kTraces / file).string(), options, {}, diagnostics);
  INFO(diagnostics.text());
  REQUIRE(record.has_value());
  return figures_of(record->availability);
}

/// A row of spot_traces_stats.csv: hours, mean nodes, nodes lost, events, node-hours.
struct Published {
  std::string file;
  double hours, mean;
  int lost, events;
  double node_hours;
};

}  // namespace

TEST_CASE("real traces of nodes have the published figures") {
  const std::vector<Published> table{
      {"skypilot-spot-traces/availability_16-node_aws-08-27-2023_us-east-2b_v100_1.json", 270.6, 8.758, 910, 136, 2369.8},
      {"skypilot-spot-traces/availability_16-node_aws-08-27-2023_us-west-2a_v100_1.json", 394.7, 6.899, 1473, 145, 2722.7},
      {"skypilot-spot-traces/preemption_4-node_aws-08-03-2023_us-west-2c_v100_1.json", 427.6, 3.264, 330, 181, 1395.8},
      {"skypilot-spot-traces/availability_1-node_aws-10-26-2022_us-west-2a_k80_8.json", 649.2, 0.326, 135, 135, 211.8},
      {"bamboo/p3-trace.csv", 11.37, 24.03, 167, 79, 273.1}};
  for (const Published& row : table) {
    if (absent(row.file)) continue;
    INFO(row.file);
    const RecordFigures found = figures(row.file);
    CHECK(found.length.value / 3600 == Approx(row.hours).margin(0.1));
    CHECK(found.mean_nodes == Approx(row.mean).epsilon(0.002));
    CHECK(found.lost == row.lost);
    CHECK(found.loss_events == row.events);
    CHECK(found.node_hours == Approx(row.node_hours).epsilon(0.001));
  }
}

TEST_CASE("Bamboo's fleet of T4s begins after eight minutes and falls to two nodes") {
  if (absent("bamboo/g4dn-trace.csv")) return;
  const RecordFigures found = figures("bamboo/g4dn-trace.csv");
  CHECK(found.most_nodes == 24);
  CHECK(found.lost == 74);
  CHECK(found.loss_events == 48);
  CHECK(found.node_hours == Approx(135.7).epsilon(0.001));
}

TEST_CASE("the log with two loggers must be sorted on request") {
  if (absent("bamboo/v100x1-east1c.txt")) return;
  Diagnostics diagnostics;
  CHECK_FALSE(read_record((kTraces / "bamboo/v100x1-east1c.txt").string(), {}, {}, diagnostics).has_value());
  CHECK(diagnostics.all().front().place.line == 4);
  const RecordFigures found = figures("bamboo/v100x1-east1c.txt", {"bamboo", "", "", true, false});
  CHECK(found.length.value / 3600 == Approx(24.17).margin(0.05));
  CHECK(found.mean_nodes == Approx(76.33).epsilon(0.01));
}

TEST_CASE("every other public file is read, or refused with its line") {
  const RecordOptions hours{"bamboo", "", "h", false, false}, seconds{"bamboo", "", "s", false, false};
  const std::vector<std::pair<std::string, RecordOptions>> read{
      {"bamboo/a100x1-east1b.txt", {}}, {"bamboo/preempt-trace-GroupInServiceInstances.csv", {}},
      {"bamboo/aws-spot-instances-p2-xlarge-2020-11-20-to-2020-11-23.csv", hours},
      {"bamboo/aws-spot-instances-p2-xlarge-us-east-1e-2020-11-23-1700-to-2020-11-24-0700.csv", seconds},
      {"parcae/p3.csv", {"parcae", "", "", false, false}}, {"parcae/bert__trace_hh_55_65.txt", {}}, {"parcae/gpt-6.7b__trace_hl_15_25.txt", {}},
      {"spotserve/test.txt", {}}, {"spotserve/trace_full__g4dn.csv", {"spotserve", "", "", false, false}},
      {"spotserve/trace_seg__trace_0203_real.txt", {}}, {"sailor/a100_trace_16.json", {}}, {"sailor/a100_trace_original.json", {}},
      {"sailor/static_trace.json", {}}, {"sailor/gpu_trace_multizone.csv", {"sailor", "A100-40_us-west1-b", "", false, false}},
      {"tenplex/dynamic_resources_pytorch-schedule.json", {}}, {"tenplex/dynamic_resources_tenplex-schedule.json", {}}};
  for (const auto& [file, options] : read)
    if (!absent(file)) CHECK(figures(file, options).most_nodes > 0);
  for (const std::string file : {"bamboo/full-64-additions-trace.csv", "bamboo/full-64-terminate-trace.csv", "bamboo/full-64-found-preemptions.csv",
                                 "tenplex/failure_schedule.json", "tenplex/failure_para-config.json", "training_on_a_dime/azure__cost__us_east.csv"}) {
    Diagnostics diagnostics;
    if (absent(file)) continue;
    CHECK_FALSE(read_record((kTraces / file).string(), {}, {}, diagnostics).has_value());
    CHECK(diagnostics.all().size() == 1);
  }
}

TEST_CASE("real histories of prices") {
  const std::string aws = "training_on_a_dime/aws__cost__us-east-1__p3.2xlarge.json";
  if (absent(aws)) return;
  Diagnostics diagnostics;
  const auto mean = read_prices((kTraces / aws).string(), {"aws", "", "", "", 0, false}, {}, diagnostics);
  const auto least = read_prices((kTraces / aws).string(), {"aws", "", "", "cheapest", 0, false}, {}, diagnostics);
  REQUIRE((mean && least && diagnostics.empty()));
  CHECK(least->at(86400_s) <= mean->at(86400_s));
  CHECK(in_dollars_per_hour(mean->at(86400_s)) == Approx(0.95).margin(0.15));
  CHECK_FALSE(read_prices((kTraces / "training_on_a_dime/aws__cost__eu-central-1__2020-02-27.p2.16xlarge.json").string(), {"aws", "", "", "", 0, false}, {},
                          diagnostics));
  CHECK_THAT(diagnostics.text(), Catch::Contains("the history is empty: no price is known"));
  Diagnostics azure;
  const auto v100 = read_prices((kTraces / "training_on_a_dime/azure__cost__us_east.csv").string(), {"azure", "NC6s v3", "", "", 0, false}, {}, azure);
  REQUIRE(v100);
  CHECK(in_dollars_per_hour(v100->at(0_s)) == Approx(0.60313));
  const auto gcp = read_prices((kTraces / "training_on_a_dime/gcp__spin_up_and_shut_down__2020-02-26T17-03-53.000Z.out").string(),
                               {"gcp", "nvidia-tesla-v100", "", "us-west1-b", 8, false}, {}, azure);
  REQUIRE(gcp);
  CHECK(in_dollars_per_hour(gcp->at(0_s)) == Approx(6.808));
}
