#include "sim/report/result_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/report/made_up.hpp"

using namespace trainyard;
using Json = nlohmann::ordered_json;

namespace {

const ResultHead kHead{"1.2.3", "abc", false};

std::vector<CaseResult> three() {
  return {ran("quick", 2_s, 600_TFLOPS, 7.2_usd_per_h), did_not_fit("large"),
          failed("broken", "line one\nline \"two\", three")};
}

}  // namespace

TEST_CASE("JSON holds every key of a case that ran, in SI units") {
  const Json document = Json::parse(to_json(three(), kHead));
  CHECK(document["schema"] == "trainyard/result/1");
  CHECK(document["version"] == "1.2.3");
  CHECK(document["catalogue_hash"] == "abc");
  const Json& r = document["results"][0];
  CHECK(r["scenario"] == "small");
  CHECK(r["variant"].is_null());
  CHECK(r["status"] == "ok");
  CHECK(r["reason"].is_null());
  CHECK(r["plan"] == Json{{"pipeline", 2}});
  CHECK(r["gpus"] == 8);
  CHECK(r["step_time_s"] == 2.0);
  CHECK(r["first_step_s"] == 3.0);
  CHECK(r["tokens_per_s"] == 5120.0);
  CHECK(r["samples_per_s"] == 5.0);
  CHECK(r["tokens_per_s_per_gpu"] == 640.0);
  CHECK(r["model_tflops_per_gpu"] == 7.5);
  CHECK(r["hardware_tflops_per_gpu"] == 11.25);
  CHECK(r["mfu"].get<double>() == Approx(0.1));
  CHECK(r["hfu"].get<double>() == Approx(0.15));
  CHECK(r["bubble_fraction"] == 0.125);
  CHECK(r["exposed_communication_fraction"] == 0.05);
  CHECK(r["time_breakdown_s"]["forward"] == 2.0);
  CHECK(r["time_breakdown_s"].size() == 12);
  CHECK(r["peak_memory_bytes"] == 12e9);
  CHECK(r["memory_capacity_bytes"] == 16e9);
  CHECK(r["memory_breakdown_bytes"]["optimizer"] == 4e9);
  CHECK(r["memory_breakdown_bytes"].size() == 6);
  CHECK(r["price_usd_per_h"].get<double>() == Approx(7.2));
  CHECK(r["usd_per_million_tokens"].get<double>() == Approx(7.2 / 3600 * 1e6 / 5120));
  CHECK(r["planner_estimate_step_time_s"].is_null());
  CHECK(r["planner_truncated"] == false);
  CHECK(r["simulated_tasks"] == 42);
  CHECK(r["device_classes"] == 2);
  CHECK(r["error_band"].is_null());
  CHECK(r["error_band_from"]["rows"].is_null());
  CHECK(r["extrapolated"] == Json::array());
  CHECK_FALSE(r.contains("planner_wall_s"));
}

TEST_CASE("what does not fit carries its reason and memory, and null instead of numbers") {
  const Json r = Json::parse(to_json(three(), kHead))["results"][1];
  CHECK(r["status"] == "infeasible");
  CHECK(r["reason"] == "does not fit: s.0.1 lacks 4 GB");
  CHECK(r["peak_memory_bytes"] == 20e9);
  CHECK(r["memory_breakdown_bytes"]["weights"] == 5e9);
  for (const char* key : {"plan", "gpus", "step_time_s", "tokens_per_s", "mfu", "price_usd_per_h", "simulated_tasks"}) {
    INFO(key);
    CHECK(r[key].is_null());
  }
  CHECK(r["time_breakdown_s"]["forward"].is_null());
}

TEST_CASE("an error carries its reason only") {
  const Json r = Json::parse(to_json(three(), kHead))["results"][2];
  CHECK(r["status"] == "error");
  CHECK(r["reason"] == "line one\nline \"two\", three");
  CHECK(r["peak_memory_bytes"].is_null());
}

