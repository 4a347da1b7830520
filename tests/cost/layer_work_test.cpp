// What a layer's pieces are made of.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/cost/kernel_time.hpp"
#include "sim/cost/layer_work.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

LayerCut cut_of(int tensor) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequences = 1;
  cut.tokens = 4096;
  return cut;
}

LayerWork decoder_work(const Workload& workload, const DeviceType& device, const LayerCut& cut) {
  return layer_work(workload.modules[0].types[1], cut, device, workload.precision, workload.software);
}

Flops products(const std::vector<Piece>& pieces) {
  Flops sum{};
  for (const Piece& piece : pieces)
    if (piece.kernel && piece.kernel->kind == OperatorClass::gemm) sum += piece.kernel->flops;
  return sum;
}

}  // namespace

TEST_CASE("a layer's products do 6 FLOPs a parameter and token, two thirds of them backward") {
  const Workload workload = fixture::workload("llama-2-7b", 4096, "megatron-core-2024", "bf16");
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  const LayerWork work = decoder_work(workload, cluster.type_of(DeviceId(0)), cut_of(1));
  const double matrices = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
  CHECK(products(work.forward).value == Approx(2 * matrices * 4096));
  CHECK(products(work.backward).value == Approx(4 * matrices * 4096));
}

TEST_CASE("fp8 products run on the fp8 curve, with a cast of each operand before them") {
  const Workload wide = fixture::workload("llama-2-7b", 4096, "megatron-core-2024", "bf16");
  const Workload narrow = fixture::workload("llama-2-7b", 4096, "megatron-core-2024", "fp8");
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  const DeviceType& device = cluster.type_of(DeviceId(0));
  const auto find = [&](const Workload& workload, const std::string& name) {
    const std::vector<Piece> pieces = decoder_work(workload, device, cut_of(1)).forward;
    const auto found = std::ranges::find(pieces, name, &Piece::name);
    return found == pieces.end() ? Kernel{} : *found->kernel;
  };
  CHECK(narrow.precision == DataType::bf16);
  CHECK(narrow.compute_type() == DataType::fp8);
  CHECK(find(narrow, "qkv").alone == gemm_time(device, DataType::fp8, find(narrow, "qkv").shape));
  CHECK(find(narrow, "qkv").alone < find(wide, "qkv").alone);
  CHECK(find(wide, "qkv cast").alone == Seconds(0));
  // 0.45 of 4 bytes an element of the input, 4,096 x 4,096.
  CHECK(find(narrow, "qkv cast").bytes.value == Approx(0.45 * 4 * 4096 * 4096));
  CHECK(find(narrow, "attention").alone == find(wide, "attention").alone);
}

TEST_CASE("a tensor axis adds two all-reduces forward and two backward, or gathers and scatters with sequence parallelism") {
  const Workload workload = fixture::workload("llama-2-7b", 4096, "megatron-2021", "bf16");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const auto count = [&](const std::vector<Piece>& pieces, CollectiveKind kind) {
    return std::ranges::count_if(pieces, [&](const Piece& piece) { return piece.collective && piece.collective->kind == kind; });
  };
  LayerCut cut = cut_of(8);
  LayerWork work = decoder_work(workload, cluster.type_of(DeviceId(0)), cut);
  CHECK(count(work.forward, CollectiveKind::all_reduce) == 2);
  CHECK(count(work.backward, CollectiveKind::all_reduce) == 2);
  cut.sequence_parallel = true;
  work = decoder_work(workload, cluster.type_of(DeviceId(0)), cut);
  CHECK(count(work.forward, CollectiveKind::all_gather) == 2);
  CHECK(count(work.forward, CollectiveKind::reduce_scatter) == 2);
  CHECK(count(work.backward, CollectiveKind::all_gather) == 4);  // two gather the inputs again for the weight gradients
  CHECK(count(work.backward, CollectiveKind::reduce_scatter) == 2);
}

