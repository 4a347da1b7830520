// Products on one, two and three axes: kernels, counts and bytes of collectives by the papers' formulas.
#include <catch2/catch.hpp>

#include "sim/cost/grid_product.hpp"
#include "sim/cost/memory.hpp"

using namespace trainyard;

namespace {

constexpr double kRows = 4096, kWidth = 1024, kOut = 2048;   // M, K, N

Operator product(TensorCut cut) {
  Operator op;
  op.name = "product";
  op.kind = OperatorClass::gemm;
  op.gemm_n = kOut;
  op.gemm_k = kWidth;
  op.parameters = kOut * kWidth;
  op.output.per_token = Bytes(2 * kOut);
  op.saved.per_token = Bytes(2 * kWidth);
  op.cut = cut;
  op.saved_cut = TensorCut::sequence;
  return op;
}

LayerCut on(ProductGrid grid) {
  LayerCut cut;
  cut.grid = grid;
  cut.tensor = grid.members();
  cut.tokens = kRows / 4;
  cut.sequences = 4;
  return cut;
}

DeviceType device() {
  DeviceType type;
  type.multiprocessors = 1;
  type.peak[DataType::fp16] = 100_TFLOPS;
  type.memory_bandwidth = BytesPerSecond(1e12);
  type.memory_efficiency = 1;
  type.gemm[DataType::fp16] = {1, 0, 0, 1, Seconds(0)};
  return type;
}

struct Exchanged {
  int gathers = 0, scatters = 0, reductions = 0;
  double received = 0;                   ///< bytes a device
};

Exchanged exchanged(const std::vector<Piece>& pieces, const LayerCut& cut) {
  Exchanged sum;
  for (const Piece& piece : pieces) {
    if (!piece.collective) continue;
    const LayerGroup axis = piece.collective->group;
    const double n = axis == LayerGroup::rows ? cut.grid.rows : axis == LayerGroup::columns ? cut.grid.columns : axis == LayerGroup::inner ? cut.grid.inner : cut.tensor;
    const double times = piece.collective->kind == CollectiveKind::all_reduce ? 2 : 1;
    sum.received += times * piece.collective->size.value * (n - 1) / n;
    sum.gathers += piece.collective->kind == CollectiveKind::all_gather;
    sum.scatters += piece.collective->kind == CollectiveKind::reduce_scatter;
    sum.reductions += piece.collective->kind == CollectiveKind::all_reduce;
  }
  return sum;
}

LayerWork work(const Operator& op, const LayerCut& cut) {
  Software software;
  software.sequence_parallel = false;
  return layer_work({"decoder", {op}}, cut, device(), DataType::fp16, software);
}

const GemmShape& kernel_of(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces)
    if (piece.kernel) return piece.kernel->shape;
  throw std::logic_error("no kernel");
}

}  // namespace

TEST_CASE("a cube gathers A and B and scatters C; backward it gathers dC, B and A and scatters dA and dB") {
  const LayerCut cut = on({4, 4, 4});
  const LayerWork done = work(product(TensorCut::column), cut);
  // 64 devices: M/4 x K/4 by K/4 x N/4. Each receives 3/4 of 2 (MK + KN + MN) / 16 bytes.
  CHECK(kernel_of(done.forward) == GemmShape{1024, 512, 256, 1});
  const Exchanged forward = exchanged(done.forward, cut), backward = exchanged(done.backward, cut);
  const double mk = kRows * kWidth, kn = kWidth * kOut, mn = kRows * kOut;
  CHECK(forward.gathers == 2);
  CHECK(forward.scatters == 1);
  CHECK(forward.received == 0.75 * 2 * (mk + kn + mn) / 16);
  CHECK(backward.gathers == 3);
  CHECK(backward.scatters == 2);
  CHECK(backward.received == 0.75 * 2 * (2 * mk + 2 * kn + mn) / 16);
}

TEST_CASE("communication of a cube falls with P to the two thirds, of a square with its root, of a line not at all") {
  const Operator op = product(TensorCut::row);
  const auto received = [&](ProductGrid grid) { return exchanged(work(op, on(grid)).forward, on(grid)).received; };
  // (c-1)/c³ and (q-1)/q² of what all devices hold: from 8 to 64 devices 8/3·... of the part that is exchanged is left.
  CHECK(received({2, 2, 2}) / received({4, 4, 4}) == Approx((1.0 / 8) / (3.0 / 64)));
  CHECK(received({2, 2, 1}) / received({8, 8, 1}) == Approx((1.0 / 4) / (7.0 / 64)));
  const auto line = [&](int p) {
    LayerCut cut = on({});
    cut.tensor = p;
    return exchanged(work(op, cut).forward, cut).received;
  };
  CHECK(line(8) == 2 * 7.0 / 8 * 2 * kRows * kOut);
  CHECK(line(64) == 2 * 63.0 / 64 * 2 * kRows * kOut);
}

TEST_CASE("without an inner axis a product moves what SUMMA moves") {
  const LayerCut cut = on({4, 4, 1});
  for (const TensorCut kind : {TensorCut::column, TensorCut::row}) {
    const LayerWork done = work(product(kind), cut);
    const Exchanged forward = exchanged(done.forward, cut);
    CHECK(kernel_of(done.forward) == GemmShape{1024, 512, 1024, 1});
    CHECK(forward.scatters == 0);
    CHECK(forward.received == 0.75 * 2 * (kRows * kWidth + kWidth * kOut) / 4);
  }
}

TEST_CASE("a product behind another is turned, so that its A lies where the other's C lies") {
  LayerCut cut = on({4, 2, 8});
  const GridProduct up = grid_product(product(TensorCut::column), cut, DataType::fp16), down = grid_product(product(TensorCut::row), cut, DataType::fp16);
  CHECK(up.shape == GemmShape{1024, 1024, 128, 1});
  CHECK(down.shape == GemmShape{1024, 256, 512, 1});
  CHECK(up.a.axis == LayerGroup::columns);
  CHECK(down.a.axis == LayerGroup::inner);
  CHECK(up.c.axis == down.a.axis);
}

TEST_CASE("weights and activations are spread over the whole cube; blocks of one product come on top") {
  Workload workload;
  Module module;
  module.types = {{"decoder", {product(TensorCut::column)}}};
  module.layers = {{"0", LayerTypeId(0), {}, {}}};
  workload.precision = DataType::fp16;
  const LayerId layer{0};
  const LayerCut cut = on({2, 2, 2});
  CHECK(parameters_on_device(module, std::span(&layer, 1), cut) == kWidth * kOut / 8);
  const ActivationMemory memory = activation_memory(module, std::span(&layer, 1), cut, device(), workload);
  CHECK(memory.kept == Bytes(2 * kRows * kWidth / 8));
  const double blocks = 2 * (kRows * kWidth + kWidth * kOut + kRows * kOut) / 4;
  CHECK(memory.forward_peak - memory.kept == Bytes(blocks));
  CHECK(memory.backward_peak >= Bytes(blocks));
}
