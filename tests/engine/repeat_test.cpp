// A step that is simulated over and over ends as soon as it repeats.
#include <catch2/catch.hpp>

#include "sim/engine/workers.hpp"
#include "sim/model/step_times.hpp"
#include "tests/engine/graphs.hpp"

using namespace trainyard;

namespace {

Timeline until_it_repeats(const TaskGraph& graph) {
  const WorkerNursery nursery = WorkerNursery::start();
  return std::get<Timeline>(nursery.run({{graph, {}, false, 16, true}}, 1).front());
}

std::vector<Seconds> starts_of(const std::vector<double>& distances) {
  std::vector<Seconds> starts{Seconds(0)};
  for (const double distance : distances) starts.push_back(starts.back() + Seconds(distance));
  return starts;
}

}  // namespace

TEST_CASE("the shortest period of the starts is found, the first distance aside") {
  CHECK(!period_of(starts_of({1})));
  CHECK(!period_of(starts_of({1, 1})));
  CHECK(period_of(starts_of({9, 1, 1})) == 1);
  CHECK(!period_of(starts_of({9, 1, 1 + 1e-6})));
  CHECK(!period_of(starts_of({1, 2, 1, 2})));
  CHECK(period_of(starts_of({9, 2, 1, 2, 1})) == 2);
  CHECK(period_of(starts_of({9, 3, 1, 2, 3, 1, 2})) == 3);
  CHECK(!period_of(starts_of({9, 1, 2, 3, 4, 5, 6, 7, 8})));
}

TEST_CASE("a step like the one before needs two steps, and the third only begins") {
  GraphBuilder build;
  const StreamId stream = build.stream(build.processor());
  build.kernel(stream, 1_s);
  build.kernel(stream, 2_s);
  const Timeline timeline = until_it_repeats(build.graph);
  CHECK(timeline.stopped_early);
  REQUIRE(timeline.start.size() == 6);
  CHECK(timeline.start[2].value == Approx(3).epsilon(1e-12));
  CHECK(timeline.start[4].value == Approx(6).epsilon(1e-12));
}

// Processor a works 1 s a step, b 3 s, and a may be five steps ahead of b: until then it seems to repeat every second.
TEST_CASE("a warm-up of several steps is waited for") {
  GraphBuilder build;
  const TaskId a = build.kernel(build.stream(build.processor("a")), 1_s), b = build.kernel(build.stream(build.processor("b")), 3_s);
  build.edge(a, b);
  build.graph.edges.push_back({b, a, 6});
  const Timeline timeline = until_it_repeats(build.graph);
  CHECK(timeline.stopped_early);
  std::vector<Seconds> starts;
  for (std::size_t i = 0; i < timeline.start.size(); i += 2) starts.push_back(timeline.start[i]);
  REQUIRE(period_of(starts) == 1);
  CHECK((starts.back() - starts[starts.size() - 2]).value == Approx(3).epsilon(1e-12));
}
