// Bytes of states and activations against published closed forms.
#include <catch2/catch.hpp>

#include "sim/cost/memory.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

std::vector<LayerId> all_layers(const Module& module) {
  std::vector<LayerId> layers;
  for (std::size_t i = 0; i < module.layers.size(); ++i) layers.push_back(id_at<LayerId>(i));
  return layers;
}

LayerCut cut_of(int tensor, bool sequence_parallel, RecomputeKind recompute) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequence_parallel = sequence_parallel;
  cut.recompute = recompute;
  cut.sequences = 1;
  cut.tokens = 2048;
  return cut;
}

const LayerId kDecoder = LayerId(1);

Bytes kept_by_a_layer(const LayerCut& cut) {
  const Workload workload = fixture::workload("gpt3-175b", 2048, "megatron-2021");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  return activation_memory(workload.modules[0], std::span(&kDecoder, 1), cut, cluster.type_of(DeviceId(0)), workload).kept;
}

constexpr double kSbh = 2048.0 * 12288;
constexpr double kScores = 5.0 * 96 * 2048 * 2048;

}  // namespace

TEST_CASE("ZeRO-0 holds 16 bytes a parameter in fp16 and ZeRO-1 shards the 12 of the optimizer") {
  const Workload workload = fixture::workload("gpt3-1.3b", 2048, "megatron-2021");
  const Module& module = workload.modules[0];
  const LayerCut cut = cut_of(1, false, RecomputeKind::none);
  const std::vector<LayerId> layers = all_layers(module);
  const double parameters = parameters_on_device(module, layers, cut);
  CHECK(static_memory(module, layers, cut, workload, 8, 0).total().value == Approx(16 * parameters));
  CHECK(static_memory(module, layers, cut, workload, 8, 1).total().value == Approx(5.5 * parameters));
}

TEST_CASE("activations of a layer: Korthikanti et al., Table 2") {
  CHECK(kept_by_a_layer(cut_of(1, false, RecomputeKind::none)).value == Approx(34 * kSbh + kScores));
  CHECK(kept_by_a_layer(cut_of(8, false, RecomputeKind::none)).value == Approx(kSbh * (10 + 24.0 / 8) + kScores / 8));
  CHECK(kept_by_a_layer(cut_of(8, true, RecomputeKind::none)).value == Approx((34 * kSbh + kScores) / 8));
  CHECK(kept_by_a_layer(cut_of(8, true, RecomputeKind::selective)).value == Approx(34 * kSbh / 8));
  CHECK(kept_by_a_layer(cut_of(1, false, RecomputeKind::full)).value == Approx(2 * kSbh));
}

TEST_CASE("what is lacking is told by class") {
  MemoryReport memory{"a100.0.0", 46_GB, 40_GB, {20_GB, 5_GB, 15_GB, 4_GB, Bytes(0), 2_GB}, Seconds(0)};
  CHECK(shortfall_text(memory) ==
        "does not fit: a100.0.0 lacks 6 GB (weights 20 GB · gradients 5 GB · optimizer 15 GB · activations 4 GB · reserved 2 GB; of 40 GB)");
}
