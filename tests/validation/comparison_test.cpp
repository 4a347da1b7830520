#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/units/error.hpp"
#include "validation/budget.hpp"
#include "validation/comparison_text.hpp"

using namespace trainyard;

namespace {

ComparedRow row(std::optional<double> measured, std::optional<double> predicted) {
  ComparedRow row;
  row.measured.id = "r";
  row.measured.source = "toy";
  row.measured.gpu = "T4";
  row.measured.step_time_s = measured;
  row.predicted.step_time_s = predicted;
  return row;
}

ComparedRow verdict(bool measured, bool predicted) {
  ComparedRow result = row({}, {});
  result.measured.out_of_memory = measured;
  result.predicted.out_of_memory = predicted;
  return result;
}

std::string budget(const std::string& text) {
  const std::string path = (std::filesystem::temp_directory_path() / ("trainyard_budget_test_" + std::to_string(::getpid()) + ".yaml")).string();
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("quantiles lie between neighbours, bias keeps the sign") {
  const auto summary = summarise({-0.4, -0.3, 0.2, 0.1, 0.0});
  REQUIRE(summary);
  CHECK(summary->count == 5);
  CHECK(summary->median == Approx(0.2));
  CHECK(summary->p90 == Approx(0.36));
  CHECK(summary->maximum == Approx(0.4));
  CHECK(summary->bias == Approx(0.0).margin(1e-12));
  CHECK_FALSE(summarise({}));
}

TEST_CASE("an error needs both figures") {
  CHECK(time_error(row(2, 3)) == Approx(0.5));
  CHECK_FALSE(time_error(row({}, 3)));
  CHECK_FALSE(time_error(row(2, {})));
  CHECK_FALSE(time_error(row(0, 3)));
}

TEST_CASE("verdicts are counted where both are known") {
  const auto groups =
      group_errors({verdict(true, true), verdict(true, false), verdict(false, false), verdict(false, true), row(1, 1)});
  CHECK(groups[0].name == "all rows");
  CHECK(groups[0].verdicts.right_out == 1);
  CHECK(groups[0].verdicts.wrong_fit == 1);
  CHECK(groups[0].verdicts.right_fit == 1);
  CHECK(groups[0].verdicts.wrong_out == 1);
}

TEST_CASE("absent numbers are null in JSON and empty in CSV") {
  ComparedRow skipped = row(2, {});
  skipped.predicted.status = PredictionStatus::skipped;
  skipped.predicted.reason = "a, b";
  const auto document = nlohmann::json::parse(comparison_json({skipped}, "1"));
  const auto& record = document.at("rows").at(0);
  CHECK(record.at("predicted_step_time_s").is_null());
  CHECK(record.at("measured_oom").is_null());
  CHECK(record.at("gpus").is_null());
  CHECK(record.at("status") == "skipped");
  CHECK(record.at("reason") == "a, b");
  CHECK(comparison_csv({skipped}).find("r,toy,,T4,,,2.0,,,,,,,,,skipped,\"a, b\",") != std::string::npos);
}

TEST_CASE("the table names groups, reasons and the worst rows") {
  ComparedRow skipped = row({}, {});
  skipped.predicted.status = PredictionStatus::skipped;
  skipped.predicted.reason = "not simulated yet";
  const std::string table = comparison_table({row(2, 3), skipped}, 1);
  CHECK(table.find("by source\ntoy ") != std::string::npos);
  CHECK(table.find("     1  not simulated yet") != std::string::npos);
  CHECK(table.find("   +50.0%") != std::string::npos);
}

TEST_CASE("a budget names what is past it") {
  const std::vector<ComparedRow> rows{row(1, 1.1), row(1, 1.3)};
  CHECK(past_budget(budget("source: {toy: {median: 0.3, p90: 0.4, predicted: 2}}"), rows).empty());
  const auto past = past_budget(budget("source: {toy: {median: 0.1}, other: {p90: 1}}"), rows);
  REQUIRE(past.size() == 2);
  CHECK(past[0] == "source toy: median step time error 20.0 %, allowed 10.0 %");
  CHECK(past[1] == "source other: no rows");
  CHECK_THROWS_AS(past_budget(budget("sources: {}"), rows), UserError);
}
