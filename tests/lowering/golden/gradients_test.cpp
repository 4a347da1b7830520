// Pictures of what holders of the same layers exchange: gradients, sharded states, shared tables.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/cost/kernel_time.hpp"
#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

/// `layers` layers, reduced layer by layer beside the backward pass; 16-bit gradients, so that a ring of two takes 2
/// bytes a parameter for an all-reduce and 1 for a reduce-scatter or a gather, at 10 GB/s.
SmallCase reduced_by_layer(int layers, double parameters, const PlanShape& shape, int nodes = 2) {
  SmallCase small({.nodes = nodes},
                  {.layers = layers, .batch = double(shape.micro_batches * shape.data), .parameters = parameters},
                  shape);
  small.workload.software.gradient_reduce_type = DataType::fp16;
  small.workload.software.overlap_gradient_reduce = true;
  for (int s = 0; s < shape.stages; ++s) small.settings(s).sync = Sync{.bucket = Bytes(0)};
  return small;
}

SmallCase sharded(int data, int shard, int micro_batches, double parameters) {
  SmallCase small({.nodes = data * shard},
                  {.layers = 2, .batch = double(data * shard * micro_batches), .parameters = parameters},
                  {.data = data * shard, .micro_batches = micro_batches});
  small.workload.software.gradient_reduce_type = DataType::fp16;
  small.settings().layout = Layout{equal_axis(AxisKind::data, data), equal_axis(AxisKind::shard, shard)};
  small.settings().zero = 3;
  return small;
}

}  // namespace

TEST_CASE("picture: accumulation") {
  SmallCase small = reduced_by_layer(2, 10e6, {.data = 2, .micro_batches = 3});
  small.workload.software.overlap_gradient_reduce = false;
  small.settings().sync.reset();
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 3.0 * 6_ms + 4_ms));
  check_picture("accumulation", run);
}

TEST_CASE("picture: buckets_overlap") {
  const RunResult run = reduced_by_layer(4, 15e6, {.data = 2, .micro_batches = 2}).run();
  CHECK(near(run.report.step_time, 12_ms + 4_ms + 2_ms + 4.0 * 3_ms));
  check_picture("buckets_overlap", run);
}

TEST_CASE("picture: zero_1") {
  SmallCase small = reduced_by_layer(2, 0, {.data = 2});
  const DeviceType gpu = small.cluster.device_types[0];
  // As many as the update takes in 3 ms, in whole numbers: it works on half of each of the two layers.
  const Seconds host = adam_time(gpu, 0, DataType::fp32), million = adam_time(gpu, 1e6, DataType::fp32) - host;
  const double parameters = std::round((3_ms - host) / million * 1e6);
  const Seconds update = adam_time(gpu, parameters, DataType::fp32);
  small.workload.modules[0].types[0].operators[0].parameters = parameters;
  small.workload.optimizer = "adam";
  small.workload.software.distributed_optimizer = small.workload.software.overlap_weight_gather = true;
  small.cluster = make_cluster({.nodes = 2, .nic = Bytes(parameters) / 3_ms});
  const RunResult run = small.run(false, 2);
  const Seconds first = 2_ms + 2_ms + 2.0 * 3_ms + update + 2.0 * 3_ms;
  const Seconds second = 1_ms + 2_ms + 2.0 * 3_ms + update + 2.0 * 3_ms;
  CHECK(near(run.timeline.makespan, first + second));
  check_picture("zero_1", run);
}

TEST_CASE("picture: zero_2") {
  SmallCase small = reduced_by_layer(2, 20e6, {.data = 2, .micro_batches = 2});
  small.settings().zero = 2;
  const RunResult run = small.run();
  CHECK(near(run.timeline.makespan, 2.0 * 6_ms + 2_ms + 2.0 * 2_ms));
  check_picture("zero_2", run);
}

TEST_CASE("picture: zero_3") {
  const RunResult run = sharded(1, 2, 1, 30e6).run();
  CHECK(near(run.report.step_time, 18_ms));
  check_picture("zero_3", run);
}

TEST_CASE("picture: zero_3_kept") {
  SmallCase small = sharded(1, 2, 1, 30e6);
  small.settings().regather = false;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 15_ms));
  check_picture("zero_3_kept", run);
}

TEST_CASE("picture: hybrid_shard") {
  const RunResult run = sharded(2, 2, 2, 10e6).run();
  CHECK(near(run.report.step_time, 1_ms + 2.0 * 6_ms + 2_ms + 3.0 * 1_ms));
  check_picture("hybrid_shard", run);
}

TEST_CASE("picture: unequal_pipelines") {
  SmallCase small = reduced_by_layer(4, 5e6, {.stages = 2, .micro_batches = 2, .layers = {1, 3}}, 3);
  Stage whole = small.part().stages[0];
  whole.devices = {small.cluster.gpus()[2]};
  whole.chunks = {{LayerId(0), LayerId(1), LayerId(2), LayerId(3)}};
  small.part().stages.push_back(whole);
  small.part().pipelines.push_back({.batch = 1, .samples = {}, .micro_batches = 1, .stages = {StageId(2)}});
  small.workload.global_batch = 3;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 1_ms + 2.0 * 9_ms + 2_ms + 1_ms));
  check_picture("unequal_pipelines", run);
}

TEST_CASE("picture: lora") {
  SmallCase small = reduced_by_layer(3, 0, {.data = 2});
  Module& model = small.workload.modules[0];
  Operator base = model.types[0].operators[0];
  base.kind = OperatorClass::gemm;
  base.gemm_n = base.gemm_k = 1e4;
  base.parameters = 90e6;
  base.trainable = false;
  Operator adapter = base;
  adapter.parameters = 5e6;
  adapter.trainable = true;
  model.types = {{"adapted", {base, adapter}}, {"frozen", {base}}};
  model.layers[0].type = LayerTypeId(1);
  small.workload.software.gradient_type = DataType::fp16;  // the products' own, of one micro-batch: nothing to add it to
  const Seconds product = gemm_time(small.cluster.device_types[0], DataType::fp16, {1, 1e4, 1e4, 1});
  small.cluster = make_cluster({.nodes = 2, .nic = Bytes(2 * adapter.parameters) / (product * 2.0)});
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, product * (5.0 + 3 + 3 + 2)));
  check_picture("lora", run);
}

TEST_CASE("picture: tied_embedding") {
  SmallCase small({.nodes = 2}, {.layers = 4, .batch = 3}, {.stages = 2, .micro_batches = 3});
  Module& model = small.workload.modules[0];
  LayerType table = model.types[0];
  table.operators[0].cut = TensorCut::vocabulary;
  table.operators[0].parameters = 7.5e6;
  model.types.push_back(table);
  model.layers.front().type = model.layers.back().type = LayerTypeId(1);
  model.layers.back().tied_to = {LayerId(0)};
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 6_ms * (3.0 + 2 - 1) + 3_ms));
  check_picture("tied_embedding", run);
}
