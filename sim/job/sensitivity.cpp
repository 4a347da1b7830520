#include "sim/job/sensitivity.hpp"

#include <set>

#include "sim/cost/memory.hpp"
#include "sim/job/case_setting.hpp"
#include "sim/job/step_memory.hpp"
#include "sim/job/step_simulator.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

void speed_up(DeviceType& type) {
  for (auto& [data_type, peak] : type.peak) peak = peak * kMoreOfIt;
  for (auto& [kernel, curve] : type.attention) {
    curve.forward = curve.forward * kMoreOfIt;
    curve.backward = curve.backward * kMoreOfIt;
  }
}

void widen(Cluster& cluster, TransportId transport) {
  for (Link& link : cluster.links)
    if (link.transport == transport) {
      link.bandwidth = link.bandwidth * kMoreOfIt;
      link.nominal = link.nominal * kMoreOfIt;
    }
}

void enlarge_memory(Cluster& cluster) {
  for (Device& device : cluster.devices)
    if (device.kind == DeviceKind::gpu) device.memory = device.memory * kMoreOfIt;
  for (DeviceType& type : cluster.device_types) type.memory = type.memory * kMoreOfIt;
}

std::set<DeviceId> devices_of(const Plan& plan) {
  std::set<DeviceId> devices;
  for (const PlanPhase& phase : plan.phases)
    for (const Part& part : phase.parts)
      for (const Stage& stage : part.stages) devices.insert(stage.devices.begin(), stage.devices.end());
  return devices;
}

class Scaling {
 public:
  Scaling(const Case& which, const Plan& plan, const StepReport& step, const CaseOptions& options,
          const WorkerNursery& nursery)
      : which_(which), plan_(plan), step_(step), options_(options), nursery_(nursery), devices_(devices_of(plan)) {}

  std::vector<ResourceGain> all() {
    (void)simulated(*which_.cluster, plan_);  // what a change leaves alone is then known
    compute();
    links();
    memory_size();
    prices();
    return std::move(gains_);
  }

 private:
  void compute() {
    std::set<DeviceTypeId> types;
    for (const DeviceId device : devices_) types.insert(which_.cluster->devices[index(device)].type);
    for (const DeviceTypeId type : types) {
      const std::string& name = which_.cluster->device_types[index(type)].name;
      Cluster faster = *which_.cluster;
      speed_up(faster.device_types[index(type)]);
      try_on("FLOP/s of " + name, faster, plan_);
      Cluster wider = *which_.cluster;
      wider.device_types[index(type)].memory_bandwidth = wider.device_types[index(type)].memory_bandwidth * kMoreOfIt;
      try_on("memory bandwidth of " + name, wider, plan_);
    }
  }

  void links() {
    std::set<TransportId> transports;
    for (const Link& link : which_.cluster->links) transports.insert(link.transport);
    for (const TransportId transport : transports) {
      Cluster wider = *which_.cluster;
      widen(wider, transport);
      try_on("links " + which_.cluster->transports[index(transport)].name, wider, plan_);
    }
  }

  void memory_size() {
    const std::string name = "size of memory, planned again";
    Cluster larger = *which_.cluster;
    enlarge_memory(larger);
    StepSimulator simulator = simulator_on(larger);
    const PlanOrInfeasible answer = make_strategy(which_)->plan({larger, *which_.workload, simulator, which_.seed});
    if (const auto* planned = std::get_if<Planned>(&answer)) return try_on(name, larger, planned->plan);
    gains_.push_back({name, kMoreOfIt, {}, 0, 0, std::get<Infeasible>(answer).why});
  }

  /// A step costs more by the group's share of the price.
  void prices() {
    if (!step_.price_known || step_.price.value <= 0) return;
    std::set<NodeId> nodes;
    for (const DeviceId device : devices_) nodes.insert(which_.cluster->devices[index(device)].node);
    std::map<std::string, DollarsPerSecond> groups;
    for (const NodeId node : nodes)
      groups[which_.cluster->nodes[index(node)].group] += which_.cluster->nodes[index(node)].price;
    for (const auto& [group, price] : groups)
      gains_.push_back(
          {"price of " + group, kMoreOfIt, step_.step_time, 0, (kMoreOfIt - 1) * (price / step_.price), ""});
  }

  void try_on(const std::string& name, const Cluster& cluster, const Plan& plan) {
    const SimulationOutcome outcome = simulated(cluster, plan);
    if (const auto* error = std::get_if<SimulationError>(&outcome))
      return gains_.push_back({name, kMoreOfIt, {}, 0, 0, error->why});
    const StepReport& report = std::get<StepReport>(outcome);
    if (!report.memory.fits()) return gains_.push_back({name, kMoreOfIt, {}, 0, 0, shortfall_text(report.memory)});
    const double faster = (report.samples / report.step_time.value) / (step_.samples / step_.step_time.value);
    const double price = step_.price.value > 0 ? report.price / step_.price : 1;
    gains_.push_back({name, kMoreOfIt, report.step_time, faster - 1, price / faster - 1, ""});
  }

  SimulationOutcome simulated(const Cluster& cluster, const Plan& plan) {
    return simulator_on(cluster).simulate(std::span(&plan, 1)).front();
  }

  StepSimulator simulator_on(const Cluster& cluster) {
    return {cluster, *which_.workload, lowering_options(which_, options_), nursery_, options_.jobs, &memory_};
  }

  const Case& which_;
  const Plan& plan_;
  const StepReport& step_;
  const CaseOptions& options_;
  const WorkerNursery& nursery_;
  std::set<DeviceId> devices_;
  StepMemory memory_;
  std::vector<ResourceGain> gains_;
};

}  // namespace

std::vector<ResourceGain> sensitivity_of(const Case& which, const Plan& plan, const StepReport& step,
                                         const CaseOptions& options, const WorkerNursery& nursery) {
  return Scaling(which, plan, step, options, nursery).all();
}

}  // namespace trainyard
