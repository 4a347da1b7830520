// Pictures of states that live on the host: fetches, copies back, hosts' updates.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

Home slots(int buffers) { return {Place::host, {}, buffers, false}; }

/// A GPU with a host; 16-bit gradients.
SmallCase beside_host(const ClusterShape& nodes, const WorkloadShape& model, const std::map<State, Home>& home) {
  SmallCase small(nodes, model, {});
  small.workload.software.gradient_type = small.workload.software.gradient_reduce_type = DataType::fp16;
  small.settings().home = home;
  return small;
}

/// Two layers of 62.5 M parameters whose copies over PCIe take 1 ms; 257 cores update them in 3 ms (48 cores 10 G
/// parameters in 2.57 s).
SmallCase slow_updates(Update update) {
  const double parameters = 62.5e6;
  SmallCase small = beside_host(
      {.gpus_per_switch = 1, .pcie = Bytes(2 * parameters) / 1_ms, .dram = BytesPerSecond(1e14), .cores = 257},
      {.layers = 2, .batch = 1, .parameters = parameters}, {{State::optimizer, slots(0)}});
  small.workload.optimizer = "adam";
  small.settings().update = update;
  return small;
}

}  // namespace

TEST_CASE("picture: offload_weights") {
  const RunResult run = beside_host({.gpus_per_switch = 1}, {.layers = 2, .batch = 1, .parameters = 15e6},
                                    {{State::weights, slots(2)}, {State::optimizer, slots(0)}})
                            .run();
  CHECK(near(run.timeline.makespan, 5 * 3_ms));
  check_picture("offload_weights", run);
}

TEST_CASE("picture: offload_activations") {
  const RunResult run =
      beside_host({.gpus_per_switch = 1}, {.layers = 4, .batch = 1, .saved = 10_MB}, {{State::activations, slots(2)}})
          .run();
  CHECK(near(run.timeline.makespan, 4_ms + 2_ms + 8_ms));
  check_picture("offload_activations", run);
}

TEST_CASE("picture: offload_optimizer") {
  const RunResult run = slow_updates(Update::end).run();
  CHECK(near(run.timeline.makespan, 6_ms + 1_ms + 2 * 3_ms + 1_ms));
  check_picture("offload_optimizer", run);
}

TEST_CASE("picture: update_layer") {
  const RunResult run = slow_updates(Update::layer).run();
  CHECK(near(run.timeline.makespan, 4_ms + 1_ms + 2 * 3_ms + 1_ms));
  check_picture("update_layer", run);
}
