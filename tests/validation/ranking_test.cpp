#include <catch2/catch.hpp>

#include "validation/ranking.hpp"
#include "validation/yardsticks.hpp"

using namespace trainyard;

namespace {

ComparedRow row(const std::string& model, double measured, double predicted, double ideal) {
  ComparedRow row;
  row.measured.source = "toy";
  row.measured.gpu = "T4";
  row.measured.model = model;
  row.measured.step_time_s = measured;
  row.predicted.step_time_s = predicted;
  row.predicted.ideal_time_s = ideal;
  return row;
}

}  // namespace

TEST_CASE("tau: 5 of 6 pairs in order give 2/3, ties leave the count, a constant says nothing") {
  CHECK(kendall_tau({1, 2, 3, 4}, {1, 2, 4, 3}) == Approx(4.0 / 6));
  CHECK(kendall_tau({1, 2, 3, 4}, {4, 3, 2, 1}) == Approx(-1));
  CHECK(kendall_tau({1, 1, 2}, {1, 2, 3}) == Approx(2 / std::sqrt(2.0 * 3)));
  CHECK(kendall_tau({1, 1, 1}, {1, 2, 3}) == 0);
}

TEST_CASE("regret is what the layout predicted best takes longer than the best") {
  const auto groups = ranked_groups({row("a", 10, 4, 1), row("a", 12, 3, 1), row("a", 14, 5, 1), row("a", 16, 6, 1), row("b", 1, 1, 1)});
  REQUIRE(groups.size() == 1);  // b has too few rows
  CHECK(groups[0].regret == Approx(0.2));
  CHECK(groups[0].tau == Approx(4.0 / 6));
}

TEST_CASE("yardsticks: one factor a site takes a bias away, one MFU a model leaves what differs inside it") {
  const auto all = yardsticks({row("a", 2, 1, 1), row("a", 4, 2, 1), row("a", 6, 3, 1), row("b", 20, 10, 10)});
  REQUIRE(all.size() == 2);
  CHECK(all[1].source == "toy");
  CHECK(all[1].plain->median == Approx(0.5));
  CHECK(all[1].site->maximum == Approx(0).margin(1e-12));
  // MFU of a: 1/4 of the peak, so 4 for each: +100 %, 0, -33 %; b is exact.
  CHECK(all[1].mfu_by_model->maximum == Approx(1));
  CHECK(all[1].mfu_by_model->median == Approx((0.0 + 1.0 / 3) / 2));
}
