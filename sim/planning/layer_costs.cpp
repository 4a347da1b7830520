#include "sim/planning/layer_costs.hpp"

#include <algorithm>
#include <numeric>

#include "sim/cost/memory.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/planning/link_times.hpp"

namespace trainyard {
namespace {

/// What tells two groups apart: the devices' kinds, and the links between them.
std::vector<double> key_of(const LayerQuestion& question, const RingGroup& ring, const Cluster& cluster) {
  std::vector<double> key{double(question.group.size()), question.sequences, double(question.recompute)};
  for (const DeviceId id : question.group) {
    const Device& device = cluster.devices[index(id)];
    key.insert(key.end(), {double(index(device.type)), device.slowdown});
  }
  key.insert(key.end(), {ring.shape.ring_rate.value, ring.shape.hop_latency.value, double(ring.shape.hops), double(ring.shape.rings),
                         ring.transport.setup.value, ring.transport.step.value, ring.transport.ramp.value});
  return key;
}

/// All layers of the module on the group, as one stage of a Plan would have them.
StageRole whole_role(const LayerQuestion& question, const Module& module, const Workload& workload) {
  Stage stage;
  stage.devices = question.group;
  Rule rule;
  rule.settings.layout = Layout{equal_axis(AxisKind::tensor, int(question.group.size()))};
  rule.settings.recompute = Recompute{question.recompute, 1};
  stage.rules = {rule};
  StageRole role;
  for (std::size_t i = 0; i < module.layers.size(); ++i) role.layers.push_back(id_at<LayerId>(i));
  role.chunks = {role.layers};
  role.recompute.assign(role.layers.size(), Recompute{question.recompute, 1});
  const Settings settings = settings_of(stage, role.layers.front(), workload);
  role.wire = *settings.wire;
  role.cut.tensor = int(question.group.size());
  role.cut.sequence_parallel = *settings.sequence_parallel && role.cut.tensor > 1;
  role.cut.recompute = question.recompute;
  role.cut.sequences = question.sequences;
  role.cut.tokens = workload.data.sequence_length;
  return role;
}

Seconds total(const std::vector<TimedPiece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), Seconds(0), [](Seconds sum, const TimedPiece& piece) { return sum + piece.alone(); });
}

}  // namespace

LayerCosts::LayerCosts(const Cluster& cluster, const Workload& workload, const Router& router)
    : cluster_(cluster), workload_(workload), router_(router), module_(workload.modules[index(workload.passes.front().module)]) {}

const std::vector<LayerCost>& LayerCosts::of(const LayerQuestion& question) {
  const std::vector<double> key = key_of(question, ring_group(router_, cluster_, question.group), cluster_);
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, measure(question)).first->second;
}

std::vector<LayerCost> LayerCosts::measure(const LayerQuestion& question) const {
  const StageRole role = whole_role(question, module_, workload_);
  const Cell cell{0, 0, 0, StageId{}, question.group};
  const StageWork work = stage_work(cell, role, module_, cluster_, workload_, {ring_group(router_, cluster_, question.group), {}, {}, {}, {}});
  const std::vector<LayerMemory> memory =
      layer_memory(module_, role.layers, role.recompute, role.cut, cluster_.type_of(question.group.front()), workload_);
  std::vector<LayerCost> costs;
  for (std::size_t i = 0; i < role.layers.size(); ++i) {
    const std::span<const LayerId> layer(&role.layers[i], 1);
    LayerCost cost;
    cost.forward = total(work.layers[i].forward);
    cost.backward = total(work.layers[i].recompute) + total(work.layers[i].backward);
    const StaticMemory held = static_memory(module_, layer, role.cut, workload_, 1, 0);
    cost.optimizer = held.optimizer;
    cost.states = held.weights + held.gradients + held.optimizer;
    cost.kept = memory[i].kept;
    cost.transient = memory[i].rebuilt + memory[i].transient + held.buffers;
    cost.gradients = element_size(role.gradient_type(workload_.software)) * trained_parameters_on_device(module_, layer, role.cut);
    cost.weights = element_size(workload_.precision) * parameters_on_device(module_, layer, role.cut);
    cost.output = transfer_bytes(role, module_, workload_, role.layers[i], 1, 1);
    costs.push_back(cost);
  }
  return costs;
}

Bytes LayerCosts::usable_memory(DeviceId device, int tensor) const {
  const DeviceType& type = cluster_.type_of(device);
  const Bytes memory = cluster_.devices[index(device)].memory;
  // The reserve is a constant and a share of what is allocated; both follow from two points of it.
  const Bytes constant = reserved_memory(type, Bytes(0), tensor);
  const double share = (reserved_memory(type, memory, tensor) - constant) / memory;
  return (memory - constant) / (1 + share);
}

}  // namespace trainyard
