// One device a class against every device: equal times on random small clusters and plans.
#include <catch2/catch.hpp>

#include <array>
#include <random>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

struct Case {
  Cluster cluster;
  Workload workload;
  Plan plan;
  std::string text;
};

int pick(std::mt19937& random, std::initializer_list<int> from) {
  return *(from.begin() + random() % from.size());
}

/// All data ranks, or pairs of them, share their weights.
void shard(Plan& plan, int data, int context, int tensor, bool pairs) {
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    Settings& settings = stage.rules[0].settings;
    const int shards = pairs ? 2 : data;
    settings.layout = Layout{equal_axis(AxisKind::data, data / shards), equal_axis(AxisKind::shard, shards), equal_axis(AxisKind::context, context), equal_axis(AxisKind::tensor, tensor)};
    settings.zero = 3;
  }
}

/// Activations kept every few layers, whole or not at all, different from stage to stage.
void recompute(Plan& plan, std::mt19937& random) {
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    const int kind = pick(random, {0, 1, 2});
    stage.rules[0].settings.recompute = kind == 0 ? Recompute{} : kind == 1 ? Recompute{RecomputeKind::full, 1} : Recompute{RecomputeKind::every, 2};
  }
}

/// Stages of their own sizes and cuts.
void vary_stages(std::mt19937& random, Plan& plan) {
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    const int devices = 1 + int(random() % stage.devices.size()), tensor = devices % 2 == 0 ? pick(random, {1, 2}) : 1;
    stage.devices.resize(devices);
    stage.rules[0].settings.layout = Layout{equal_axis(AxisKind::data, devices / tensor), equal_axis(AxisKind::tensor, tensor)};
  }
}

/// Homes on the host, as far as the Plan may have them together.
void offload(Plan& plan, int nodes, std::mt19937& random) {
  const Home slots{Place::host, {}, pick(random, {0, 1, 2, 3}), false};
  const bool weights = random() % 2, optimizer = random() % 2, activations = random() % 2, early = random() % 2;
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    Settings& settings = stage.rules[0].settings;
    if (!settings.zero && weights) settings.zero = 0;
    const bool gradients = optimizer && nodes == 1 && (settings.zero == 0 || settings.zero == 3);
    if (weights) settings.home[State::weights] = slots;
    if (optimizer) settings.home[State::optimizer] = slots;
    if (gradients) settings.home[State::gradients] = slots;
    if (activations) settings.home[State::activations] = slots;
    if (optimizer && early) settings.update = Update::layer;
  }
}

/// The later layers of each stage are cut otherwise.
void vary_layers(std::mt19937& random, Plan& plan) {
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    const std::vector<LayerId>& layers = stage.chunks[0];
    const int devices = int(stage.devices.size()), tensor = devices % 2 == 0 ? pick(random, {1, 2}) : 1;
    const int shards = devices / tensor % 2 == 0 ? pick(random, {1, 2}) : 1;
    Settings settings;
    settings.layout = Layout{equal_axis(AxisKind::data, devices / tensor / shards), equal_axis(AxisKind::shard, shards), equal_axis(AxisKind::tensor, tensor)};
    settings.zero = shards > 1 ? 3 : pick(random, {0, 1, 3});
    settings.sequence_parallel = tensor > 1 && random() % 2;
    stage.rules.push_back({{layers.begin() + std::ptrdiff_t(layers.size() / 2), layers.end()}, "", {}, settings});
  }
}

/// The devices of each data rank become a pipeline, each with stages cut in its own way.
void split_pipelines(std::mt19937& random, Plan& plan, int data) {
  Part& part = plan.phases[0].parts[0];
  const std::vector<Stage> stages = part.stages;
  part.stages.clear();
  const Pipeline whole = part.pipelines[0];
  const int zero = pick(random, {0, 1, 3});
  part.pipelines.clear();
  for (int d = 0; d < data; ++d) {
    Pipeline pipeline = whole;
    pipeline.batch = whole.batch / data;
    pipeline.stages.clear();
    for (const Stage& from : stages) {
      Stage stage = from;
      const std::ptrdiff_t width = std::ptrdiff_t(from.devices.size()) / data;
      stage.devices.assign(from.devices.begin() + d * width, from.devices.begin() + (d + 1) * width);
      const int tensor = width % 2 == 0 && zero < 3 ? pick(random, {1, 2}) : 1;
      stage.rules[0].settings.layout = Layout{equal_axis(AxisKind::data, int(width) / tensor), equal_axis(AxisKind::tensor, tensor)};
      stage.rules[0].settings.zero = zero;
      pipeline.stages.push_back(StageId(int(part.stages.size())));
      part.stages.push_back(std::move(stage));
    }
    part.pipelines.push_back(std::move(pipeline));
  }
}

