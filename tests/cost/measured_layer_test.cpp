// Times between and beyond measured micro-batches.
#include "sim/cost/measured_layer.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

namespace {

Seconds forward_at(const std::vector<MeasuredPoint>& points, double samples) {
  return measured_at({"A100-SXM4-40GB", 1, points, ""}, samples).forward;
}

MeasuredPoint point(double samples, double milliseconds) { return {samples, Seconds(milliseconds * 1e-3), {}, {}}; }

std::vector<std::string> notes_at(double samples) { return notes_on({"A100-SXM4-40GB", 2, {point(2, 3), point(4, 5)}, ""}, samples); }

}  // namespace

TEST_CASE("between measurements times lie on the straight line") {
  const std::vector<MeasuredPoint> points{point(1, 2), point(2, 3), point(4, 7)};
  CHECK(forward_at(points, 1).value == Approx(2e-3));
  CHECK(forward_at(points, 1.5).value == Approx(2.5e-3));
  CHECK(forward_at(points, 2).value == Approx(3e-3));
  CHECK(forward_at(points, 3).value == Approx(5e-3));
  CHECK(forward_at(points, 4).value == Approx(7e-3));
}

TEST_CASE("beyond them on the outer line, held above what cannot be") {
  CHECK(forward_at({point(2, 3), point(4, 5)}, 8).value == Approx(9e-3));
  CHECK(forward_at({point(2, 3), point(4, 5)}, 1).value == Approx(2e-3));
  // The line through 2 -> 3 and 4 -> 9 is negative at 0.5; a quarter of 3 is not.
  CHECK(forward_at({point(2, 3), point(4, 9)}, 0.5).value == Approx(0.75e-3));
  // A line that falls says nothing of larger micro-batches.
  CHECK(forward_at({point(2, 5), point(4, 3)}, 8).value == Approx(3e-3));
  CHECK(forward_at({point(32, 8)}, 8).value == Approx(2e-3));
  CHECK(forward_at({point(32, 8)}, 64).value == Approx(16e-3));
}

TEST_CASE("all amounts of a micro-batch follow the line") {
  const MeasuredPoint at = measured_at({"g", 1, {{2, 1_ms, 2_ms, 10_MB}, {4, 2_ms, 6_ms, 30_MB}}, ""}, 3);
  CHECK(at.samples == 3);
  CHECK(at.forward.value == Approx(1.5e-3));
  CHECK(at.backward.value == Approx(4e-3));
  CHECK(at.saved.value == Approx(20e6));
}

TEST_CASE("only what lies outside is noted") {
  CHECK(notes_at(2).empty());
  CHECK(notes_at(3).empty());
  CHECK(notes_at(1) == std::vector<std::string>{"A100-SXM4-40GB, tensor 2: micro-batches of 1, measured are 2 to 4"});
  CHECK(notes_at(16) == std::vector<std::string>{"A100-SXM4-40GB, tensor 2: micro-batches of 16, measured are 2 to 4"});
}
