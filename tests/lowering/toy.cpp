#include "tests/lowering/toy.hpp"

#include <fmt/format.h>

namespace trainyard::toy {
namespace {

DeviceType make_type(const std::string& name, double speed) {
  DeviceType type;
  type.name = name;
  type.memory = 16_GB;
  type.multiprocessors = 1;
  type.peak[DataType::fp16] = 100_TFLOPS * speed;
  type.memory_bandwidth = BytesPerSecond(1e12 * speed);
  type.memory_efficiency = 1;
  type.gemm[DataType::fp16] = {1, 0, 0, 1, Seconds(0)};
  return type;
}

class Builder {
 public:
  explicit Builder(const ClusterShape& shape) : shape_(shape) {
    cluster_.device_types = {make_type("fast", 1), make_type("slow", 0.5), DeviceType{}, DeviceType{}};
    cluster_.device_types[3].multiprocessors = shape_.cores;
    cluster_.transports.resize(2);
    cluster_.transports[0].name = "inside";
    cluster_.transports[1].name = "net";
  }

  Cluster build() {
    const VertexId core = vertex("core");
    for (int n = 0; n < shape_.nodes; ++n) {
      if (shape_.nodes_per_leaf > 0 && n % shape_.nodes_per_leaf == 0) add_leaf(core);
      add_node(n, shape_.nodes_per_leaf > 0 ? leaf_ : core);
    }
    return std::move(cluster_);
  }

 private:
  VertexId vertex(std::string name) {
    cluster_.vertices.push_back(std::move(name));
    return id_at<VertexId>(cluster_.vertices.size() - 1);
  }

  void both_ways(const std::string& name, VertexId a, VertexId b, BytesPerSecond rate, int transport, Seconds latency) {
    cluster_.links.push_back({name + " up", a, b, rate, rate, latency, TransportId(transport)});
    cluster_.links.push_back({name + " down", b, a, rate, rate, latency, TransportId(transport)});
  }

  void add_leaf(VertexId core) {
    leaf_ = vertex("leaf");
    both_ways("leaf", leaf_, core, shape_.nic * (shape_.gpus * shape_.nodes_per_leaf / shape_.oversubscription), 1, {});
  }

  void add_node(int n, VertexId up) {
    const bool slow = n >= shape_.nodes - shape_.slow_nodes;
    Node node;
    node.group = "n";
    node.price = 1_usd_per_h;
    node.price_source = "test";
    const VertexId inside = vertex("switch");
    for (int g = 0; g < shape_.gpus; ++g) {
      const std::string name = fmt::format("n.{}.{}", n, g);
      const VertexId port = vertex(name);
      node.devices.push_back(id_at<DeviceId>(cluster_.devices.size()));
      cluster_.devices.push_back({name, DeviceKind::gpu, DeviceTypeId(slow ? 1 : 0), NodeId(n), 16_GB, port});
      both_ways(name, port, inside, shape_.inside, 0, {});
    }
    for (int g = 0; g < shape_.gpus; ++g) add_nic(node, n, g, up);
    if (shape_.gpus_per_switch > 0) add_host(node, n);
    cluster_.nodes.push_back(std::move(node));
  }

  /// GPUs hang on PCIe switches of as many slots, these on one socket with the node's memory.
  void add_host(Node& node, int n) {
    const std::string name = fmt::format("n.{}.", n);
    const VertexId socket = vertex(name + "socket"), memory = vertex(name + "cpu");
    node.devices.push_back(id_at<DeviceId>(cluster_.devices.size()));
    cluster_.devices.push_back({name + "cpu", DeviceKind::cpu, DeviceTypeId(3), NodeId(n), shape_.host_memory, memory});
    both_ways(name + "dram", memory, socket, shape_.dram, 0, {});
    for (int g = 0; g < shape_.gpus; ++g) {
      if (g % shape_.gpus_per_switch == 0) {
        pcie_ = vertex(name + "pcie");
        both_ways(name + "bridge", socket, pcie_, shape_.pcie, 0, {});
      }
      both_ways(name + "slot", pcie_, cluster_.devices[index(node.devices[std::size_t(g)])].vertex, shape_.pcie, 0, {});
    }
  }

  /// Each GPU reaches its NIC over a link that never binds.
  void add_nic(Node& node, int n, int g, VertexId up) {
    const std::string name = fmt::format("n.{}.nic{}", n, g);
    const VertexId port = vertex(name);
    const VertexId gpu = cluster_.devices[index(node.devices[g])].vertex;
    node.devices.push_back(id_at<DeviceId>(cluster_.devices.size()));
    cluster_.devices.push_back({name, DeviceKind::nic, DeviceTypeId(2), NodeId(n), Bytes(0), port});
    both_ways(name + " bus", gpu, port, BytesPerSecond(1e13), 1, {});
    both_ways(name, port, up, shape_.nic, 1, shape_.hop_latency);
  }

