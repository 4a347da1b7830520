#include "tests/plan/fixture.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

namespace trainyard::test {
namespace {

DeviceType type_of(const std::string& name) {
  DeviceType type;
  type.name = name;
  type.memory = 80_GB;
  const bool volta = name.starts_with("V100");
  type.peak[DataType::fp16] = 100_TFLOPS;
  if (!volta) type.peak[DataType::bf16] = 300_TFLOPS;
  type.attention[AttentionKernel::flash_1] = {};
  if (!volta) type.attention[AttentionKernel::flash_2] = {};
  return type;
}

void add_device(Cluster& cluster, NodeId node, const std::string& name, DeviceKind kind, DeviceTypeId type) {
  cluster.nodes[index(node)].devices.push_back(id_at<DeviceId>(cluster.devices.size()));
  Device device;
  device.name = name;
  device.kind = kind;
  device.type = type;
  device.node = node;
  cluster.devices.push_back(device);
}

void add_node(Cluster& cluster, const Group& group, int number, DeviceTypeId type) {
  const auto node = id_at<NodeId>(cluster.nodes.size());
  cluster.nodes.emplace_back().group = group.name;
  const std::string prefix = fmt::format("{}.{}", group.name, number);
  for (int d = 0; d < group.gpus; ++d)
    add_device(cluster, node, fmt::format("{}.{}", prefix, d), DeviceKind::gpu, type);
  add_device(cluster, node, prefix + ".cpu", DeviceKind::cpu, DeviceTypeId{});
  add_device(cluster, node, prefix + ".ssd", DeviceKind::storage, DeviceTypeId{});
  add_device(cluster, node, prefix + ".nic", DeviceKind::nic, DeviceTypeId{});
}

Operator attention() {
  Operator op;
  op.name = "attention";
  op.group = "attention";
  op.kind = OperatorClass::attention;
  op.attention = {32, 8, 128, true};
  return op;
}

/// Costs nothing; rules may name it.
Operator of_group(const std::string& group) {
  Operator op;
  op.name = op.group = group;
  return op;
}

std::string lines_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& one : diagnostics.all())
    text += fmt::format("{}:{}: {}: {}\n", one.place.line, one.place.column, one.place.path, one.message);
  return text;
}

}  // namespace

Cluster cluster_of(const std::vector<Group>& groups) {
  Cluster cluster;
  for (const Group& group : groups) {
    const auto type = id_at<DeviceTypeId>(cluster.device_types.size());
    cluster.device_types.push_back(type_of(group.type));
    for (int n = 0; n < group.count; ++n) add_node(cluster, group, n, type);
  }
  return cluster;
}

Workload workload_of(int layers, double global_batch) {
  Workload workload;
  Module& module = workload.modules.emplace_back();
  module.name = "model";
  module.types = {{"embedding", {}}, {"decoder", {attention(), of_group("experts")}}, {"head", {of_group("head")}}};
  module.layers.push_back({"embedding", LayerTypeId{0}, {}, {}});
  for (int l = 0; l < layers; ++l) module.layers.push_back({std::to_string(l), LayerTypeId{1}, {}, {}});
  module.layers.push_back({"head", LayerTypeId{2}, {}, {}});
  workload.passes.push_back({"train", ModuleId{}, PassKind::train, {}, 1, 0, 1, 1});
  workload.global_batch = global_batch;
  workload.precision = DataType::fp16;
  workload.software.attention = AttentionKernel::unfused;
  return workload;
}

ReadPlan read_text(const std::string& yaml) {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text(yaml, "plan.yaml", diagnostics);
  REQUIRE(lines_of(diagnostics) == "");
  SymbolicPlan plan = read_plan(value, diagnostics);
  return {std::move(plan), lines_of(diagnostics)};
}

SymbolicPlan symbolic(const std::string& yaml) {
  ReadPlan read = read_text(yaml);
  INFO(yaml);
  REQUIRE(read.errors == "");
  return read.plan;
}

ResolvedPlan resolve_text(const std::string& yaml, const Cluster& cluster, const Workload& workload) {
  Diagnostics diagnostics;
  Plan plan = resolve(symbolic(yaml), cluster, workload, diagnostics);
  return {std::move(plan), lines_of(diagnostics)};
}

Plan plan_of(const std::string& yaml, const Cluster& cluster, const Workload& workload) {
  ResolvedPlan resolved = resolve_text(yaml, cluster, workload);
  INFO(yaml);
  REQUIRE(resolved.errors == "");
  return resolved.plan;
}

std::string checked(const std::string& yaml, const Cluster& cluster, const Workload& workload) {
  std::string text;
  for (const std::string& line : plan_of(yaml, cluster, workload).check(cluster, workload)) text += line + "\n";
  return text;
}

std::vector<ConfigValue> examples() {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/plan/examples.yaml");
  std::stringstream text;
  text << file.rdbuf();
  Diagnostics diagnostics;
  auto documents = read_yaml_documents(text.str(), "examples.yaml", diagnostics);
  REQUIRE(diagnostics.text() == "");
  return documents;
}

std::vector<DeviceId> devices(int first, int count, int step) {
  std::vector<DeviceId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(static_cast<DeviceId>(first + i * step));
  return ids;
}

std::vector<LayerId> layers(int first, int last) {
  std::vector<LayerId> ids;
  for (int l = first; l <= last; ++l) ids.push_back(static_cast<LayerId>(l));
  return ids;
}

}  // namespace trainyard::test