// 16 of 128 experts here, 4 of them a token: 4,096 x 4 rows of 2,880. Casts move 4 bytes an element in 16 kernels; the second bias 28 bytes
// an element forward in 2 x 16 kernels, 40 backward in 6 x 16.
TEST_CASE("experts with biases: a cast and a bias an expert, none where one kernel does all") {
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  const DeviceType& device = cluster.type_of(DeviceId(0));
  LayerCut cut = cut_of(1);
  cut.experts = {.ranks = 8, .apart = true, .items = 16};
  const auto find = [&](const std::string& software, bool backward, const std::string& name) {
    const Workload workload = fixture::workload("gpt-oss-120b", 4096, software, "fp8");
    const LayerWork work = decoder_work(workload, device, cut);
    const std::vector<Piece>& pieces = backward ? work.backward : work.forward;
    const auto found = std::ranges::find(pieces, name, &Piece::name);
    return found == pieces.end() ? Kernel{} : *found->kernel;
  };
  const double elements = 4096.0 * 4 * 2880;
  const auto in_kernels = [&](Bytes bytes, int kernels) { return memory_bound_time(device, bytes) + device.kernel_launch * double(kernels - 1); };
  CHECK(find("nemo-2024", false, "experts_up cast").bytes.value == Approx(4 * elements));
  CHECK(find("nemo-2024", false, "experts_up cast").alone.value == Approx(in_kernels(Bytes(4 * elements), 16).value));
  CHECK(find("nemo-2024", false, "experts_bias").bytes.value == Approx(28 * elements));
  CHECK(find("nemo-2024", false, "experts_bias").alone.value == Approx(in_kernels(Bytes(28 * elements), 32).value));
  CHECK(find("nemo-2024", true, "experts_bias").bytes.value == Approx(40 * elements));
  CHECK(find("nemo-2024", true, "experts_bias").alone.value == Approx(in_kernels(Bytes(40 * elements), 96).value));
  CHECK(find("{preset: nemo-2024, fused_experts: true}", false, "experts_bias").bytes == Bytes(0));
  CHECK(find("{preset: nemo-2024, fused_experts: true}", false, "experts_up cast").bytes == Bytes(0));
}

// 16 bits of 4 x 2,880 elements a token, read and written: before the products and behind them, and so do their gradients.
TEST_CASE("rows of fp8 experts are padded in copies, but not in bf16 nor where the exchange or one kernel does it") {
  const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
  LayerCut cut = cut_of(1);
  cut.experts = {.ranks = 8, .apart = true, .items = 16};
  const auto padded = [&](const std::string& software, const std::string& precision, bool backward) {
    const LayerWork work = decoder_work(fixture::workload("gpt-oss-120b", 4096, software, precision), cluster.type_of(DeviceId(0)), cut);
    Bytes sum{};
    for (const Piece& piece : backward ? work.backward : work.forward)
      if (piece.name == "dispatch pad" || piece.name == "combine pad") sum += piece.kernel->bytes;
    return sum.value;
  };
  CHECK(padded("nemo-2024", "fp8", false) == Approx(2 * 4 * 4096.0 * 4 * 2880));
  CHECK(padded("nemo-2024", "fp8", true) == Approx(2 * 4 * 4096.0 * 4 * 2880));
  CHECK(padded("nemo-2024", "bf16", false) == 0);
  CHECK(padded("{preset: nemo-2024, deduplicates_dispatch: true}", "fp8", false) == 0);
  CHECK(padded("{preset: nemo-2024, fused_experts: true}", "fp8", false) == 0);
}

TEST_CASE("a convolution's gradients have the shapes of convolutions") {
  const Workload workload = fixture::workload("sdxl", 16384, "torchtitan-2024", "bf16");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const auto pieces_of = [&](std::size_t layer, double tokens, const std::string& name) {
    LayerCut cut = cut_of(1);
    cut.tokens = tokens;
    const LayerType& type = workload.modules[0].types[index(workload.modules[0].layers[layer].type)];
    const LayerWork work = layer_work(type, cut, cluster.type_of(DeviceId(0)), workload.precision, workload.software);
    std::vector<GemmShape> shapes;
    for (const auto* pieces : {&work.forward, &work.backward})
      for (const Piece& piece : *pieces)
        if (piece.name == name) shapes.push_back(piece.kernel->shape);
    return shapes;
  };
  // From 320 to 640 channels over 4,096 positions; the input gradient's windows are of outputs.
  CHECK(pieces_of(4, 4096, "convolution_1") == std::vector<GemmShape>{{4096, 640, 9 * 320, 1}, {4096, 320, 9 * 640, 1}, {9 * 320, 640, 4096, 1}});
  // At every second position: four inputs an output, each of which 9/4 outputs read.
  CHECK(pieces_of(3, 4096, "shrink") == std::vector<GemmShape>{{4096, 320, 9 * 320, 1}, {4096, 4 * 320, 9 * 320 / 4.0, 1}, {9 * 320, 320, 4096, 1}});
}
