#include "sim/planning/plan_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "sim/config/schema.hpp"

namespace trainyard::plan_names {
namespace {

/// Indices of a range, or all of them; reports the first that is too large.
std::vector<int> indices_below(const std::optional<IndexRange>& range, std::size_t count, const std::string& what,
                               const SourcePlace& place, Diagnostics& diagnostics) {
  IndexRange clipped = range.value_or(IndexRange{0, static_cast<int>(count) - 1, 1});
  if (clipped.last < static_cast<int>(count)) return clipped.indices();
  diagnostics.add(place, count == 0
                             ? fmt::format("{}: there are none", what)
                             : fmt::format("{}: there is no {}; they are 0 to {}", what, clipped.last, count - 1));
  clipped.last = static_cast<int>(count) - 1;
  return clipped.indices();
}

DeviceKind kind_of_unit(const std::string& unit) {
  if (unit == "cpu") return DeviceKind::cpu;
  return unit == "ssd" ? DeviceKind::storage : DeviceKind::nic;
}

std::string unit_of(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return "cpu";
  return kind == DeviceKind::storage ? "ssd" : "nic";
}

/// How far values that grow by a constant step run from `at`; a step above 1 counts only where three or more follow it.
IndexRange run_from(const std::vector<int>& values) {
  std::size_t count = 1;
  const int step = values.size() > 1 ? values[1] - values[0] : 0;
  while (step >= 1 && count < values.size() && values[count] - values[count - 1] == step) ++count;
  if (step > 1 && count < 3) return {values[0], values[0], 1};
  return {values[0], values[count - 1], count == 1 ? 1 : step};
}

bool is_numbered(const Layer& layer) {
  const LayerPiece piece = layer_piece(layer.name);
  return piece.range && piece.range->first == piece.range->last;
}

bool has_only_names(const Module& module) { return std::ranges::none_of(module.layers, is_numbered); }

std::string known_layers(const Module& module) {
  std::vector<LayerId> all;
  for (std::size_t l = 0; l < module.layers.size(); ++l) all.push_back(id_at<LayerId>(l));
  std::vector<std::string> pieces;
  for (const LayerPiece& piece : layer_set(all, module)) pieces.push_back(to_text(piece));
  return fmt::format("{}", fmt::join(pieces, ", "));
}

/// Pieces of one group with equal devices in nodes that follow each other become one.
void append(DeviceSet& set, const DevicePiece& piece) {
  if (!set.empty()) {
    DevicePiece& last = set.back();
    const bool joins = last.group == piece.group && last.devices == piece.devices && last.unit == piece.unit &&
                       last.nodes && piece.nodes && last.nodes->last + 1 == piece.nodes->first;
    if (joins) {
      last.nodes->last = piece.nodes->last;
      return;
    }
  }
  set.push_back(piece);
}

}  // namespace

SourcePlace place_of(const Written& written, std::string_view key) {
  if (!written.value) return {};
  const ConfigValue* value = key.empty() ? nullptr : written.value->find(key);
  return value ? value->place : written.value->place;
}

DeviceNames::DeviceNames(const Cluster& cluster)
    : cluster_(cluster), index_in_group_(cluster.nodes.size()), index_in_node_(cluster.devices.size(), -1) {
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    auto& nodes = groups_[cluster.nodes[n].group];
    index_in_group_[n] = static_cast<int>(nodes.size());
    nodes.push_back(id_at<NodeId>(n));
    int gpus = 0;
    for (const DeviceId device : gpus_of(nodes.back())) index_in_node_[index(device)] = gpus++;
  }
}

std::vector<DeviceId> DeviceNames::gpus_of(NodeId node) const {
  std::vector<DeviceId> gpus;
  for (const DeviceId device : cluster_.nodes[index(node)].devices)
    if (cluster_.devices[index(device)].kind == DeviceKind::gpu) gpus.push_back(device);
  return gpus;
}

std::vector<DeviceId> DeviceNames::piece_ids(const DevicePiece& piece, const SourcePlace& place,
                                             Diagnostics& diagnostics) const {
  const auto group = groups_.find(piece.group);
  if (group == groups_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, nodes] : groups_) known.push_back(name);
    diagnostics.add(place, unknown_name("node group", piece.group, known));
    return {};
  }
  std::vector<DeviceId> ids;
  const std::string text = to_text(piece);
  for (const int n :
       indices_below(piece.nodes, group->second.size(), text + ": nodes of " + piece.group, place, diagnostics)) {
    const NodeId node = group->second[static_cast<std::size_t>(n)];
    if (!piece.unit.empty()) {
      for (const DeviceId device : cluster_.nodes[index(node)].devices)
        if (cluster_.devices[index(device)].kind == kind_of_unit(piece.unit)) ids.push_back(device);
      continue;
    }
    const auto gpus = gpus_of(node);
    const std::string what = fmt::format("{}: GPUs of {}.{}", text, piece.group, n);
    for (const int d : indices_below(piece.devices, gpus.size(), what, place, diagnostics))
      ids.push_back(gpus[static_cast<std::size_t>(d)]);
  }
  if (ids.empty() && !piece.unit.empty()) diagnostics.add(place, fmt::format("{}: there is none", text));
  return ids;
}

