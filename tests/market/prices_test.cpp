// Histories of prices in the shape of each provider, and what is wrong with them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "topologies/market/price_records.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

struct Read {
  std::optional<PriceSeries> series;
  std::string mistake;  ///< `line:column: message`; line 0: of the file as such
};

Read read(const std::string& text, const PriceOptions& options) {
  const fs::path path = fs::temp_directory_path() / ("trainyard-prices-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << text;
  Diagnostics diagnostics;
  Read result{read_prices(path.string(), options, {}, diagnostics), ""};
  fs::remove(path);
  REQUIRE(result.series.has_value() == diagnostics.empty());
  if (result.series) return result;
  REQUIRE(diagnostics.all().size() == 1);
  const Diagnostic& one = diagnostics.all().front();
  result.mistake = std::to_string(one.place.line) + ":" + std::to_string(one.place.column) + ": " + one.message;
  return result;
}

PriceOptions format(const std::string& name) { return {name, "", "", "", 0, false}; }
PriceOptions zone(const std::string& name) { return {"aws", "", "", name, 0, false}; }
double at(const Read& read, Seconds time) { return in_dollars_per_hour(read.series->at(time)); }

std::string aws_entry(const std::string& zone, const std::string& price, const std::string& time, const std::string& product = "Linux/UNIX") {
  return "{\"AvailabilityZone\": \"" + zone + "\", \"InstanceType\": \"p3.2xlarge\", \"ProductDescription\": \"" + product + "\",\n \"SpotPrice\": " + price +
         ", \"Timestamp\": \"2020-02-20T" + time + ".000Z\"}";
}
std::string aws(const std::vector<std::string>& entries) {
  std::string text = "{\"NextToken\": \"\", \"SpotPriceHistory\": [\n";
  for (std::size_t i = 0; i < entries.size(); ++i) text += entries[i] + (i + 1 < entries.size() ? ",\n" : "");
  return text + "]}";
}
const std::string kHistory = aws({aws_entry("b", "\"4.0\"", "12:00:00"), aws_entry("a", "\"1.0\"", "11:00:00"), aws_entry("a", "\"2.0\"", "10:00:00")});

}  // namespace

TEST_CASE("AWS writes the newest price first, as text, zones mixed") {
  CHECK(at(read(kHistory, zone("a")), 0_s) == Approx(2));
  CHECK(at(read(kHistory, zone("a")), 3600_s) == Approx(1));
  CHECK(at(read(kHistory, zone("b")), 0_s) == Approx(4));
  const Read mean = read(kHistory, zone("")), least = read(kHistory, zone("cheapest"));
  CHECK(at(mean, 0_s) == Approx(2));           // zone b has no price yet
  CHECK(at(mean, 7200_s) == Approx(2.5));
  CHECK(at(least, 7200_s) == Approx(1));
  CHECK(mean.series->cost(0_s, 10800_s).value == Approx(2 + 1 + 2.5));
  CHECK(read(kHistory, zone("c")).mistake == "0:0: no zone in the prices \"c\"; known: a, b");
}

TEST_CASE("AWS: a page that another would go on from begins with its own first price") {
  std::string page = kHistory;
  page.replace(page.find("\"\""), 2, "\"next\"");
  CHECK(at(read(page, zone("a")), 0_s) == Approx(2));
}

TEST_CASE("AWS: what is no history") {
  CHECK(read(aws({}), format("aws")).mistake == "1:39: the history is empty: no price is known");
  CHECK(read(aws({aws_entry("a", "\"0\"", "10:00:00")}), format("aws")).mistake == "3:15: 0 USD/h is no price: above 0 and at most 36000");
  CHECK_THAT(read(aws({aws_entry("a", "700.0", "10:00:00")}), format("aws")).mistake, Catch::StartsWith("3:15: 700 USD/h is what catalogues write"));
  CHECK(read(aws({aws_entry("a", "\"cheap\"", "10:00:00")}), format("aws")).mistake == "3:15: text \"cheap\" is no number");
  CHECK_THAT(read(aws({aws_entry("a", "\"1\"", "25:00:00")}), format("aws")).mistake, Catch::Contains("is no time such as"));
  const std::string two = aws({aws_entry("a", "\"1\"", "11:00:00", "Windows"), aws_entry("a", "\"2\"", "10:00:00")});
  CHECK(read(two, format("aws")).mistake == "0:0: prices of several: `product` says which: Linux/UNIX, Windows");
  CHECK(at(read(two, {"aws", "", "Linux/UNIX", "", 0, false}), 0_s) == Approx(2));
  CHECK_THAT(read(kHistory.substr(0, 200), format("aws")).mistake, Catch::Contains(":"));
  CHECK_THAT(read("{\"data\": [1]}", format("aws")).mistake, Catch::Contains("SpotPriceHistory"));
}

