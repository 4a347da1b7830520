// Low-rank adapters: no weight gradients and no states of what is frozen.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/cost/layer_work.hpp"
#include "sim/cost/memory.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

constexpr double kTokens = 4096, kHidden = 4096, kFfn = 11008, kRank = 16;
constexpr double kMatrices = 4 * kHidden * kHidden + 3 * kHidden * kFfn;

Workload llama(const std::string& method, const std::string& software = "megatron-2021") {
  return fixture::workload("llama-2-7b", kTokens, software, "bf16", method);
}

LayerCut cut_of(int tensor, bool sequence_parallel = false) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequence_parallel = sequence_parallel;
  cut.sequences = 1;
  cut.tokens = kTokens;
  return cut;
}

LayerWork decoder_work(const Workload& workload, const LayerCut& cut) {
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  return layer_work(workload.modules[0].types[1], cut, cluster.type_of(DeviceId(0)), workload.precision, workload.software);
}

/// Of products with weights: those of attention have a batch of heads.
Flops products(const std::vector<Piece>& pieces, std::optional<TaskKind> kind = {}) {
  Flops sum{};
  for (const Piece& piece : pieces)
    if (piece.kernel && piece.kernel->kind == OperatorClass::gemm && piece.kernel->shape.batch == 1 && (!kind || piece.kind == *kind))
      sum += piece.kernel->flops;
  return sum;
}

long count(const std::vector<Piece>& pieces, CollectiveKind kind) {
  return std::ranges::count_if(pieces, [&](const Piece& piece) { return piece.collective && piece.collective->kind == kind; });
}

std::vector<LayerId> all_layers(const Module& module) {
  std::vector<LayerId> layers;
  for (std::size_t i = 0; i < module.layers.size(); ++i) layers.push_back(id_at<LayerId>(i));
  return layers;
}

}  // namespace

TEST_CASE("a frozen layer computes input gradients, and weight gradients of the adapters alone") {
  const double adapters = kRank * ((kHidden + 3 * kHidden) + (kHidden + kHidden) + (kHidden + 2 * kFfn) + (kFfn + kHidden));
  const LayerWork work = decoder_work(llama("{lora: {rank: 16}}"), cut_of(1));
  CHECK(products(work.forward).value == Approx(2 * (kMatrices + adapters) * kTokens));
  CHECK(products(work.backward).value == Approx((2 * kMatrices + 4 * adapters) * kTokens));
  CHECK(products(work.backward, TaskKind::weight_gradient).value == Approx(2 * adapters * kTokens));
}

TEST_CASE("with a tensor axis an adapter adds small collectives, and a gather beside a row-cut product") {
  const Workload column = llama("{lora: {rank: 16, targets: [qkv]}}"), row = llama("{lora: {rank: 16, targets: [proj]}}");
  LayerWork work = decoder_work(column, cut_of(2));
  CHECK(count(work.forward, CollectiveKind::all_gather) == 1);  // of the inner product
  CHECK(count(work.forward, CollectiveKind::all_reduce) == 2);
  CHECK(count(work.backward, CollectiveKind::all_reduce) == 3);  // one of the inner product's gradient
  work = decoder_work(row, cut_of(2));
  CHECK(count(work.forward, CollectiveKind::all_gather) == 1);  // of the adapter's output
  CHECK(count(work.forward, CollectiveKind::all_reduce) == 3);  // one of the inner product
  CHECK(count(work.backward, CollectiveKind::all_reduce) == 3);
  work = decoder_work(column, cut_of(2, true));
  CHECK(count(work.forward, CollectiveKind::all_gather) == 3);
  CHECK(count(work.forward, CollectiveKind::reduce_scatter) == 2);
  CHECK(count(work.backward, CollectiveKind::all_gather) == 2);  // no input is gathered again: none is needed, or it was kept whole
  CHECK(count(work.backward, CollectiveKind::reduce_scatter) == 2);
  CHECK(count(work.backward, CollectiveKind::all_reduce) == 1);
}

TEST_CASE("frozen parameters take 2 bytes; adapters gradients and 12 bytes of the optimizer too") {
  const Workload workload = llama("{lora: {rank: 16}}");
  const Module& module = workload.modules[0];
  const std::vector<LayerId> layers = all_layers(module);
  const double trained = 32 * kRank * ((kHidden + 3 * kHidden) + (kHidden + kHidden) + (kHidden + 2 * kFfn) + (kFfn + kHidden));
  const double all = parameter_count(module);
  CHECK(trained_parameters_on_device(module, layers, cut_of(1)) == Approx(trained));
  const StaticMemory whole = static_memory(module, layers, cut_of(1), workload, 4, 0);
  CHECK(whole.weights.value == Approx(2 * all));
  CHECK(whole.gradients.value == Approx(4 * trained));
  CHECK(whole.optimizer.value == Approx(12 * trained));
  CHECK(static_memory(module, layers, cut_of(1), workload, 4, 1).optimizer.value == Approx(3 * trained));
  CHECK(static_memory(module, layers, cut_of(4), workload, 1, 0).optimizer.value == Approx(3 * trained));
  const StaticMemory parts = static_memory(module, layers, cut_of(1), workload, 4, 3);
  CHECK(parts.total().value == Approx((16 * trained + 2 * (all - trained)) / 4));
}

TEST_CASE("a layer keeps what attention, norms and the activation read, and the inputs of adapters") {
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const LayerId decoder = LayerId(1);
  const auto kept = [&](const Workload& workload) {
    return activation_memory(workload.modules[0], std::span(&decoder, 1), cut_of(1), cluster.type_of(DeviceId(0)), workload).kept;
  };
  const Bytes full = kept(llama("backprop", "megatron-core-2024")), lora = kept(llama("{lora: {rank: 16, targets: [qkv]}}", "megatron-core-2024"));
  // Of the four inputs, 2 bytes an element: those of mlp_up and mlp_down go; the inner product comes.
  CHECK((full - lora).value == Approx(2 * kTokens * (kHidden + kFfn - kRank)));
}
