// A Plan as people write it: the tree with names (devices, layers, passes) in place of ids. sim/planning reads, writes and
// resolves it; plan.hpp holds what it resolves to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/model/plan.hpp"

namespace trainyard {

struct ConfigValue;

/// Where a level was written, for messages about it; null for what was not read from a file. Never compared.
struct Written {
  std::shared_ptr<const ConfigValue> value;
  friend bool operator==(const Written&, const Written&) { return true; }
};

/// `3`, `0-7`, `0-7:2` (every second): inclusive.
struct IndexRange {
  int first = 0, last = 0, step = 1;
  [[nodiscard]] std::vector<int> indices() const;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
/// Nothing unless the text is one, with first <= last and step >= 1.
[[nodiscard]] std::optional<IndexRange> parse_index_range(std::string_view text);
[[nodiscard]] std::string to_text(const IndexRange& range);

/// GROUP[.NODES[.DEVICES]]; absent: all nodes of the group, all GPUs of the nodes.
struct DevicePiece {
  std::string group;
  std::optional<IndexRange> nodes;
  std::optional<IndexRange> devices;
  std::string unit;                      ///< "cpu", "ssd" or "nic" in place of `devices`; else ""
  friend bool operator==(const DevicePiece&, const DevicePiece&) = default;
};
/// The order counts.
using DeviceSet = std::vector<DevicePiece>;
/// Nothing unless the text follows the form above.
[[nodiscard]] std::optional<DevicePiece> parse_device_piece(std::string_view text);
[[nodiscard]] std::string to_text(const DevicePiece& piece);

/// A range of numbered layers, or one layer by its name.
struct LayerPiece {
  std::string name;                      ///< "" where `range` holds
  std::optional<IndexRange> range;
  friend bool operator==(const LayerPiece&, const LayerPiece&) = default;
};
using LayerSet = std::vector<LayerPiece>;
[[nodiscard]] LayerPiece layer_piece(std::string_view text);
[[nodiscard]] std::string to_text(const LayerPiece& piece);

struct SymbolicAxis {
  std::string name;                      ///< as written: `expert` and `table` are kept apart
  std::vector<double> shares;            ///< one a member; equal shares are all 1
  friend bool operator==(const SymbolicAxis&, const SymbolicAxis&) = default;
};
using SymbolicLayout = std::vector<SymbolicAxis>;

struct SymbolicHome {
  Place place = Place::device;
  DeviceSet at;                          ///< for Place::devices
  int buffers = 0;
  bool sliced = false;
  friend bool operator==(const SymbolicHome&, const SymbolicHome&) = default;
};

/// What one member of an `expert` or `table` axis holds: item numbers.
using ItemSet = std::vector<IndexRange>;

struct SymbolicSettings {
  std::optional<SymbolicLayout> layout;
  std::map<State, SymbolicHome> home;
  std::vector<ItemSet> owners;
  Settings other;                        ///< all keys without names; its layout, home and owners stay empty
  friend bool operator==(const SymbolicSettings&, const SymbolicSettings&) = default;
};

struct SymbolicRule {
  LayerSet layers;                       ///< empty: all
  std::string operators;
  DeviceSet devices;
  SymbolicSettings settings;
  Written written;
  friend bool operator==(const SymbolicRule&, const SymbolicRule&) = default;
};

/// What may stand on any level and holds for everything below.
struct Scope {
  DeviceSet devices;                     ///< empty: those of the level above, or the whole cluster
  SymbolicSettings settings;
  std::vector<SymbolicRule> rules;
  Written written;
  friend bool operator==(const Scope&, const Scope&) = default;
};

struct SymbolicStage {
  Scope scope;
  std::string name;                      ///< in a part's map of stages; else ""
  std::vector<LayerSet> chunks;          ///< empty: all layers; one: `layers`
  std::optional<int> in_flight;
  friend bool operator==(const SymbolicStage&, const SymbolicStage&) = default;
};

struct SymbolicPipeline {
  Scope scope;
  std::optional<double> batch;
  std::vector<int> samples;
  std::optional<int> micro_batches;
  std::vector<std::variant<std::string, SymbolicStage>> stages;  ///< a text names a stage of the part; empty: all of those
  friend bool operator==(const SymbolicPipeline&, const SymbolicPipeline&) = default;
};

struct SymbolicOperation {
  std::string pass;                      ///< "" = the part's own
  char kind = 'F';                       ///< F B W O R
  int micro_batch = 0, chunk = 0;
  friend bool operator==(const SymbolicOperation&, const SymbolicOperation&) = default;
};
struct SymbolicEntry {
  SymbolicOperation operation;
  std::optional<SymbolicOperation> not_before;
  friend bool operator==(const SymbolicEntry&, const SymbolicEntry&) = default;
};
/// `R0@F2`, `F3.1`, `encoder:F3`; nothing unless the text is one.
[[nodiscard]] std::optional<SymbolicEntry> parse_entry(std::string_view text);
[[nodiscard]] std::string to_text(const SymbolicEntry& entry);

struct StreamOrder {
  std::string stream;
  std::vector<SymbolicEntry> entries;
  friend bool operator==(const StreamOrder&, const StreamOrder&) = default;
};
/// A schedule's name, or a table: one element a stage, each one order a stream.
using SymbolicOrder = std::variant<std::string, std::vector<std::vector<StreamOrder>>>;

struct SymbolicPart {
  Scope scope;
  std::string pass;                      ///< "" = the workload's only one
  std::optional<SymbolicOrder> order;
  std::optional<Batching> batching;
  std::optional<Dispatch> dispatch;
  std::vector<SymbolicStage> named_stages;
  std::vector<SymbolicPipeline> pipelines;
  friend bool operator==(const SymbolicPart&, const SymbolicPart&) = default;
};

struct SymbolicPhase {
  Scope scope;
  std::optional<IndexRange> iterations;
  std::vector<SymbolicPart> parts;
  friend bool operator==(const SymbolicPhase&, const SymbolicPhase&) = default;
};

struct PlanSwitch {
  SwitchMode mode = SwitchMode::stop;
  Seconds delay{};
  friend bool operator==(const PlanSwitch&, const PlanSwitch&) = default;
};

/// Equal stages over equal devices by their sizes (README of sim/planning); absent: the default. Devices and settings stand in the
/// Plan's scope.
struct ShortForm {
  std::optional<int> tensor, context, expert, expert_tensor, data, pipeline, chunks, shard;
  std::optional<double> micro_batch;     ///< samples a data rank
  std::optional<std::string> schedule;
  std::vector<int> layers;               ///< numbered layers a stage (or a chunk); empty: even
  std::vector<std::string> rank_order;   ///< fastest first; empty: tensor, context, data, pipeline
  friend bool operator==(const ShortForm&, const ShortForm&) = default;
};

struct SymbolicPlan {
  Scope scope;
  std::optional<ShortForm> short_form;   ///< then without phases
  std::optional<PlanSwitch> plan_switch;
  std::vector<SymbolicPhase> phases;
  friend bool operator==(const SymbolicPlan&, const SymbolicPlan&) = default;
};

}  // namespace trainyard
