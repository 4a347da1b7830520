#include "validation/baseline.hpp"

#include <catch2/catch.hpp>

#include "sim/units/error.hpp"
#include "validation/junit.hpp"

using namespace trainyard;

namespace {

BaselineCase one(double step) { return {"", "fixed", "ok", {{"step_time_s", step}}}; }

}  // namespace

TEST_CASE("a figure drifts when it leaves the tolerance") {
  CHECK(drift_between({one(1)}, {one(1.004)}, Tolerance{}).empty());
  const auto drift = drift_between({one(1)}, {one(1.01)}, Tolerance{});
  REQUIRE(drift.size() == 1);
  CHECK(drift[0] == "fixed: step_time_s 1 -> 1.01 (+1.00 %); tolerance 0.5 %");
}

TEST_CASE("what is gone, new or of another status drifts too") {
  BaselineCase failed = one(1);
  failed.status = "infeasible";
  failed.figures = {{"mfu", 0.5}};
  CHECK(drift_between({one(1)}, {failed}, Tolerance{}) == std::vector<std::string>{"fixed: status ok -> infeasible",
                                                                             "fixed: step_time_s is gone, was 1",
                                                                             "fixed: mfu is new: 0.5"});
  CHECK(drift_between({one(1)}, {}, Tolerance{}) == std::vector<std::string>{"0 cases, were 1"});
}

TEST_CASE("a figure may have a tolerance of its own") {
  const Tolerance tolerance{0.005, {{"step_time_s", 0.02}}};
  CHECK(drift_between({one(1)}, {one(1.01)}, tolerance).empty());
  CHECK(drift_between({one(1)}, {one(1.03)}, tolerance) == std::vector<std::string>{"fixed: step_time_s 1 -> 1.03 (+3.00 %); tolerance 2 %"});
}

TEST_CASE("who made a baseline is told apart") {
  const Maker now{"0.2", "abc"};
  CHECK(other_maker(now, now).empty());
  CHECK(other_maker({"0.1", "abc"}, now) == "kept by version 0.1, this is 0.2");
  CHECK(other_maker({"0.2", "def"}, now) == "kept with other catalogues (def, now abc)");
  CHECK(other_maker({"0.2", ""}, now) == "kept without a hash of its catalogues");
}

TEST_CASE("a baseline reads back") {
  const Baseline baseline{"a", {"0.1", "abc"}, "cluster: {}\n", {{"model.json", "{}"}}, {one(0.1)}};
  const std::string text = to_baseline_json(baseline);
  CHECK(to_baseline_json(from_baseline_json(text, "a.json")) == text);
  CHECK_THROWS_AS(from_baseline_json("{}", "a.json"), UserError);
  CHECK_THROWS_AS(from_baseline_json("x", "a.json"), UserError);
}

TEST_CASE("JUnit is escaped") {
  const std::string xml = to_junit({{"good", 1, 1, {}}, {"b<a>d", 1, 1, {"x & \"y\""}}});
  CHECK(xml.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(xml.find("name=\"b&lt;a") != std::string::npos);
  CHECK(xml.find("x &amp; ") != std::string::npos);
}
