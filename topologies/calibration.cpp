#include "topologies/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

namespace {

void scale(MessageTimes& times, double by_time, double by_rate) {
  for (Seconds* time : {&times.setup, &times.step, &times.inner, &times.ramp}) *time = *time * by_time;
  times.rate *= by_rate;
}

void scale(Transport& transport, double by_time, double by_rate) {
  for (Seconds* time : {&transport.setup, &transport.step, &transport.ramp}) *time = *time * by_time;
  for (auto* algorithm : {&transport.ring, &transport.tree, &transport.in_network, &transport.exchange})
    if (*algorithm)
      for (Protocol& protocol : (*algorithm)->protocols) scale(protocol.times, by_time, by_rate);
}

template <class Named>
Named* find(std::vector<Named>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Schema calibration_schema() {
  std::vector<SchemaField> types;
  for (const char* type : {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"}) types.push_back(optional(type, gemm_curve_schema()));
  const Schema link = object({optional("times", number(between(0.01, 100), "factor of the times of messages"), "1"),
                              optional("rate", number(between(0.01, 10), "factor of the bandwidth that collectives reach"), "1")},
                             "a class of links");
  return object({optional("gpus", mapping("GPU", object(std::move(types), "curve of products by data type"), "measured GPUs")),
                 optional("links", mapping("TRANSPORT", link, "measured classes of links")),
                 optional("slowdown", number(between(0.1, 10), "how many times as long kernels take in training here"), "1"),
                 optional("source", text("of the measurements"))},
                "one's own measurements, as `trainyard calibrate` writes them");
}

void apply_calibration(const View& section, Cluster& cluster, Diagnostics& diagnostics) {
  if (!section) return;
  for (const std::string& name : section["gpus"] ? section["gpus"].keys() : std::vector<std::string>{}) {
    DeviceType* type = find(cluster.device_types, name);
    if (type == nullptr) diagnostics.add(section["gpus"][name].place(), fmt::format("the cluster has no {}", name));
    for (const std::string& word : section["gpus"][name].keys())
      if (const auto known = data_type_from(word); known && type != nullptr) type->gemm[*known] = gemm_curve(section["gpus"][name][word]);
  }
  for (const std::string& name : section["links"] ? section["links"].keys() : std::vector<std::string>{}) {
    const View link = section["links"][name];
    if (Transport* transport = find(cluster.transports, name))
      scale(*transport, link["times"].number_or(1), link["rate"].number_or(1));
    else
      diagnostics.add(link.place(), fmt::format("the cluster has no {} links", name));
  }
  const double slowdown = section["slowdown"].number_or(1);
  for (Device& device : cluster.devices)
    if (device.kind == DeviceKind::gpu) device.slowdown *= slowdown;
}

}  // namespace trainyard
