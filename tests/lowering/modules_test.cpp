// Encoders of images before a pipeline, and embedding tables in copies.
#include <catch2/catch.hpp>

#include "sim/cost/placement.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// An encoder layer that takes 1 ms forward and 2 ms backward an image, two images a sample, before a layer of 1 ms and
/// 2 ms a sample.
Workload encoder_before(bool frozen, double batch = 4) {
  Workload workload = make_workload({.layers = 2, .batch = batch});
  Module& module = workload.modules[0];
  module.types.push_back(module.types[0]);
  module.types.back().samples = {2, 10, 100, frozen};
  if (frozen) module.types.back().operators[0].trainable = false;
  module.layers[0].type = id_at<LayerTypeId>(module.types.size() - 1);
  module.layers[0].name = "vision";
  return workload;
}

/// Two look-ups of 1 MB a sample; the pooled rows are 1 MB, the indices nothing. 1 GB of tables and 1 GB of states.
Workload tables(double batch) {
  Workload workload = make_workload({.layers = 1, .batch = batch});
  Operator indices, look_up, pooled;
  indices.name = "indices";
  indices.group = "tables";
  indices.exchange = ItemExchange::dispatch;
  look_up.name = "look_up";
  look_up.group = "tables";
  look_up.cut = TensorCut::routed;
  look_up.items = 2;
  look_up.forward_bytes = {2_MB, Bytes(0), Bytes(0)};
  look_up.backward_bytes = {4_MB, Bytes(0), Bytes(0)};
  look_up.parameters = 0.5e9;
  look_up.weight_type = DataType::fp16;
  look_up.row_state_bytes = 1e9;
  look_up.trainable = false;
  pooled.name = "pooled";
  pooled.exchange = ItemExchange::combine;
  pooled.output = {1_MB, Bytes(0), Bytes(0)};
  pooled.backward_bytes = {Bytes(1), Bytes(0), Bytes(0)};
  indices.cut = pooled.cut = TensorCut::sequence;
  workload.modules[0].types[0].operators = {indices, look_up, pooled};
  return workload;
}

Plan with_tables(Plan plan, Layout layout, int every) {
  Rule rule;
  rule.operators = "tables";
  rule.settings.layout = std::move(layout);
  rule.settings.sync = Sync{SyncWhat::weights, every, 0, {}};
  plan.phases[0].parts[0].stages[0].rules.push_back(std::move(rule));
  return plan;
}

}  // namespace

TEST_CASE("an encoder works on the images of a sample, forward and backward") {
  // Four samples on one device: 8 + 4 ms forward, twice that backward.
  const Cluster cluster = make_cluster({});
  const Workload workload = encoder_before(false);
  CHECK(near(run_plan(make_plan({}, cluster, workload), workload, cluster).report.step_time, 36_ms));
}

TEST_CASE("a frozen encoder has no backward pass") {
  const Cluster cluster = make_cluster({});
  const Workload workload = encoder_before(true);
  CHECK(near(run_plan(make_plan({}, cluster, workload), workload, cluster).report.step_time, 20_ms));
}

TEST_CASE("samples with more images than others take longer in the encoder alone") {
  // Micro-batches with 1/2 and 3/2 of the mean of two images a sample: 2 and 6 ms forward in the encoder, 2 ms in the
  // other layer.
  const Cluster cluster = make_cluster({});
  Workload workload = encoder_before(false);
  workload.data.sequence_length = 1;
  for (const double images : {0.5, 0.5, 1.5, 1.5}) workload.data.batch.push_back({1, 1, 1, images});
  CHECK(near(run_plan(make_plan({.micro_batches = 2}, cluster, workload), workload, cluster).report.step_time, 36_ms));
}

TEST_CASE("an encoder on its own device before the others") {
  // Micro-batches of one sample: 2 + 4 ms in the encoder, 1 + 2 ms behind it. 1f1b: the encoder is never idle but at
  // its end, where the second stage's last F and B (3 ms) lie between its own.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  const Workload workload = encoder_before(false);
  const StepReport report =
      run_plan(make_plan({.stages = 2, .micro_batches = 4}, cluster, workload), workload, cluster).report;
  CHECK(report.step_time.value == Approx(25e-3).epsilon(1e-3));
}

TEST_CASE("an encoder on the devices of a pipeline works through the batch before and behind it") {
  // Two micro-batches of two samples with two images each: each of two devices takes two images of a micro-batch, 2 ms
  // forward and 4 ms backward. Behind it two stages of 2 + 4 ms. 2 x 2, then (2 + 1) x 6, then 2 x 4 ms.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  Workload workload = encoder_before(false);
  workload.modules[0].layers.push_back({"1", workload.modules[0].layers[1].type, {}, {}});
  Plan plan = make_plan({.stages = 2, .micro_batches = 2}, cluster, workload);
  Part& part = plan.phases[0].parts[0];
  part.schedule = "colocated";
  part.stages[0].chunks = {{id_at<LayerId>(1)}};
  part.stages[1].chunks = {{id_at<LayerId>(2)}};
  Stage encoder = part.stages[0];
  encoder.devices = cluster.gpus();
  encoder.chunks = {{id_at<LayerId>(0)}};
  Rule rule;
  rule.settings.layout = Layout{equal_axis(AxisKind::data, 2)};
  encoder.rules = {rule};
  part.stages.push_back(encoder);
  part.pipelines[0].stages = {id_at<StageId>(2), id_at<StageId>(0), id_at<StageId>(1)};
  const StepReport report = run_plan(plan, workload, cluster, {}, 3).report;  // nothing joins the devices' first steps
  CHECK(report.step_time.value == Approx(30e-3).epsilon(1e-3));
}