/// Algorithms of collectives, and of the gradients' type; later layers of a stage may have their own.
void wire(Plan& plan, std::mt19937& random) {
  const auto draw = [&] {
    Wire wire;
    wire.all_reduce = std::array{Algorithm::automatic, Algorithm::ring, Algorithm::tree}[random() % 3];
    wire.all_gather = std::array{Algorithm::automatic, Algorithm::padded, Algorithm::grouped}[random() % 3];
    if (random() % 2) wire.types[State::gradients] = DataType::bf16;
    return wire;
  };
  const Wire first = draw(), later = draw();
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    stage.rules[0].settings.wire = first;
    if (stage.rules.size() > 1) stage.rules[1].settings.wire = later;
  }
}

/// Nothing of the first layer is trained, and of each other an adapter at most.
void freeze(Workload& workload, double adapter) {
  Module& module = workload.modules[0];
  for (Operator& op : module.types[0].operators) op.trainable = false;
  module.types.push_back(module.types[0]);
  Operator op = module.types[0].operators.back();
  op.kind = OperatorClass::memory_bound;
  op.cut = TensorCut::replicated;
  op.parameters = adapter;
  op.trainable = true;
  op.core_attention = false;
  module.types[0].operators.push_back(std::move(op));
  module.layers[0].type = LayerTypeId(1);
}

Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const int stages = pick(random, {1, 2, 3}), data = pick(random, {1, 2, 4}), tensor = pick(random, {1, 2});
  const int gpus = pick(random, {1, 2, 4});
  const int context = data * tensor < 4 ? pick(random, {1, 2}) : 1;
  const int nodes = (stages * data * context * tensor + gpus - 1) / gpus;
  const int chunks = stages > 1 ? pick(random, {1, 1, 2}) : 1;
  const int micro_batches = chunks > 1 ? pick(random, {1, 2}) * stages : pick(random, {1, 2, 5});
  Case made;
  made.cluster = make_cluster({.nodes = nodes,
                               .gpus = gpus,
                               .slow_nodes = pick(random, {0, 0, 1}) * (nodes > 1),
                               .nodes_per_leaf = pick(random, {0, 2}),
                               .oversubscription = double(pick(random, {1, 3})),
                               .gpus_per_switch = pick(random, {1, 2})});
  made.workload = make_workload({.layers = stages * chunks * pick(random, {1, 2}),
                                 .batch = double(micro_batches * data),
                                 .parameters = pick(random, {0, 1}) * 45e6,
                                 .output = Bytes(pick(random, {0, 1, 7}) * 1e6),
                                 .saved = 1_MB,
                                 .tensor_cut = tensor > 1,
                                 .attention = tensor == 1});
  made.workload.software.overlap_gradient_reduce = random() % 2;
  made.workload.software.distributed_optimizer = random() % 2;
  made.workload.software.overlap_weight_gather = random() % 2;
  made.workload.software.gradient_clipping = random() % 2;
  const bool interleaved = chunks > 1;
  const std::string schedule = interleaved ? "interleaved" : pick(random, {0, 1, 2}) == 0 ? "gpipe" : random() % 2 ? "1f1b" : "zb_h1";
  made.plan = make_plan({.stages = stages, .data = data, .tensor = tensor, .micro_batches = micro_batches, .chunks = chunks, .context = context, .schedule = schedule},
                        made.cluster, made.workload);
  bool cut_alike = true;
  if (data > 1 && context == 1 && schedule != "zb_h1" && random() % 4 == 0)
    cut_alike = false, split_pipelines(random, made.plan, data);
  else if (stages > 1 && data > 1 && chunks == 1 && context == 1 && random() % 3 == 0)
    vary_stages(random, made.plan);
  else if (chunks == 1 && context == 1 && schedule != "zb_h1" && random() % 3 == 0)
    cut_alike = false, vary_layers(random, made.plan);
  else if (data > 1 && schedule != "zb_h1" && random() % 3 == 0)
    shard(made.plan, data, context, tensor, random() % 2);
  if (random() % 2) recompute(made.plan, random);
  if (cut_alike && schedule != "zb_h1" && random() % 2) offload(made.plan, nodes, random);
  if (random() % 4 == 0) made.workload.optimizer = "adam";
  if (random() % 3 == 0) wire(made.plan, random);
  if (random() % 3 == 0) freeze(made.workload, pick(random, {0, 1}) * 9e6);
  made.text = "seed " + std::to_string(seed) + " stages " + std::to_string(stages) + " data " + std::to_string(data) + " tensor " +
              std::to_string(tensor) + " gpus a node " + std::to_string(gpus);
  return made;
}

}  // namespace