TEST_CASE("an unknown price is null, not zero") {
  CaseResult result = ran("a", 1_s, 600_TFLOPS, {});
  result.step.price_known = false;
  const Json r = Json::parse(to_json({result}, kHead))["results"][0];
  CHECK(r["price_usd_per_h"].is_null());
  CHECK(r["usd_per_million_tokens"].is_null());
}

TEST_CASE("doubles read back exactly and the bytes are the same every time") {
  CaseResult result = ran("a", Seconds(0.1 + 0.2), 600_TFLOPS, {});
  const std::string text = to_json({result}, kHead);
  CHECK(Json::parse(text)["results"][0]["step_time_s"].get<double>() == 0.1 + 0.2);
  CHECK(text == to_json({result}, kHead));
  CHECK(text.find("0.30000000000000004") != std::string::npos);
}

TEST_CASE("all cases have the same keys in the same order") {
  const Json results = Json::parse(to_json(three(), kHead))["results"];
  for (const Json& result : results)
    CHECK(std::equal(result.items().begin(), result.items().end(), results[0].items().begin(),
                     [](const auto& a, const auto& b) { return a.key() == b.key(); }));
}

TEST_CASE("wall times are there only when asked for") {
  CaseResult result = ran("a", 1_s, 600_TFLOPS, {});
  result.planner_wall = 3_s;
  const Json r = Json::parse(to_json({result}, {"1", "h", true}))["results"][0];
  CHECK(r["planner_wall_s"] == 3.0);
  CHECK(r["simulation_wall_s"] == 0.0);
}

TEST_CASE("bytes that are no UTF-8 do not stop a document") {
  const Json r = Json::parse(to_json({failed("a", "bad \xff byte")}, kHead))["results"][0];
  CHECK(r["reason"] == "bad \xef\xbf\xbd byte");
}

TEST_CASE("no results are an empty list") { CHECK(Json::parse(to_json({}, kHead))["results"] == Json::array()); }

TEST_CASE("CSV has one row a case and quotes by RFC 4180") {
  const std::string text = to_csv(three(), kHead);
  CHECK_THAT(text, Catch::StartsWith("scenario,variant,strategy,status,reason,plan,plan_line,gpus,step_time_s,"));
  CHECK_THAT(text, Catch::Contains("time_breakdown_s.forward,time_breakdown_s.backward"));
  CHECK_THAT(text, Catch::Contains("\r\nsmall,,quick,ok,,\"{\"\"pipeline\"\":2}\",PP2 · micro-batch 1,8,2.0,"));
  CHECK_THAT(text, Catch::Contains("\r\nsmall,,large,infeasible,does not fit: s.0.1 lacks 4 GB,,,,"));
  CHECK_THAT(text, Catch::Contains("\r\nsmall,,broken,error,\"line one\nline \"\"two\"\", three\",,,,"));
}

TEST_CASE("CSV rows have as many cells as the header, even with nothing to say") {
  CaseResult empty;
  if (GENERATE(false, true)) empty.error_band_from = ErrorBand{};
  const std::string text = to_csv({empty}, kHead);
  const std::size_t line = text.find("\r\n");
  CHECK(std::count(text.begin(), text.begin() + static_cast<long>(line), ',') ==
        std::count(text.begin() + static_cast<long>(line), text.end(), ','));
}

TEST_CASE("what lies outside measured ground is a list in JSON and joined in CSV") {
  CaseResult result = ran("a", 1_s, 600_TFLOPS, {});
  result.step.extrapolated = {"fp8 on Fast", "sequence, 1M"};
  result.error_band_from = ErrorBand{"Ampere", 80, 0.04, -0.11, 0.08, 0.096};
  const Json band = Json::parse(to_json({result}, kHead))["results"][0]["error_band_from"];
  CHECK(band["rows"] == 80);
  CHECK(band["low"] == -0.11);
  CHECK(Json::parse(to_json({result}, kHead))["results"][0]["extrapolated"].size() == 2);
  CHECK_THAT(to_csv({result}, kHead), Catch::Contains(",\"fp8 on Fast; sequence, 1M\"\r\n"));
}
