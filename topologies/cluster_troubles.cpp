#include "topologies/cluster_troubles.hpp"

#include <algorithm>
#include <array>

namespace trainyard {

using namespace schema;

namespace {

constexpr std::array kSlowing{OperatorClass::gemm,      OperatorClass::attention, OperatorClass::grouped_gemm, OperatorClass::memory_bound,
                              OperatorClass::embedding, OperatorClass::optimizer};

/// Whether a device is the one that is named, or in the node or group that is.
bool is_in(const std::string& device, const std::string& name) {
  return device.starts_with(name) && (device.size() == name.size() || device[name.size()] == '.');
}

std::vector<Device*> gpus_in(Cluster& cluster, const std::string& name) {
  std::vector<Device*> found;
  for (Device& device : cluster.devices)
    if (device.kind == DeviceKind::gpu && is_in(device.name, name)) found.push_back(&device);
  return found;
}

std::string nothing_named(const std::string& name) { return "no GPU is \"" + name + "\"; a name is GROUP, GROUP.NODE or GROUP.NODE.DEVICE"; }

/// The narrowest name that holds a device wins.
void apply_slowdown(const View& section, Cluster& cluster, Diagnostics& diagnostics) {
  std::vector<std::string> names = section.keys();
  std::ranges::stable_sort(names, {}, [](const std::string& name) { return std::ranges::count(name, '.'); });
  for (const std::string& name : names) {
    const std::vector<Device*> devices = gpus_in(cluster, name);
    if (devices.empty()) diagnostics.add(section[name].place(), nothing_named(name));
    for (Device* device : devices) device->slowdown = section[name].number();
  }
}

/// Absent or `none`: kernels and collectives do not meet. What the catalogue does not know is none.
void apply_interference(const View& section, Cluster& cluster) {
  const bool measured = section && section.is_scalar() && section.text() == "catalogue";
  for (DeviceType& type : cluster.device_types) {
    if (measured) continue;
    type.collective_share = 0;
    type.interference.clear();
    if (!section || !section.is_map()) continue;
    type.collective_share = section["collective_share"].number_or(0);
    type.interference_source = "the scenario";
    for (const OperatorClass kind : kSlowing)
      if (const View keep = section["flows_keep"][name(kind)]) type.interference.push_back({kind, keep.number()});
  }
}

void apply_failures(const View& section, Cluster& cluster, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < section.size(); ++i) {
    const View item = section.at(i);
    const std::string name = item["device"].text();
    const std::vector<Device*> devices = gpus_in(cluster, name);
    if (devices.empty()) diagnostics.add(item["device"].place(), nothing_named(name));
    for (const Device* device : devices)
      cluster.events.push_back({item["at"].quantity<Seconds>(), DeviceFailure{id_at<DeviceId>(std::size_t(device - cluster.devices.data()))}});
  }
}

}  // namespace

Schema slowdown_schema() {
  return mapping("GPU", number(between(0.01, 1000), "how many times as long its kernels take as its kind's"),
                 "stragglers: GROUP, GROUP.NODE or GROUP.NODE.DEVICE: FACTOR; the narrowest name counts");
}

Schema failures_schema() {
  const Schema one = object({required("device", text("GROUP.NODE.DEVICE, or GROUP.NODE for all of a node")),
                             required("at", quantity(Dimension::seconds, between(0, 1e8), "after the start of the first step that is simulated"))},
                            "a GPU that is gone from then on");
  return list(one, between(1, 100000), "GPUs that fail while a step runs: what their peers then wait for");
}

Schema interference_schema() {
  std::vector<SchemaField> keeps;
  for (const OperatorClass kind : kSlowing)
    keeps.push_back(optional(std::string(name(kind)), number(between(0.01, 1), "share of its bandwidth that is left to a flow"), "1"));
  return one_of({choice({"none", "catalogue"}, "what is measured for each GPU, or nothing"),
                 object({optional("collective_share", number(between(0, 0.95), "of the multiprocessors, that a collective takes from kernels"), "0"),
                         optional("flows_keep", object(std::move(keeps), "beside kernels of each class"))},
                        "of every GPU")},
                "how kernels and collectives slow each other; none unless said");
}

void apply_troubles(const View& root, Cluster& cluster, Diagnostics& diagnostics) {
  if (const View slowdown = root["slowdown"]) apply_slowdown(slowdown, cluster, diagnostics);
  apply_interference(root["interference"], cluster);
  if (const View failures = root["failures"]) apply_failures(failures, cluster, diagnostics);
  std::ranges::stable_sort(cluster.events, {}, &ClusterEvent::at);
}

}  // namespace trainyard
