// SimGrid against the reference executor: two programs that share no line agree on every start and every end.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/engine/workers.hpp"
#include "tests/engine/graphs.hpp"
#include "tests/reference/reference_executor.hpp"

using namespace trainyard;

namespace {

bool same(Seconds a, Seconds b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
  return std::abs(a.value - b.value) <= 1e-9 * std::max(a.value, b.value) + 1e-12;
}

void check_same(const Timeline& simgrid, const Timeline& reference) {
  REQUIRE(simgrid.start.size() == reference.start.size());
  for (std::size_t i = 0; i < simgrid.start.size(); ++i) {
    INFO("task " << i << ": SimGrid " << simgrid.start[i].value << " to " << simgrid.end[i].value << ", reference "
                 << reference.start[i].value << " to " << reference.end[i].value);
    CHECK(same(simgrid.start[i], reference.start[i]));
    CHECK(same(simgrid.end[i], reference.end[i]));
    CHECK(simgrid.status[i] == reference.status[i]);
  }
  CHECK(same(simgrid.makespan, reference.makespan));
  CHECK(simgrid.stopped_early == reference.stopped_early);
  CHECK(simgrid.halt.empty() == reference.halt.empty());
}

void compare(const std::vector<SimulationRequest>& requests) {
  const WorkerNursery nursery = WorkerNursery::start();
  const std::vector<SimulationResult> results = nursery.run(requests, 2);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    INFO("seed " << i);
    const SimulationRequest& request = requests[i];
    if (const auto* failure = std::get_if<WorkerFailure>(&results[i])) FAIL_CHECK(failure->why << "\n" << failure->last_words);
    RunOn run_on;
    StopAtLoss stop;
    Controller& controller = request.stop_at_loss ? static_cast<Controller&>(stop) : run_on;
    const Timeline reference = ReferenceExecutor().run(unroll(request.graph, request.steps), request.events, controller);
    if (const auto* timeline = std::get_if<Timeline>(&results[i])) check_same(*timeline, reference);
  }
}

}  // namespace

TEST_CASE("300 random graphs run as in the reference executor") {
  std::vector<SimulationRequest> requests;
  for (unsigned seed = 0; seed < 300; ++seed) requests.push_back({random_graph(seed), {}, false});
  compare(requests);
}

TEST_CASE("100 random graphs, several times in a row, run as their unrolled copies in the reference executor") {
  std::vector<SimulationRequest> requests;
  for (unsigned seed = 3000; seed < 3100; ++seed) {
    TaskGraph graph = random_graph(seed);
    const std::size_t last = graph.tasks.size() - 1;
    graph.edges.push_back({id_at<TaskId>(last), id_at<TaskId>(last / 2), 1});
    graph.edges.push_back({id_at<TaskId>(last / 3), TaskId{0}, 2});
    requests.push_back({std::move(graph), {}, false, 2 + int(seed % 3)});
  }
  compare(requests);
}

TEST_CASE("150 random graphs whose capacities change run as in the reference executor") {
  std::vector<SimulationRequest> requests;
  for (unsigned seed = 1000; seed < 1150; ++seed) {
    const TaskGraph graph = random_graph(seed);
    requests.push_back({graph, random_events(graph, seed, false), false});
  }
  compare(requests);
}

TEST_CASE("150 random graphs that lose processors run as in the reference executor") {
  std::vector<SimulationRequest> requests;
  for (unsigned seed = 2000; seed < 2150; ++seed) {
    const TaskGraph graph = random_graph(seed);
    requests.push_back({graph, random_events(graph, seed, true), seed % 3 == 0});
  }
  compare(requests);
}
