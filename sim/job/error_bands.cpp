#include "sim/job/error_bands.hpp"

#include <algorithm>
#include <set>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"

namespace trainyard {

std::string_view error_band_text_error_bands();  // made by trainyard_embed

namespace {

constexpr const char* kExperts = "mixture of experts";

bool has_group(const Module& module, std::string_view group) {
  for (const LayerType& type : module.types)
    if (std::ranges::find(type.operators, group, &Operator::group) != type.operators.end()) return true;
  return false;
}

Ground ground_on(const std::vector<DeviceId>& devices, const Cluster& cluster, const Workload& workload) {
  std::set<DeviceTypeId> types;
  std::set<NodeId> nodes;
  for (const DeviceId device : devices) {
    types.insert(cluster.devices[index(device)].type);
    nodes.insert(cluster.devices[index(device)].node);
  }
  const std::string architecture = architecture_of(workload);
  if (types.empty() || (architecture != "dense" && architecture != kExperts)) return {};  // too few runs of the others are measured
  const std::string generation = types.size() > 1 ? "mixed" : cluster.device_types[index(*types.begin())].generation;
  return {generation, architecture == kExperts ? kExperts : model_class_of(parameter_count(workload.modules.front())), node_class_of(static_cast<int>(nodes.size()))};
}

Schema bands_schema() {
  using namespace schema;
  const auto share = [](const char* help) { return number(between(-1, 1e9), help); };
  const Schema band = object({required("generation", text("of the GPUs; all: any")), required("model", text("class of models; all: any")),
                              required("nodes", text("class of clusters; all: any")), required("rows", integer(between(1, 1e9), "measured runs")),
                              required("median", share("of the absolute errors")), required("low", share("10th percentile")),
                              required("high", share("90th percentile")), required("eight_of_ten", share("80th percentile of the absolute errors"))},
                             "errors of one group");
  const Schema fill = object({required("fits_below", share("share of the capacity")), required("out_above", share("share of the capacity"))},
                             "bounds of the memory verdict");
  return object({required("memory_fill", fill), required("bands", list(band, between(1, 10000), "groups")),
                 required("witnesses", mapping("id", number(between(0, 1e9), "predicted step time, s"), "rows that tell whether the file is stale"))},
                "errors by group");
}

std::string name_or_all(const std::string& name) { return name == "all" ? "" : name; }

std::string group_text(const Ground& ground) {
  std::string text;
  for (const std::string* name : {&ground.generation, &ground.model, &ground.nodes})
    if (!name->empty()) text += (text.empty() ? "" : ", ") + *name;
  return text.empty() ? "all runs" : text;
}

}  // namespace

std::string architecture_of(const Workload& workload) {
  if (workload.modules.empty()) return "";
  if (workload.modules.size() > 1) return "several modules";
  const Module& module = workload.modules.front();
  if (std::ranges::all_of(module.types, &LayerType::only_measured)) return "measured layers";
  for (const auto& [group, name] : {std::pair{"mamba", "hybrid"}, {"tables", "recommendation"}, {"modulation", "diffusion"}, {"convolution", "convolutional"}, {"vision", "vision and language"}, {"experts", kExperts}})
    if (has_group(module, group)) return name;
  return "dense";
}

std::string model_class_of(double parameters) {
  const double billions = parameters / 1e9;
  if (billions <= 0) return "";
  if (billions < 3) return "under 3 B";
  if (billions < 15) return "3 to 15 B";
  return billions < 80 ? "15 to 80 B" : "80 B and more";
}

std::string node_class_of(int nodes) {
  if (nodes <= 1) return "1 node";
  if (nodes <= 8) return "2 to 8 nodes";
  return nodes <= 64 ? "9 to 64 nodes" : "more than 64 nodes";
}

Ground ground_of(const Plan& plan, const Cluster& cluster, const Workload& workload) {
  std::vector<DeviceId> devices;
  for (const PlanPhase& phase : plan.phases)
    for (const Part& part : phase.parts)
      for (const Stage& stage : part.stages) devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  return ground_on(devices, cluster, workload);
}

Ground ground_of(const Cluster& cluster, const Workload& workload) { return ground_on(cluster.gpus(), cluster, workload); }

std::vector<Ground> nearest_grounds(const Ground& ground) {
  const auto& [generation, model, nodes] = ground;
  if (model == kExperts) return {{generation, model, nodes}, {generation, model, ""}, {"", model, nodes}, {"", model, ""}};
  return {{generation, model, nodes}, {generation, model, ""}, {generation, "", nodes}, {generation, "", ""}, {"", model, nodes}, {"", "", ""}};
}

std::optional<ErrorBand> nearest_band(const ErrorBands& bands, const Ground& ground) {
  if (ground == Ground{}) return std::nullopt;
  for (const Ground& near : nearest_grounds(ground))
    for (const auto& [of, band] : bands.entries)
      if (of == near) return band;
  return std::nullopt;
}

ErrorBands read_error_bands(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  const ConfigValue document = read_yaml_text(text, file, diagnostics);
  if (diagnostics.empty()) check(document, bands_schema(), diagnostics);
  diagnostics.throw_if_any();
  const View root(document);
  ErrorBands bands;
  bands.fill = {root["memory_fill"]["fits_below"].number(), root["memory_fill"]["out_above"].number()};
  for (std::size_t i = 0; i < root["bands"].size(); ++i) {
    const View item = root["bands"].at(i);
    const Ground ground{name_or_all(item["generation"].text()), name_or_all(item["model"].text()), name_or_all(item["nodes"].text())};
    bands.entries.push_back({ground,
                             {group_text(ground), static_cast<int>(item["rows"].integer()), item["median"].number(), item["low"].number(),
                              item["high"].number(), item["eight_of_ten"].number()}});
  }
  return bands;
}

const ErrorBands& error_bands() {
  static const ErrorBands kBands = read_error_bands(std::string(error_band_text_error_bands()), "validation/error_bands.yaml");
  return kBands;
}

FitVerdict fit_verdict(double fill, const FillBounds& bounds) {
  if (fill < bounds.fits_below) return FitVerdict::fits;
  return fill > bounds.out_above ? FitVerdict::out : FitVerdict::uncertain;
}

}  // namespace trainyard
