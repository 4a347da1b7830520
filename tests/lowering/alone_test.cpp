// Communication in closed form, for ablations.
#include <catch2/catch.hpp>

#include "sim/lowering/alone.hpp"

using namespace trainyard;

namespace {

Kernel kernel(Seconds alone) {
  Kernel made;
  made.alone = alone;
  return made;
}

}  // namespace

TEST_CASE("alone: flows become the longest of latency + bytes over the narrowest channel; a kernel beside them takes what is longer") {
  TaskGraph graph;
  graph.channels = {{"wide", BytesPerSecond(4e9)}, {"narrow", BytesPerSecond(1e9)}};
  graph.paths = {{{{ChannelId{0}, 1}, {ChannelId{1}, 1}}, {}, Seconds(1e-3)}, {{{ChannelId{0}, 8}}, {}, {}}, {{}, BytesPerSecond(5e8), {}}};
  Task task;
  task.phases.push_back({Seconds(1), std::nullopt, {{PathId{0}, Bytes(1e9)}, {PathId{1}, Bytes(2e8)}}});
  task.phases.push_back({{}, kernel(Seconds(3)), {{PathId{2}, Bytes(1e9)}}});
  task.phases.push_back({{}, kernel(Seconds(1)), {{PathId{2}, Bytes(1e9)}}});
  graph.tasks.push_back(task);
  make_communication_alone(graph);
  const auto& phases = graph.tasks[0].phases;
  CHECK(phases[0].delay.value == Approx(1 + 1.001));  // 1 GB over 1 GB/s and 1 ms, longer than 8 x 0.2 GB over 4 GB/s
  CHECK(phases[1].kernel->alone.value == Approx(3));
  CHECK(phases[2].kernel->alone.value == Approx(2));
  for (const TaskPhase& phase : phases) CHECK(phase.flows.empty());
}
