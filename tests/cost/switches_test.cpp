// Collectives of parallel branches, and what the software's switches change in time and memory.
#include <catch2/catch.hpp>
#include <map>

#include "sim/cost/kernel_time.hpp"
#include "sim/cost/memory.hpp"
#include "sim/cost/stage_work.hpp"
#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

using Counts = std::map<CollectiveKind, int>;

LayerCut cut_of(int tensor, bool sequence_parallel) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequence_parallel = sequence_parallel;
  cut.sequences = 1;
  cut.tokens = 2048;
  return cut;
}

Counts counted(const std::vector<Piece>& pieces) {
  Counts counts;
  for (const Piece& piece : pieces)
    if (piece.collective) ++counts[piece.collective->kind];
  return counts;
}

LayerWork work_of(const Workload& workload, LayerTypeId type, const LayerCut& cut) {
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  return layer_work(workload.modules[0].types[index(type)], cut, cluster.type_of(DeviceId(0)), workload.precision, workload.software);
}

constexpr LayerTypeId kDecoder = LayerTypeId(1), kHead = LayerTypeId(2);
constexpr auto kReduce = CollectiveKind::all_reduce, kGather = CollectiveKind::all_gather, kScatter = CollectiveKind::reduce_scatter;

}  // namespace

TEST_CASE("parallel branches behind one norm: one all-reduce forward and one backward, half of what branches in turn need") {
  for (const char* software : {"megatron-2021", "megatron-core-2024"}) {
    const LayerCut cut = cut_of(8, false);
    const LayerWork palm = work_of(fixture::workload("palm-8b", 2048, software), kDecoder, cut);
    CHECK(counted(palm.forward) == Counts{{kReduce, 1}});
    CHECK(counted(palm.backward) == Counts{{kReduce, 1}});
    const LayerWork llama = work_of(fixture::workload("llama-2-7b", 2048, software), kDecoder, cut);
    CHECK(counted(llama.forward) == Counts{{kReduce, 2}});
    CHECK(counted(llama.backward) == Counts{{kReduce, 2}});
  }
}

TEST_CASE("a norm for each branch leaves the two reductions of the backward pass") {
  const LayerWork neox = work_of(fixture::workload("gpt-neox-20b", 2048, "megatron-2021"), kDecoder, cut_of(8, false));
  CHECK(counted(neox.forward) == Counts{{kReduce, 1}});
  CHECK(counted(neox.backward) == Counts{{kReduce, 2}});
}

TEST_CASE("with sequence parallelism one gather and one scatter forward; backward the gradient and the input are gathered once") {
  for (const char* software : {"megatron-core-2024", "{preset: megatron-core-2024, overlap_tensor: false}"}) {
    const LayerWork palm = work_of(fixture::workload("palm-8b", 2048, software), kDecoder, cut_of(8, true));
    CHECK(counted(palm.forward) == Counts{{kGather, 1}, {kScatter, 1}});
    CHECK(counted(palm.backward) == Counts{{kGather, 2}, {kScatter, 1}});
  }
}

TEST_CASE("inputs that are kept are not gathered again") {
  const LayerCut cut = cut_of(8, true);
  const LayerWork kept = work_of(fixture::workload("llama-2-7b", 2048, "torchtitan-2024"), kDecoder, cut);
  CHECK(counted(kept.backward) == Counts{{kGather, 2}, {kScatter, 2}});
  const LayerWork again = work_of(fixture::workload("llama-2-7b", 2048, "megatron-core-2024"), kDecoder, cut);
  CHECK(counted(again.backward) == Counts{{kGather, 4}, {kScatter, 2}});
}

TEST_CASE("rows gathered along an inner axis are copied into order: 4 bytes an element for each gather and scatter") {
  const LayerWork plain = work_of(fixture::workload("llama-2-7b", 2048, "{preset: torchtitan-2024, copies_gathers: false}"), kDecoder, cut_of(8, true));
  const LayerWork copied = work_of(fixture::workload("llama-2-7b", 2048, "torchtitan-2024"), kDecoder, cut_of(8, true));
  const auto copies = [](const std::vector<Piece>& pieces) {
    Bytes sum;
    for (const Piece& piece : pieces)
      if (piece.kernel && piece.name == "rows in order") sum += piece.kernel->bytes;
    return sum.value;
  };
  CHECK(copies(plain.forward) + copies(plain.backward) == 0);
  CHECK(copies(copied.forward) == Approx(4 * 4.0 * 2048 * 4096));  // two gathers, two scatters
  CHECK(copies(copied.backward) == Approx(4 * 4.0 * 2048 * 4096));
  CHECK(counted(copied.forward) == counted(plain.forward));
}