  const ClusterShape& shape_;
  Cluster cluster_;
  VertexId leaf_{}, pcie_{};
};

/// One sample moves 1 GB forward and 2 GB backward: 1 ms and 2 ms at 1 TB/s.
Operator memory_operator(const WorkloadShape& shape, double part) {
  Operator op;
  op.name = "work";
  op.group = "mlp";
  op.core_attention = true;              // so that recompute applies
  op.kind = OperatorClass::memory_bound;
  op.forward_flops.fixed = Flops(1e9);
  op.backward_flops.fixed = Flops(2e9);
  op.forward_bytes.fixed = Bytes(1e9 * part);
  op.backward_bytes.fixed = Bytes(2e9 * part);
  op.output.fixed = shape.output;
  op.saved.fixed = shape.saved;
  op.parameters = shape.parameters;
  if (shape.attention) op.attention = {4, 4, 1'000'000, true, 0};
  return op;
}

LayerType make_layer(const WorkloadShape& shape) {
  if (shape.product) {
    Operator product = memory_operator(shape, 1);
    product.kind = OperatorClass::gemm;
    product.gemm_n = product.gemm_k = 1e4;
    return {"decoder", {product}};
  }
  if (!shape.tensor_cut) return {"decoder", {memory_operator(shape, 1)}};
  Operator up = memory_operator(shape, 0.5), down = memory_operator(shape, 0.5);
  up.cut = up.saved_cut = TensorCut::column;
  up.kind = OperatorClass::gemm;
  up.gemm_n = up.gemm_k = 1024;
  down.cut = down.saved_cut = TensorCut::row;
  return {"decoder", {up, down}};
}

}  // namespace

Cluster make_cluster(const ClusterShape& shape) { return Builder(shape).build(); }

Workload make_workload(const WorkloadShape& shape) {
  Workload workload;
  Module module;
  module.name = "model";
  module.hidden = shape.output.value / 2;
  module.types = {make_layer(shape)};
  for (int i = 0; i < shape.layers; ++i) module.layers.push_back({std::to_string(i), LayerTypeId(0), {}, {}});
  workload.modules = {module};
  workload.passes = {Pass{"train", ModuleId(0), PassKind::train, {}, 1, 0, 1, 1}};
  workload.data.sequence_length = 1;
  workload.global_batch = shape.batch;
  workload.precision = DataType::fp16;
  workload.optimizer = "none";
  workload.software.sequence_parallel = false;
  workload.software.pipeline_scatter_gather = false;
  workload.software.distributed_optimizer = false;
  workload.software.gradient_clipping = false;
  workload.software.overlap_gradient_reduce = false;
  workload.software.overlap_weight_gather = false;
  workload.software.attention = AttentionKernel::fused_softmax;
  return workload;
}

namespace {

/// A second pipeline over the same devices from the last to the first, with half of the batch.
void add_way_back(Part& part) {
  part.pipelines[0].batch /= 2;
  Pipeline back = part.pipelines[0];
  back.stages.clear();
  const std::size_t stages = part.stages.size();
  for (std::size_t s = 0; s < stages; ++s) {
    Stage stage = part.stages[s];
    stage.devices = part.stages[stages - 1 - s].devices;
    back.stages.push_back(id_at<StageId>(part.stages.size()));
    part.stages.push_back(std::move(stage));
  }
  part.pipelines.push_back(std::move(back));
}

}  // namespace

Plan make_plan(const PlanShape& shape, const Cluster& cluster, const Workload& workload) {
  const std::vector<DeviceId> gpus = cluster.gpus();
  const int width = shape.data * shape.context * shape.tensor;
  const int layers = int(workload.modules[0].layers.size());
  Part part;
  part.schedule = shape.schedule;
  Pipeline pipeline;
  pipeline.batch = workload.global_batch;
  pipeline.micro_batches = shape.micro_batches;
  Settings settings;
  settings.layout = Layout{equal_axis(AxisKind::data, shape.data), equal_axis(AxisKind::context, shape.context),
                           equal_axis(AxisKind::tensor, shape.tensor)};
  settings.recompute = Recompute{shape.recompute, 1};
  for (int s = 0; s < shape.stages; ++s) {
    Stage stage;
    stage.devices.assign(gpus.begin() + s * width, gpus.begin() + (s + 1) * width);
    stage.chunks.resize(shape.chunks);
    stage.rules = {Rule{{}, "", {}, settings}};
    part.stages.push_back(std::move(stage));
    pipeline.stages.push_back(StageId(s));
  }
  int next_layer = 0;
  const auto stage_of_visit = [&](int c, int s) { return shape.schedule == "zb_v" && c % 2 == 1 ? shape.stages - 1 - s : s; };
  for (int c = 0; c < shape.chunks; ++c)
    for (int visit = 0; visit < shape.stages; ++visit)
      for (int s = stage_of_visit(c, visit), count = shape.layers.empty() ? layers / (shape.stages * shape.chunks) : shape.layers[s]; count > 0; --count)
        part.stages[s].chunks[c].push_back(LayerId(next_layer++));
  part.pipelines = {pipeline};
  if (shape.schedule == "dualpipe") add_way_back(part);
  Plan plan;
  plan.phases = {PlanPhase{{}, {part}, {}}};
  return plan;
}

}  // namespace trainyard::toy
