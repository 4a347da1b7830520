// What the software's switches do to kernels, collectives and bytes, against counts by hand.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/cost/gradient_traffic.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/memory.hpp"
#include "sim/cost/selective_recompute.hpp"
#include "sim/model/device_rates.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

LayerCut cut_of(int tensor, double tokens) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequence_parallel = tensor > 1;
  cut.sequences = 1;
  cut.tokens = tokens;
  return cut;
}

LayerWork decoder_work(const Workload& workload, const Cluster& cluster, const LayerCut& cut) {
  return layer_work(workload.modules[0].types[1], cut, cluster.type_of(DeviceId(0)), workload.precision, workload.software);
}

double sum_of(const std::vector<Piece>& pieces, TaskKind kind) {
  double sum = 0;
  for (const Piece& piece : pieces)
    if (piece.kernel && piece.kind == kind) sum += piece.kernel->alone.value;
  return sum;
}

double moved(const std::vector<Piece>& pieces, CollectiveKind kind, bool beside) {
  double sum = 0;
  for (const Piece& piece : pieces)
    if (piece.collective && piece.collective->kind == kind && piece.kernel.has_value() == beside) sum += piece.collective->size.value;
  return sum;
}

}  // namespace

TEST_CASE("gradients: 6 bytes to add 16-bit ones, 10 to add them in fp32, 0.45 of 6 in the product's epilogue, 6 to copy sharded ones") {
  LayerCut cut = cut_of(1, 2048);
  Software software;
  software.gradient_type = DataType::fp16;
  CHECK(gradient_traffic(1e6, DataType::fp16, cut, software, true) == Bytes(0));  // the only micro-batch has nothing to add to
  cut.accumulated = 0.75;
  CHECK(gradient_traffic(1e6, DataType::fp16, cut, software, true).value == Approx(0.75 * 6e6));
  software.gradient_type = DataType::fp32;
  CHECK(gradient_traffic(1e6, DataType::bf16, cut, software, true).value == Approx(10e6));
  software.fused_gradient_accumulation = true;
  CHECK(gradient_traffic(1e6, DataType::bf16, cut, software, true).value == Approx(0.45 * 6e6));
  CHECK(gradient_traffic(1e6, DataType::bf16, cut, software, false).value == Approx(10e6));  // tables have no product
  cut.sharded = true;
  software.gradient_reduce_type = DataType::fp32;
  CHECK(gradient_traffic(1e6, DataType::bf16, cut, software, true).value == Approx(6e6));
}

TEST_CASE("a layer's weight gradients take the time of their traffic besides; the last micro-batch of one has none") {
  const Workload workload = fixture::workload("gpt3-6.7b", 2048, "megatron-2021");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  LayerCut cut = cut_of(1, 2048);
  const double once = sum_of(decoder_work(workload, cluster, cut).backward, TaskKind::weight_gradient);
  cut.accumulated = 1;
  const double added = sum_of(decoder_work(workload, cluster, cut).backward, TaskKind::weight_gradient) - once;
  double parameters = 0;
  for (const Operator& op : workload.modules[0].types[1].operators)
    if (op.kind == OperatorClass::gemm && op.attention.heads == 0) parameters += op.parameters;
  CHECK(added == Approx(6 * parameters / (2039e9 * 0.72) + 4 * 2e-6));  // four products, four launches
}

TEST_CASE("sharded layers copy their weights after each gather: 4 bytes a parameter, twice with a regather") {
  const Workload workload = fixture::workload("llama-2-7b", 2048, "torchtitan-2024", "bf16");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  LayerCut cut = cut_of(1, 2048);
  cut.sharded = true;
  const auto copies = [&](const std::vector<Piece>& pieces) { return std::ranges::count(pieces, "gathered weights", &Piece::name); };
  const LayerWork work = decoder_work(workload, cluster, cut);
  const double parameters = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
  CHECK(work.forward.front().kernel->bytes.value == Approx(4 * parameters));
  CHECK(copies(work.forward) == 1);
  CHECK(copies(work.backward) == 1);
  cut.regathers = false;
  CHECK(copies(decoder_work(workload, cluster, cut).backward) == 0);
}

TEST_CASE("selective recompute that keeps products: k, proj and up of Llama 3 8B again, the other four outputs and attention's kept") {
  const Workload workload = fixture::workload("llama-3-8b", 8192, "torchtitan-2024", "bf16");
  const LayerType& layer = workload.modules[0].types[1];
  double again = 0;
  const std::vector<Repeated> repeated = repeated_work(layer, RecomputeKind::selective, DataType::bf16, workload.software);
  for (std::size_t i = 0; i < repeated.size(); ++i)
    if (layer.operators[i].kind == OperatorClass::gemm) again += repeated[i].share * layer.operators[i].gemm_n * layer.operators[i].gemm_k;
  CHECK(again == Approx(4096.0 * (1024 + 4096 + 14336)));
  // q, v, attention, gate and down: 2 bytes each, and 4 bytes a head for the log-sum-exp.
  const double kept = 2.0 * (4096 + 1024 + 4096 + 14336 + 4096) + 4 * 32;
  CHECK(kept_products(layer, cut_of(1, 8192), DataType::bf16, workload.software).value == Approx(8192 * kept));
  const LayerId decoder = LayerId(1);
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  LayerCut cut = cut_of(1, 8192);
  cut.recompute = RecomputeKind::selective;
  CHECK(activation_memory(workload.modules[0], std::span(&decoder, 1), cut, cluster.type_of(DeviceId(0)), workload).kept.value ==
        Approx(8192 * (kept + 2 * 4096)));
}