TEST_CASE("an encoder leaves the context axis to the language model") {
  // Two samples on two devices: each encodes one, 2 + 4 ms; behind it each has half of both, 2 x (1 + 2) / 2 ms.
  const Cluster cluster = make_cluster({.gpus = 2, .inside = BytesPerSecond(1e15)});
  const Workload workload = encoder_before(false, 2);
  Plan plan = make_plan({.context = 2}, cluster, workload);
  Rule encoder;
  encoder.layers = {id_at<LayerId>(0)};
  encoder.settings.layout = Layout{equal_axis(AxisKind::data, 2)};
  plan.phases[0].parts[0].stages[0].rules.push_back(encoder);
  CHECK(plan.check(cluster, workload) == std::vector<std::string>{});
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(9e-3).epsilon(1e-3));
}

TEST_CASE("look-ups go by what is read of tables, exchanges by how many a device holds") {
  // Three tables, two on the first device; the third is read most. Of the mean, the devices read 0.4 and 1.6 and hold
  // 4/3 and 2/3: look-ups of 12 us, two exchanges of 10 us.
  const Cluster cluster = make_cluster({.gpus = 2});
  Workload workload = tables(4);
  workload.modules[0].types[0].operators[1].items = 3;
  workload.modules[0].types[0].operators[2].group = "tables";
  workload.data.item_load = {{0.1, 0.1, 0.8}};
  Plan plan = with_tables(make_plan({.data = 2}, cluster, workload), {equal_axis(AxisKind::items, 2)}, 1);
  plan.phases[0].parts[0].stages[0].rules.back().settings.owners = {{0, 1}, {2}};
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(1.6 * 12e-6 + 2 * 10e-6 * 4 / 3).epsilon(1e-6));
}

TEST_CASE("tables over a group: pooled rows there, their gradients back") {
  // Two samples a device: look-ups of 4 MB take 4 us forward and 8 us backward; half of 2 MB crosses at 100 GB/s in
  // each of the two exchanges.
  const Cluster cluster = make_cluster({.gpus = 2});
  const Workload workload = tables(4);
  const Plan plan = with_tables(make_plan({.data = 2}, cluster, workload), {equal_axis(AxisKind::items, 2)}, 1);
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(report.step_time.value == Approx(4e-6 + 8e-6 + 2 * 10e-6).epsilon(1e-6));
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::weights)] == 500_MB);
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::optimizer)] == 500_MB);
}

TEST_CASE("copies of tables are averaged every so many steps") {
  // Four devices, two copies: each holds 1 GB of rows and states, which an all-reduce of two moves once: 10 ms at 100
  // GB/s.
  const Cluster cluster = make_cluster({.gpus = 4});
  const Workload workload = tables(8);
  const auto step = [&](int every) {
    const Plan plan = with_tables(make_plan({.data = 4}, cluster, workload),
                                  {equal_axis(AxisKind::items, 2), equal_axis(AxisKind::data, 2)}, every);
    return run_plan(plan, workload, cluster).report.step_time;
  };
  CHECK(step(1).value == Approx(10e-3 + 32e-6).epsilon(1e-6));
}

TEST_CASE("a tenth of the average counts in each of ten steps") {
  const Cluster cluster = make_cluster({.gpus = 4});
  const Workload workload = tables(8);
  const Plan plan = with_tables(make_plan({.data = 4}, cluster, workload),
                                {equal_axis(AxisKind::items, 2), equal_axis(AxisKind::data, 2)}, 10);
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx(1e-3 + 32e-6).epsilon(1e-6));
}

TEST_CASE("a cut carries what layers behind it read of those before it, each once") {
  // Layer 3 reads layers 2 and 0: behind layer 1 pass the outputs of 1 and 0, behind layer 0 its own, read twice.
  Workload workload = make_workload({.layers = 4});
  Module& module = workload.modules[0];
  module.layers[3].inputs = {id_at<LayerId>(2), id_at<LayerId>(0)};
  StageRole role;
  role.cut.sequences = 1;
  role.cut.tokens = 10;
  const double one = 10 * module.hidden;
  CHECK(role.crossing_elements(module, id_at<LayerId>(0)) == one);
  CHECK(role.crossing_elements(module, id_at<LayerId>(1)) == 2 * one);
  CHECK(role.crossing_elements(module, id_at<LayerId>(2)) == 2 * one);
}