namespace {

/// A straggler, kernels and collectives that slow each other, and a link that changes while the first step runs.
Case troubled_case(unsigned seed) {
  Case made = random_case(seed);
  std::mt19937 random(seed);
  const std::vector<DeviceId> gpus = made.cluster.gpus();
  made.cluster.devices[index(gpus[random() % gpus.size()])].slowdown = 1.5;
  const auto link = id_at<LinkId>(random() % made.cluster.links.size());
  for (DeviceType& type : made.cluster.device_types) {
    type.collective_share = random() % 2 ? 0.2 : 0;
    if (random() % 2) type.interference = {{OperatorClass::memory_bound, 0.5}, {OperatorClass::gemm, 0.8}};
  }
  made.cluster.events = {{Seconds(1e-3 * double(1 + random() % 10)), LinkChange{link, 0.25}}};
  return made;
}

void check_reduction(unsigned from, unsigned to, const Jitter& jitter = {}, bool troubled = false) {
  for (unsigned seed = from; seed < to; ++seed) {
    const Case c = troubled ? troubled_case(seed) : random_case(seed);
    INFO(c.text);
    const RunResult reduced = run_plan(c.plan, c.workload, c.cluster, {.symmetry = true, .full_detail = false, .jitter = jitter}, 2);
    const RunResult full = run_plan(c.plan, c.workload, c.cluster, {.symmetry = false, .full_detail = false, .jitter = jitter}, 2);
    REQUIRE(near(reduced.report.step_time, full.report.step_time));
    REQUIRE(near(reduced.report.first_step_time, full.report.first_step_time));
    REQUIRE(reduced.report.device_classes <= full.report.device_classes);
    REQUIRE(reduced.report.memory.peak.value == Approx(full.report.memory.peak.value));
    REQUIRE(reduced.report.peak_host_memory.value == Approx(full.report.peak_host_memory.value));
    for (const TimePartName& part : kTimeParts)
      REQUIRE((reduced.report.time.*part.part).value == Approx((full.report.time.*part.part).value).margin(1e-12));
  }
}

}  // namespace

// 200 random cases, in parts that run beside each other.
TEST_CASE("the reduced simulation equals the full one: cases 0 to 24") { check_reduction(0, 25); }
TEST_CASE("the reduced simulation equals the full one: cases 25 to 49") { check_reduction(25, 50); }
TEST_CASE("the reduced simulation equals the full one: cases 50 to 74") { check_reduction(50, 75); }
TEST_CASE("the reduced simulation equals the full one: cases 75 to 99") { check_reduction(75, 100); }
TEST_CASE("the reduced simulation equals the full one: cases 100 to 124") { check_reduction(100, 125); }
TEST_CASE("the reduced simulation equals the full one: cases 125 to 149") { check_reduction(125, 150); }
TEST_CASE("the reduced simulation equals the full one: cases 150 to 174") { check_reduction(150, 175); }
TEST_CASE("the reduced simulation equals the full one: cases 175 to 199") { check_reduction(175, 200); }
TEST_CASE("equal devices share their draws of jitter: the reduced simulation equals the full one") {
  check_reduction(200, 240, {.kernels = 0.1, .communication = 0.2});
}
TEST_CASE("a straggler and a link that changes: the reduced simulation equals the full one") { check_reduction(240, 260, {}, true); }

namespace {

void check_detail(unsigned from, unsigned to, const Jitter& jitter = {}, bool troubled = false) {
  for (unsigned seed = from; seed < to; ++seed) {
    const Case c = troubled ? troubled_case(seed) : random_case(seed);
    INFO(c.text);
    const RunResult merged = run_plan(c.plan, c.workload, c.cluster, {.symmetry = true, .full_detail = false, .jitter = jitter}, 2);
    const RunResult detailed = run_plan(c.plan, c.workload, c.cluster, {.symmetry = true, .full_detail = true, .jitter = jitter}, 2);
    REQUIRE(near(merged.report.step_time, detailed.report.step_time));
  }
}

}  // namespace

TEST_CASE("full detail equals merged tasks: cases 1000 to 1029") { check_detail(1000, 1030); }
TEST_CASE("full detail equals merged tasks: cases 1030 to 1059") { check_detail(1030, 1060); }

TEST_CASE("full detail equals merged tasks with jitter, stragglers and a link that changes") {
  check_detail(1060, 1090, {.kernels = 0.1, .communication = 0.2}, true);
}

TEST_CASE("equal replicas are one class a stage") {
  const Cluster cluster = make_cluster({.nodes = 8, .gpus = 2});
  const Workload workload = make_workload({.layers = 4, .batch = 8, .parameters = 1e6, .output = 1_MB});
  const Plan plan = make_plan({.stages = 4, .data = 4, .micro_batches = 2}, cluster, workload);
  CHECK(run_plan(plan, workload, cluster).report.device_classes == 4);
}
