#include "tests/report/made_up.hpp"

namespace trainyard {
namespace {

DeviceType device_type(const std::string& name, FlopsPerSecond peak) {
  DeviceType type;
  type.name = name;
  type.memory = 16_GB;
  type.peak = {{DataType::fp16, peak}};
  return type;
}

void add_node(Cluster& cluster, const std::string& group, const std::string& instance, int type, double price) {
  Node node;
  node.group = group;
  node.instance = instance;
  node.price = dollars_per_hour(price);
  node.price_source = "a list, 2026-01-02";
  for (int i = 0; i < 2; ++i) {
    Device device;
    device.name = group + "." + std::to_string(cluster.nodes.size() % 2) + "." + std::to_string(i);
    device.type = id_at<DeviceTypeId>(static_cast<std::size_t>(type));
    device.node = id_at<NodeId>(cluster.nodes.size());
    node.devices.push_back(id_at<DeviceId>(cluster.devices.size()));
    cluster.devices.push_back(device);
  }
  cluster.nodes.push_back(node);
}

}  // namespace

Cluster small_cluster() {
  Cluster cluster;
  cluster.fabric = "star";
  cluster.device_types = {device_type("Fast", 100_TFLOPS), device_type("Slow", 50_TFLOPS)};
  add_node(cluster, "f", "cloud.fast", 0, 7.2);
  add_node(cluster, "f", "cloud.fast", 0, 7.2);
  add_node(cluster, "s", "", 1, 3.6);
  add_node(cluster, "s", "", 1, 3.6);
  return cluster;
}

Workload small_workload() {
  Workload workload;
  workload.model = "tiny";
  workload.data.sequence_length = 1024;
  workload.global_batch = 64;
  workload.precision = DataType::fp16;
  return workload;
}

CaseResult ran(const std::string& strategy, Seconds step_time, FlopsPerSecond peak, DollarsPerSecond price) {
  CaseResult result;
  result.scenario = "small";
  result.strategy = strategy;
  result.plan_json = R"({"pipeline": 2})";
  result.plan_line = "PP2 · micro-batch 1";
  StepReport& step = result.step;
  step.step_time = step_time;
  step.first_step_time = step_time + 1_s;
  step.time.forward = step_time;
  step.bubble_fraction = 0.125;
  step.exposed_communication_fraction = 0.05;
  step.model_flops = Flops(1.2e14);
  step.hardware_flops = Flops(1.8e14);
  step.peak = peak;
  step.tokens = 10240;
  step.samples = 10;
  step.gpus = 8;
  step.memory = {"s.0.1", 12_GB, 16_GB, {2_GB, 2_GB, 4_GB, 3_GB, 1_GB, Bytes{}}, 1_s};
  step.price = price;
  step.simulated_tasks = 42;
  step.device_classes = 2;
  return result;
}

CaseResult did_not_fit(const std::string& strategy) {
  CaseResult result;
  result.scenario = "small";
  result.strategy = strategy;
  result.status = CaseStatus::infeasible;
  result.reason = "does not fit: s.0.1 lacks 4 GB";
  result.step.memory = {"s.0.1", 20_GB, 16_GB, {5_GB, 5_GB, 5_GB, 5_GB, Bytes{}, Bytes{}}, Seconds{}};
  return result;
}

CaseResult failed(const std::string& strategy, const std::string& why) {
  CaseResult result;
  result.scenario = "small";
  result.strategy = strategy;
  result.status = CaseStatus::error;
  result.reason = why;
  return result;
}

}  // namespace trainyard