TEST_CASE("Azure has a column for each instance and a line a day") {
  const std::string table = "Date,NC6,NC6s v3\n2/28/2020,$0.5,$0.6\n3/1/2020,$0.5,$0.8";
  const PriceOptions v100{"azure", "NC6s v3", "", "", 0, false};
  CHECK(at(read(table, v100), 0_s) == Approx(0.6));
  CHECK(at(read(table, v100), Seconds(2 * 86400)) == Approx(0.8));  // 2020 is a leap year
  CHECK(read(table, format("azure")).mistake == "0:0: prices of several: `instance` says which: NC6, NC6s v3");
  CHECK(read("Date,A\n3/1/2020,$1\n2/28/2020,$1\n", format("azure")).mistake == "3:1: the day before the one above it: the table is unordered");
  CHECK(read("Date,A\n3/1/2020,1\n", format("azure")).mistake == "2:10: \"1\" is no price such as $0.24552");
  CHECK(read("Date,A\n3/1/2020,$0\n", format("azure")).mistake == "2:10: 0 USD/h is no price: above 0 and at most 36000");
  CHECK(read("Date,A\n13/1/2020,$1\n", format("azure")).mistake == "2:1: no line of M/D/YYYY and a price for each instance");
}

TEST_CASE("GCP's log tells constant prices by zone and GPUs") {
  const std::string log =
      "Zone: us-west1-b, GPU type: nvidia-tesla-v100, Number of GPUs: 8, Price per hour: $6.808\n[2020] Created\n"
      "Zone: us-west1-b, GPU type: nvidia-tesla-v100, Number of GPUs: 8, Price per hour: $6.808\n";
  CHECK(at(read(log, {"gcp", "nvidia-tesla-v100", "", "", 8, false}), 1e6_s) == Approx(6.808));
  CHECK_THAT(read(log, {"gcp", "nvidia-tesla-v100", "", "", 4, false}).mistake, Catch::Contains("`gpus` one of 8"));
  CHECK_THAT(read(log + "Zone: us-west1-b, GPU type: nvidia-tesla-v100, Number of GPUs: 8, Price per hour: $7\n",
                  {"gcp", "nvidia-tesla-v100", "", "", 8, false}).mistake,
             Catch::StartsWith("4:1: another price"));
}

TEST_CASE("SkyPilot's prices along its ticks, and its catalogue with what is not sold") {
  const std::string trace = "{\"metadata\": {\"gap_seconds\": 100}, \"data\": [1, 1, 1], \"prices\": [0.9, 0.9, 1.2]}";
  CHECK(at(read(trace, format("skypilot")), 150_s) == Approx(0.9));
  CHECK(at(read(trace, format("skypilot")), 200_s) == Approx(1.2));
  const std::string table =
      "InstanceType,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\n"
      "p5,\"{'Gpus': [{'Name': 'H100', 'Count': 8}]}\",55.04,10.2,us,us-a\np5,,55.04,20.2,us,us-b\np5,,55.04,,eu,eu-a\ntpu,,700.0,700.0,us,us-a\n";
  const auto catalogue = [](const std::string& instance, const std::string& where) { return PriceOptions{"skypilot_catalogue", instance, "", where, 0, false}; };
  CHECK(at(read(table, catalogue("p5", "us-b")), 0_s) == Approx(20.2));
  CHECK(at(read(table, catalogue("p5", "mean")), 0_s) == Approx(15.2));
  CHECK(at(read(table, catalogue("p5", "cheapest")), 0_s) == Approx(10.2));
  CHECK_THAT(read(table, catalogue("tpu", "us-a")).mistake, Catch::Contains("not sold"));
  const std::string head = "InstanceType,Price,SpotPrice,Region\n";
  CHECK(read(head + "v6e,2.7,699.0,us\n", catalogue("v6e", "us")).mistake ==
        "2:9: a spot price of 699 USD/h above the 2.7 USD/h on demand: what catalogues write where no spot market is");
  CHECK(read(head + "v2,2.7,1.0,us\nv2,2.7,1.0,us\nv2,2.7,1.5,us\n", catalogue("v2", "us")).mistake ==
        "4:8: another price than above for the same instance and zone");
  CHECK_THAT(read(R"({"metadata": {"gap_seconds": 100}, "data": [1, 1, 1], "prices": [0.9]})", format("skypilot")).mistake,
             Catch::Contains("1 prices for 3 ticks of data; one a tick is needed"));
  CHECK_THAT(read(table, catalogue("p6", "us-a")).mistake, Catch::Contains("no spot price of the instance \"p6\""));
}