TEST_CASE("casts with scales of their own: 6 bytes an element of the operand by tensors, 8 by rows, 1.8 where the scale is known") {
  const auto cast_bytes = [](const char* scaling) {
    const Workload workload = fixture::workload("llama-2-7b", 2048, "{preset: megatron-core-2024, operand_scaling: " + std::string(scaling) + "}", "fp8");
    const Cluster cluster = fixture::one_node("H100-SXM5-80GB");
    const LayerWork work = layer_work(workload.modules[0].types[index(kDecoder)], cut_of(1, false), cluster.type_of(DeviceId(0)), workload.precision, workload.software);
    for (const Piece& piece : work.forward)
      if (piece.name == "qkv cast") return piece.kernel->bytes.value;
    return 0.0;
  };
  CHECK(cast_bytes("delayed") == Approx(1.8 * 2048 * 4096));
  CHECK(cast_bytes("tensorwise") == Approx(6.0 * 2048 * 4096));
  CHECK(cast_bytes("rowwise") == Approx(8.0 * 2048 * 4096));
}

TEST_CASE("gathered logits: one gather of all of them, no reductions, and 20 bytes a logit instead of 16 / t") {
  const Workload workload = fixture::workload("llama-2-7b", 2048, "alephalpha-2024");
  const LayerWork head = work_of(workload, kHead, cut_of(4, false));
  REQUIRE(counted(head.forward) == Counts{{kGather, 1}});
  for (const Piece& piece : head.forward)
    if (piece.collective) CHECK(piece.collective->size.value == 2 * 32000.0 * 2048);
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const LayerId layer = LayerId(33);
  const auto kept = [&](const Workload& w, int tensor) {
    return activation_memory(w.modules[0], std::span(&layer, 1), cut_of(tensor, false), cluster.type_of(DeviceId(0)), w).kept.value;
  };
  const double logits = 2048.0 * 32000, norm_and_input = kept(workload, 1) - 14 * logits;
  CHECK(kept(workload, 4) == Approx(norm_and_input + 20 * logits));
  CHECK(kept(fixture::workload("llama-2-7b", 2048, "{preset: alephalpha-2024, gathers_logits: false}"), 4) ==
        Approx(norm_and_input + 16 * logits / 4));
}

namespace {

/// Seconds of a decoder's forward and backward pass on one device.
std::pair<double, double> times(const std::string& software, const std::string& model) {
  const Workload workload = fixture::workload(model, 1024, software);
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  StageRole role;
  role.cut = cut_of(1, false);
  role.cut.tokens = 1024;
  role.layers = {LayerId(1)};
  Cell cell;
  cell.members = {DeviceId(0)};
  const StageWork work = stage_work(cell, role, workload.modules[0], cluster, workload, {});
  std::pair<double, double> sums;
  for (const TimedPiece& piece : work.layers[0].forward) sums.first += piece.alone().value;
  for (const TimedPiece& piece : work.layers[0].recompute) sums.second += piece.alone().value;
  for (const TimedPiece& piece : work.layers[0].backward) sums.second += piece.alone().value;
  return sums;
}

}  // namespace

TEST_CASE("an eager host: a small layer takes 1.0 ms forward and 1.1 ms backward, a large one its device's time") {
  const auto small = times("deepspeed-2022", "gpt2");
  CHECK(small.first == Approx(1.0e-3));
  CHECK(small.second == Approx(1.1e-3));
  CHECK(times("deepspeed-2022", "gpt3-175b") == times("{preset: deepspeed-2022, eager_host: false}", "gpt3-175b"));
  CHECK(times("{preset: deepspeed-2022, cuda_graphs: true}", "gpt2") == times("{preset: deepspeed-2022, eager_host: false}", "gpt2"));
}

// Eight experts: each of their two products, and backward of their four, is issued eight times.
TEST_CASE("an eager host issues the products of experts one by one") {
  const std::string model = "{family: llama, layers: 2, hidden: 256, heads: 4, kv_heads: 4, experts: 8, experts_per_token: 2, ffn: 256, vocabulary: 1024}";
  const LayerWork work = work_of(fixture::workload(model, 1024, "deepspeed-2022"), kDecoder, cut_of(1, false));
  const auto eager = times("deepspeed-2022", model);
  CHECK(eager.first == Approx((double(work.forward.size()) + 2 * 7) * 1.0e-3 / 15));
  CHECK(eager.second == Approx((double(work.backward.size()) + 4 * 7) * 1.1e-3 / 21));
}