TEST_CASE("products in parts: one part of t of a gather or scatter is exposed, the rest stands beside its product") {
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  const LayerCut cut = cut_of(4, 4096);
  const double all = 2.0 * 4096 * 4096 * 2;  // two collectives of bf16 activations
  const LayerWork parts = decoder_work(fixture::workload("llama-2-7b", 4096, "{preset: nemo-2024, splits_tensor_products: true}", "bf16"), cluster, cut);
  CHECK(moved(parts.forward, CollectiveKind::all_gather, false) == Approx(all / 4));
  CHECK(moved(parts.forward, CollectiveKind::all_gather, true) == Approx(all * 3 / 4));
  CHECK(moved(parts.forward, CollectiveKind::reduce_scatter, false) == Approx(all / 4));
  CHECK(moved(parts.forward, CollectiveKind::reduce_scatter, true) == Approx(all * 3 / 4));
  CHECK(moved(parts.backward, CollectiveKind::all_gather, false) == Approx(all / 4));
  const LayerWork whole = decoder_work(fixture::workload("llama-2-7b", 4096, "nemo-2024", "bf16"), cluster, cut);
  CHECK(moved(whole.forward, CollectiveKind::all_gather, false) == Approx(all));
  CHECK(moved(whole.forward, CollectiveKind::all_gather, true) == 0);
}

TEST_CASE("fp8 weights alone: one byte a parameter of the products, two of the rest") {
  const Workload wide = fixture::workload("llama-2-7b", 4096, "nemo-2024", "fp8");
  const Workload narrow = fixture::workload("llama-2-7b", 4096, "{preset: nemo-2024, narrow_weights: true}", "fp8");
  const LayerId decoder = LayerId(1);
  const double matrices = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
  const auto weights = [&](const Workload& w) {
    return static_memory(w.modules[0], std::span(&decoder, 1), cut_of(1, 4096), w, 8, 1).weights.value;
  };
  CHECK(weights(wide) == Approx(2 * (matrices + 2 * 4096)));
  CHECK(weights(narrow) == Approx(matrices + 2 * 2 * 4096));
}

TEST_CASE("DeepSpeed's optimizer holds its part of the gradients in fp32, and bf16 gradients beside fp32 sums") {
  const LayerId decoder = LayerId(1);
  const auto held = [&](const std::string& precision) {
    const Workload w = fixture::workload("gpt3-6.7b", 2048, "deepspeed-2022", precision);
    return static_memory(w.modules[0], std::span(&decoder, 1), cut_of(1, 2048), w, 8, 1);
  };
  const double parameters = held("fp16").weights.value / 2;
  CHECK(held("fp16").optimizer.value == Approx(16 * parameters / 8));
  CHECK(held("fp16").gradients.value == Approx(2 * parameters));
  CHECK(held("bf16").gradients.value == Approx(6 * parameters));
}

TEST_CASE("tf32 products run in fp32 where the GPU has no tf32") {
  const Cluster turing = fixture::one_node("T4-16GB"), ampere = fixture::one_node("A100-SXM4-80GB");
  CHECK(peak_rate(turing.type_of(DeviceId(0)), DataType::tf32) == turing.type_of(DeviceId(0)).peak.at(DataType::fp32));
  CHECK(peak_rate(ampere.type_of(DeviceId(0)), DataType::tf32) == 156_TFLOPS);
  CHECK_FALSE(peak_rate(turing.type_of(DeviceId(0)), DataType::bf16));
}

// Norms of 7,168; q_norm of 1,536, q_up 1,536 x 128 x 192, kv_norm, kv_up 512 x 128 x 256 and the rotation. Not kept: the norms' output, twice
// 2 x 7,168; the inputs of q_up and kv_up; Q, K and V with their rotated part (2 x 128 x (2 x 192 + 128) + 2 x 64).
TEST_CASE("selective recompute of named parts: norms and latent attention's second products again, and their outputs not kept") {
  const std::string parts = "{preset: megatron-core-2024, attention: cudnn, selective: [norms, latent]}";
  const Workload workload = fixture::workload("deepseek-v3", 4096, parts, "bf16");
  const auto dense = std::ranges::find_if(workload.modules[0].types, [](const LayerType& type) { return type.name == "decoder"; });
  double again = 0;
  int norms = 0;
  const std::vector<Repeated> repeated = repeated_work(*dense, RecomputeKind::selective, DataType::bf16, workload.software);
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    if (dense->operators[i].kind == OperatorClass::gemm) again += repeated[i].share * dense->operators[i].parameters;
    if (dense->operators[i].group == "norm") norms += int(repeated[i].share);
  }
  CHECK(again == Approx(1536.0 * 128 * 192 + 512.0 * 128 * 256));
  CHECK(norms == 4);
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  const LayerId layer = LayerId(1);
  const auto kept = [&](RecomputeKind kind) {
    LayerCut cut = cut_of(1, 4096);
    cut.recompute = kind;
    return activation_memory(workload.modules[0], std::span(&layer, 1), cut, cluster.type_of(DeviceId(0)), workload).kept.value;
  };
  const double dropped = 2 * 2 * 7168 + 2 * (1536 + 512) + 2.0 * 128 * (2 * 192 + 128) + 2 * 64;
  CHECK(kept(RecomputeKind::none) - kept(RecomputeKind::selective) == Approx(4096 * dropped));
}
