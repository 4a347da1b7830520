// Pictures of what happens inside one pass of a stage: tensor and context collectives, recompute.
#include <catch2/catch.hpp>

#include "sim/cost/kernel_time.hpp"
#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

constexpr double kWide = 5e7, kNarrow = 2;

/// Two layers of two matrix products each over two devices that cut the narrow side. All six products (two forward,
/// four backward) of a layer take equally long, and so does the all-reduce of an activation: the ring of two sends its
/// bytes once.
struct TensorCase : SmallCase {
  Seconds product;

  TensorCase() : SmallCase({.gpus = 2}, {.layers = 2, .batch = 1}, {.tensor = 2}) {
    product = gemm_time(cluster.device_types[0], DataType::fp16, {1, kNarrow / 2, kWide, 1});
    cluster = make_cluster({.gpus = 2, .inside = Bytes(2 * kWide) / product});
    workload.modules[0].hidden = kWide;
    workload.modules[0].types = {
        {"decoder", {matrix("up", TensorCut::column, kNarrow, kWide), matrix("down", TensorCut::row, kWide, kNarrow)}}};
  }

  static Operator matrix(const char* name, TensorCut cut, double n, double k) {
    Operator op;
    op.name = name;
    op.kind = OperatorClass::gemm;
    op.cut = cut;
    op.saved_cut = cut == TensorCut::column ? TensorCut::sequence : cut;  // its slice of the input, not the gathered whole
    op.gemm_n = n;
    op.gemm_k = k;
    op.output.fixed = Bytes(2 * n);
    op.core_attention = true;
    return op;
  }
};

/// One layer over two halves of a sequence: 0.5 ms forward, 1 ms backward; half of 16 MB of keys and values at 10 GB/s.
RunResult context(ContextKind kind) {
  SmallCase small({.nodes = 2}, {.layers = 1, .batch = 1, .attention = true}, {.context = 2});
  small.settings().context_kind = kind;
  return small.run(true);
}

/// Two layers, each of 1 ms that selective recompute repeats and 1 ms that it does not.
RunResult recompute(RecomputeKind kind) {
  SmallCase small({}, {.layers = 2, .batch = 1}, {.recompute = kind});
  std::vector<Operator>& operators = small.workload.modules[0].types[0].operators;
  operators.push_back(operators[0]);
  operators[1].core_attention = false;
  return small.run(true);
}

}  // namespace

TEST_CASE("picture: tensor_merged") {
  const TensorCase small;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, small.product * (2 * (3.0 + 5.0))));
  check_picture("tensor_merged", run);
}

TEST_CASE("picture: tensor_detail") {
  const TensorCase small;
  const RunResult run = small.run(true);
  CHECK(near(run.report.step_time, small.product * (2 * (3.0 + 5.0))));
  check_picture("tensor_detail", run);
}

TEST_CASE("picture: tensor_overlap") {
  TensorCase small;
  small.workload.software.overlap_tensor = true;
  const RunResult run = small.run(true);
  CHECK(near(run.report.step_time, small.product * (2 * (3.0 + 4.0))));
  check_picture("tensor_overlap", run);
}

TEST_CASE("picture: sequence_parallel") {
  TensorCase small;
  small.settings().sequence_parallel = true;
  const RunResult run = small.run(true);
  CHECK(near(run.report.step_time, small.product * (2 * (2 + 2 * 0.5 + 4 + 3 * 0.5))));
  check_picture("sequence_parallel", run);
}

TEST_CASE("picture: context_ring") {
  const RunResult run = context(ContextKind::ring);
  CHECK(near(run.report.step_time, 0.8_ms + 1.6_ms));
  check_picture("context_ring", run);
}

TEST_CASE("picture: context_gather") {
  const RunResult run = context(ContextKind::gather);
  CHECK(near(run.report.step_time, 0.5_ms + 0.8_ms + 1_ms + 1.6_ms));
  check_picture("context_gather", run);
}

TEST_CASE("picture: ulysses") {
  const RunResult run = context(ContextKind::ulysses);
  CHECK(near(run.report.step_time, 0.6_ms + 0.5_ms + 0.2_ms + 0.2_ms + 1_ms + 0.6_ms));
  check_picture("ulysses", run);
}

TEST_CASE("picture: recompute_full") {
  const RunResult run = recompute(RecomputeKind::full);
  CHECK(near(run.report.step_time, 2 * (2_ms + 2_ms + 4_ms)));
  check_picture("recompute_full", run);
}

TEST_CASE("picture: recompute_selective") {
  const RunResult run = recompute(RecomputeKind::selective);
  CHECK(near(run.report.step_time, 2 * (2_ms + 1_ms + 4_ms)));
  check_picture("recompute_selective", run);
}

TEST_CASE("picture: recompute_every") {
  SmallCase small({}, {.layers = 5, .batch = 1}, {});
  small.settings().recompute = Recompute{RecomputeKind::every, 2};
  const RunResult run = small.run(true);
  CHECK(near(run.report.step_time, 5 * (1_ms + 1_ms + 2_ms)));
  check_picture("recompute_every", run);
}

TEST_CASE("picture: recompute_of_some_layers") {
  SmallCase small({}, {.layers = 3, .batch = 1}, {});
  Rule first{.layers = {LayerId(0)}, .operators = "", .devices = {}, .settings = small.settings()};
  first.settings.recompute = Recompute{RecomputeKind::full, 1};
  small.part().stages[0].rules.push_back(first);
  const RunResult run = small.run(true);
  CHECK(near(run.report.step_time, 3 * (1_ms + 2_ms) + 1_ms));
  check_picture("recompute_of_some_layers", run);
}
