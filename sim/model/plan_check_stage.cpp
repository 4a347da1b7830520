// What Plan::check asks of each stage by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/model/device_rates.hpp"
#include "sim/model/plan_check.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/model/whole_shares.hpp"

namespace trainyard::plan_check {
namespace {

std::vector<LayerId> layers_of(const Stage& stage) {
  std::vector<LayerId> layers;
  for (const auto& chunk : stage.chunks) layers.insert(layers.end(), chunk.begin(), chunk.end());
  return layers;
}

Layout layout_of(const Stage& stage, LayerId layer, const Workload& workload) {
  return *settings_of(stage, layer, workload).layout;
}

/// The layouts of a stage, each with the layers that have it, in order of the first.
std::vector<std::pair<Layout, std::vector<LayerId>>> layouts_of(const Stage& stage, const Workload& workload) {
  std::vector<std::pair<Layout, std::vector<LayerId>>> all;
  for (const LayerId layer : layers_of(stage)) {
    const Layout layout = layout_of(stage, layer, workload);
    const auto known = std::ranges::find(all, layout, &std::pair<Layout, std::vector<LayerId>>::first);
    if (known == all.end())
      all.emplace_back(layout, std::vector{layer});
    else
      known->second.push_back(layer);
  }
  return all;
}

/// The first name, and how many more there are.
std::string first_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? names[0] : fmt::format("{} (and {} more)", names[0], names.size() - 1);
}

void check_devices(const PartView& view, std::size_t s, Problems& problems) {
  const Stage& stage = view.part.stages[s];
  if (stage.devices.empty()) problems.push_back(fmt::format("{}: no devices", view.stage_name(s)));
  std::set<DeviceId> seen;
  std::vector<std::string> twice, others;
  for (const DeviceId id : stage.devices) {
    const Device& device = view.cluster.devices[index(id)];
    if (!seen.insert(id).second)
      twice.push_back(device.name);
    else if (device.kind != DeviceKind::gpu)
      others.push_back(device.name);
  }
  if (!twice.empty())
    problems.push_back(fmt::format("{}: device {} stands twice", view.stage_name(s), first_of(twice)));
  if (!others.empty()) problems.push_back(fmt::format("{}: {} is no GPU", view.stage_name(s), first_of(others)));
}

void check_axes(const Layout& layout, const std::string& where, Problems& problems) {
  std::set<AxisKind> seen;
  for (const Axis& axis : layout) {
    if (!seen.insert(axis.kind).second)
      problems.push_back(fmt::format("{}: layout {} has the axis {} twice", where, to_text(layout), word(axis.kind)));
    if (std::ranges::any_of(axis.shares, [](double share) { return !(share > 0) || !std::isfinite(share); }))
      problems.push_back(fmt::format("{}: layout {}: shares must be above zero", where, to_text(layout)));
  }
}

/// A tensor axis, and a context axis that exchanges heads, must give every member whole heads; a key-value head may be shared by several members.
void check_heads(const PartView& view, std::size_t s, LayerId layer, const Layout& layout, const std::string& where,
                 Problems& problems) {
  const bool ulysses = settings_of(view.part.stages[s], layer, view.workload).context_kind == ContextKind::ulysses;
  const int by_context = ulysses ? axis_size(layout, AxisKind::context) : 1;
  const int columns = axis_size(layout, AxisKind::columns);   // of a grid: the product behind the norm cuts the heads
  const int tensor = axis_size(layout, AxisKind::tensor) * by_context * columns;
  const std::string axes = columns > 1       ? fmt::format("columns: {}", columns)
                           : by_context == 1 ? fmt::format("tensor: {}", tensor)
                                           : fmt::format("tensor: {} x ulysses context: {}", tensor / by_context, by_context);
  const auto unequal = std::ranges::find_if(layout, [](const Axis& axis) { return axis.kind == AxisKind::tensor && are_unequal(axis.shares); });
  const Module& module = view.module();
  for (const Operator& op : module.types[index(module.layers[index(layer)].type)].operators) {
    const auto [heads, key_value_heads] = std::pair(op.attention.heads, op.attention.key_value_heads);
    if (unequal != layout.end()) {
      if (heads == 0 || std::ranges::count(whole_shares(unequal->shares, key_value_heads), 0) == 0) continue;
      problems.push_back(fmt::format("{}: {} key-value heads in shares {} leave a member without one", where, key_value_heads, to_text(layout)));
      return;
    }
    if (heads > 0 && heads % tensor != 0) {
      problems.push_back(fmt::format("{}: {} attention heads do not divide over {}", where, heads, axes));
      return;
    }
    if (key_value_heads > 0 && key_value_heads % tensor != 0 && tensor % key_value_heads != 0) {
      problems.push_back(
          fmt::format("{}: {} key-value heads do not divide over {}", where, key_value_heads, axes));
      return;
    }
  }
}

void check_layouts(const PartView& view, std::size_t s, Problems& problems) {
  const Stage& stage = view.part.stages[s];
  const auto layouts = layouts_of(stage, view.workload);
  for (const auto& [layout, layers] : layouts) {
    const std::string where = layouts.size() == 1
                                  ? view.stage_name(s)
                                  : fmt::format("{}, {}", view.stage_name(s), layer_list(view.module(), layers));
    if (members(layout) != static_cast<int>(stage.devices.size()))
      problems.push_back(fmt::format("{}: layout {} spans {} devices, the stage has {}", where, to_text(layout),
                                     members(layout), stage.devices.size()));
    check_axes(layout, where, problems);
    const std::size_t before = problems.size();
    for (const LayerId layer : layers)
      if (problems.size() == before) check_heads(view, s, layer, layout, where, problems);
  }
}

/// Every expert on one member of the axis, and none without.
void check_experts(const PartView& view, std::size_t s, Problems& problems) {
  const Stage& stage = view.part.stages[s];
  for (const LayerId layer : layers_of(stage)) {
    int items = 1;
    for (const Operator& op : view.module().types[index(view.module().layers[index(layer)].type)].operators) items = std::max(items, op.items);
    if (items == 1) continue;
    const Settings settings = settings_of(stage, layer, view.workload, "experts");
    const int ranks = axis_size(*settings.layout, AxisKind::items);
    std::vector<int> held;
    for (const auto& own : settings.owners) held.insert(held.end(), own.begin(), own.end());
    std::ranges::sort(held);
    std::vector<int> all(items);
    std::iota(all.begin(), all.end(), 0);
    if (ranks > items)
      problems.push_back(fmt::format("{}: {} experts do not divide over expert: {}", view.stage_name(s), items, ranks));
    else if (!settings.owners.empty() && (int(settings.owners.size()) != ranks || held != all))
      problems.push_back(fmt::format("{}: owners must give each of the {} experts to one of {} members", view.stage_name(s), items, ranks));
    else
      continue;
    return;
  }
}

void check_rule(const PartView& view, std::size_t s, const Rule& rule, Problems& problems) {
  const auto add = [&](std::string text) { problems.push_back(view.stage_name(s) + ": " + std::move(text)); };
  const Settings& settings = rule.settings;
  if (settings.zero && (*settings.zero < 0 || *settings.zero > 3))
    add(fmt::format("zero is 0 to 3, not {}", *settings.zero));
  if (settings.recompute && settings.recompute->every < 1)
    add(fmt::format("recompute every {} layers: at least 1", settings.recompute->every));
  if (settings.sync && settings.sync->every < 1)
    add(fmt::format("sync every {} steps: at least 1", settings.sync->every));
  if (rule.operators.empty() || !settings.layout) return;
  const std::size_t devices = rule.devices.empty() ? view.part.stages[s].devices.size() : rule.devices.size();
  if (members(*settings.layout) != static_cast<int>(devices))
    add(fmt::format("operators {}: layout {} spans {} devices, they have {}", rule.operators, to_text(*settings.layout),
                    members(*settings.layout), devices));
}

bool has_host(const Cluster& cluster, DeviceId device) {
  const Node& node = cluster.nodes[index(cluster.devices[index(device)].node)];
  return std::ranges::any_of(node.devices, [&](DeviceId id) { return cluster.devices[index(id)].kind == DeviceKind::cpu; });
}

/// States can live only where there is memory.
void check_homes(const PartView& view, std::size_t s, Problems& problems) {
  const Stage& stage = view.part.stages[s];
  const bool offloads = std::ranges::any_of(stage.rules, [](const Rule& rule) {
    return std::ranges::any_of(rule.settings.home, [](const auto& entry) { return entry.second.place == Place::host; });
  });
  if (!offloads) return;
  for (const DeviceId device : stage.devices)
    if (!has_host(view.cluster, device)) {
      problems.push_back(fmt::format("{}: {} has no host to be a home", view.stage_name(s), view.cluster.devices[index(device)].name));
      return;
    }
}

void check_counts(const PartView& view, std::size_t s, Problems& problems) {
  const Stage& stage = view.part.stages[s];
  if (stage.in_flight && *stage.in_flight < 1)
    problems.push_back(fmt::format("{}: in_flight {}: at least 1", view.stage_name(s), *stage.in_flight));
  for (const Rule& rule : stage.rules) check_rule(view, s, rule, problems);
}

}  // namespace

void check_stages(const PartView& view, Problems& problems) {
  for (std::size_t s = 0; s < view.part.stages.size(); ++s) {
    check_devices(view, s, problems);
    if (!view.part.stages[s].devices.empty()) check_layouts(view, s, problems);
    check_counts(view, s, problems);
    if (!view.part.stages[s].devices.empty()) check_experts(view, s, problems);
    check_homes(view, s, problems);
  }
}

void check_device_types(const PartView& view, Problems& problems) {
  std::set<DeviceTypeId> used;
  for (const Stage& stage : view.part.stages)
    for (const DeviceId device : stage.devices)
      if (view.cluster.devices[index(device)].kind == DeviceKind::gpu)
        used.insert(view.cluster.devices[index(device)].type);
  for (const DeviceTypeId id : used) {
    const DeviceType& type = view.cluster.device_types[index(id)];
    std::vector<std::string_view> known;
    for (const auto& [data_type, peak] : type.peak) known.push_back(name(data_type));
    if (!peak_rate(type, view.workload.compute_type()))
      problems.push_back(fmt::format("{}{} has no {}; it has {}", view.where, type.name, name(view.workload.compute_type()),
                                     fmt::join(known, ", ")));
  }
}

}  // namespace trainyard::plan_check