std::vector<DeviceId> DeviceNames::ids(const DeviceSet& set, const SourcePlace& place, Diagnostics& diagnostics) const {
  std::vector<DeviceId> all;
  for (const DevicePiece& piece : set) {
    const auto ids = piece_ids(piece, place, diagnostics);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

/// The longest piece inside one node that starts at `at`, which it moves behind it.
DevicePiece DeviceNames::piece_of(const std::vector<DeviceId>& devices, std::size_t& at) const {
  const Device& first = cluster_.devices[index(devices[at])];
  const int node = index_in_group_[index(first.node)];
  DevicePiece piece{cluster_.nodes[index(first.node)].group, IndexRange{node, node, 1}, std::nullopt, ""};
  if (first.kind != DeviceKind::gpu) {
    piece.unit = unit_of(first.kind);
    ++at;
    return piece;
  }
  std::vector<int> inside;
  for (std::size_t i = at; i < devices.size() && cluster_.devices[index(devices[i])].node == first.node &&
                           index_in_node_[index(devices[i])] >= 0;
       ++i)
    inside.push_back(index_in_node_[index(devices[i])]);
  const IndexRange run = run_from(inside);
  const std::size_t count = run.indices().size();
  at += count;
  const bool whole_node = run.first == 0 && run.step == 1 && count == gpus_of(first.node).size();
  if (!whole_node) piece.devices = run;
  return piece;
}

DeviceSet DeviceNames::set(const std::vector<DeviceId>& devices) const {
  DeviceSet set;
  for (std::size_t at = 0; at < devices.size();) append(set, piece_of(devices, at));
  return set;
}

std::vector<LayerId> layer_ids(const LayerSet& set, const Module& module, const SourcePlace& place,
                               Diagnostics& diagnostics) {
  std::map<std::string, LayerId, std::less<>> known;
  for (std::size_t l = 0; l < module.layers.size(); ++l) known.emplace(module.layers[l].name, id_at<LayerId>(l));
  for (std::size_t l = 0; l < module.layers.size() && has_only_names(module); ++l) known.emplace(std::to_string(l), id_at<LayerId>(l));
  std::vector<LayerId> ids;
  // Stops at the first that does not exist: a range may be far too long.
  const auto add = [&](const std::string& name) {
    const auto layer = known.find(name);
    if (layer != known.end())
      ids.push_back(layer->second);
    else
      diagnostics.add(place, fmt::format("no layer {}; {} has {}", name, module.name, known_layers(module)));
    return layer != known.end();
  };
  for (const LayerPiece& piece : set) {
    if (!piece.range) add(piece.name);
    for (std::int64_t i = piece.range ? piece.range->first : 0; piece.range && i <= piece.range->last;
         i += piece.range->step)
      if (!add(std::to_string(i))) break;
  }
  return ids;
}

LayerSet layer_set(const std::vector<LayerId>& layers, const Module& module) {
  LayerSet set;
  const bool by_position = has_only_names(module);
  for (const LayerId id : layers) {
    const LayerPiece piece = layer_piece(by_position ? std::to_string(index(id)) : module.layers[index(id)].name);
    const bool joins =
        !set.empty() && piece.range && set.back().range && set.back().range->last + 1 == piece.range->first;
    if (joins)
      set.back().range->last = piece.range->last;
    else
      set.push_back(piece);
  }
  return set;
}

std::optional<PassId> find_pass(const Workload& workload, std::string_view name) {
  std::optional<PassId> training;
  int trainings = 0;
  for (std::size_t p = 0; p < workload.passes.size(); ++p) {
    if (!name.empty() && workload.passes[p].name == name) return id_at<PassId>(p);
    if (workload.passes[p].kind != PassKind::train) continue;
    training = id_at<PassId>(p);
    ++trainings;
  }
  if (!name.empty()) return std::nullopt;
  if (workload.passes.size() == 1) return PassId{};
  return trainings == 1 ? training : std::nullopt;
}

}  // namespace trainyard::plan_names
