// Who does what, in which order, with which layout: a Plan with its names resolved to ids (design.md §4).
// The tree as people write it, with names, is sim/model/symbolic_plan.hpp.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/data_type.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

struct Cluster;
struct Workload;

/// `expert` and `table` are two spellings of `items`.
enum class AxisKind { data, shard, context, tensor, rows, columns, inner, items, variant };

struct Axis {
  AxisKind kind = AxisKind::data;
  std::vector<double> shares;            ///< one a member; equal shares are all 1
  [[nodiscard]] int size() const { return static_cast<int>(shares.size()); }
  friend bool operator==(const Axis&, const Axis&) = default;
};
using Layout = std::vector<Axis>;        ///< outermost first; the product of the sizes is the number of devices
[[nodiscard]] Axis equal_axis(AxisKind kind, int size);
/// Size of the axis of that kind, 1 when absent.
[[nodiscard]] int axis_size(const Layout& layout, AxisKind kind);
/// Product of the sizes: how many devices the layout spans (1 for no axes).
[[nodiscard]] int members(const Layout& layout);

enum class State { weights, gradients, optimizer, activations, kv };
enum class Place { device, host, storage, devices };
struct Home {
  Place place = Place::device;
  std::vector<DeviceId> at;              ///< for Place::devices
  int buffers = 0;                       ///< slots on the user's side; 0: no bound given
  bool sliced = false;
  friend bool operator==(const Home&, const Home&) = default;
};

enum class RecomputeKind { none, selective, full, every };
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  int every = 1;
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

enum class Update { end, layer, next_visit };
enum class SyncWhat { gradients, weights, scalar };
struct Sync {
  SyncWhat what = SyncWhat::gradients;
  int every = 1;                         ///< steps
  std::optional<int> lag = 0;            ///< steps late; nothing: never waited for
  std::optional<Bytes> bucket;           ///< 0: per layer; nothing: the software's
  friend bool operator==(const Sync&, const Sync&) = default;
};

enum class Algorithm { automatic, ring, tree, hierarchical, in_network, sharded_ps, padded, grouped };
struct Wire {
  std::map<State, DataType> types;
  std::string transport;                 ///< "": fastest common
  double share = 1;
  Algorithm all_reduce = Algorithm::automatic, all_gather = Algorithm::automatic;
  friend bool operator==(const Wire&, const Wire&) = default;
};

struct Slices { int rows = 1, columns = 1; friend bool operator==(const Slices&, const Slices&) = default; };
enum class ContextKind { ring, ulysses, gather };
enum class Traffic { tensor, pipeline, data, expert, context, shard, offload };

/// What holds for some layers and operators. Absent: not said here (a later rule or the default decides).
struct Settings {
  std::optional<Layout> layout;
  std::optional<int> zero;               ///< 0-3
  std::optional<bool> regather, sequence_parallel;
  std::optional<bool> redundant_forward; ///< also keep the next stage's states (of the last stage: the first's) and run its forward passes
  std::optional<Recompute> recompute;
  std::map<State, Home> home;
  std::optional<Update> update;
  std::optional<Sync> sync;
  std::optional<Wire> wire;
  std::optional<Slices> slices;
  std::optional<ContextKind> context_kind;
  std::map<Traffic, std::string> streams;///< traffic -> stream name; "compute": no overlap
  std::vector<std::vector<int>> owners;
  friend bool operator==(const Settings&, const Settings&) = default;
};

/// What `over` says replaces what `base` says, key by key; homes state by state, streams traffic by traffic.
void overlay(Settings& base, const Settings& over);
/// Whether a glob (`*`: any text, `?`: one letter) matches all of `text`.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

/// Empty `layers`: all of the stage; empty `operators`: all; empty `devices`: the stage's. Key by key the last match wins.
struct Rule {
  std::vector<LayerId> layers;
  std::string operators;                 ///< glob over operator groups and names
  std::vector<DeviceId> devices;
  Settings settings;
  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Stage {
  std::string name;                      ///< "" unless named in the Plan
  std::vector<DeviceId> devices;         ///< in the order of the layout's axes
  std::vector<std::vector<LayerId>> chunks;  ///< one a visit; in order of the forward pass
  std::optional<int> in_flight;
  std::vector<Rule> rules;               ///< outer levels' settings first
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Pipeline {
  double batch = 0;                      ///< samples a step
  std::vector<int> samples;              ///< or their indices in the batch
  int micro_batches = 1;
  std::vector<StageId> stages;
  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

struct Batching { int sequences = 0, tokens = 0; friend bool operator==(const Batching&, const Batching&) = default; };
struct Dispatch {
  std::string kind = "least_loaded";     ///< least_loaded, round_robin, shares, shortest_path
  std::vector<double> shares;
  friend bool operator==(const Dispatch&, const Dispatch&) = default;
};

struct Part {
  PassId pass{};
  std::vector<Stage> stages;
  std::vector<Pipeline> pipelines;
  std::string schedule = "1f1b";         ///< name; "table" when the phase's lanes say it
  std::optional<Batching> batching;
  Dispatch dispatch;
  friend bool operator==(const Part&, const Part&) = default;
};

struct Operation {
  char kind = 'F';                       ///< F B W O(ffload) R(eload)
  PassId pass{};
  int micro_batch = 0, chunk = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};
struct Entry {
  Operation operation;
  std::optional<Operation> not_before;
  friend bool operator==(const Entry&, const Entry&) = default;
};
struct Lane {
  std::vector<DeviceId> devices;
  std::string stream;
  std::vector<Entry> entries;
  friend bool operator==(const Lane&, const Lane&) = default;
};

struct IterationRange { int first = 0, last = std::numeric_limits<int>::max(); friend bool operator==(const IterationRange&, const IterationRange&) = default; };
struct PlanPhase {
  IterationRange iterations;
  std::vector<Part> parts;
  std::vector<Lane> lanes;               ///< replace the parts' schedules on these devices
  friend bool operator==(const PlanPhase&, const PlanPhase&) = default;
};

enum class SwitchMode { stop, live };

struct Plan {
  std::vector<PlanPhase> phases;
  SwitchMode switch_mode = SwitchMode::stop;
  Seconds switch_delay{};

  /// Every rule that this Plan violates on this cluster and workload, one line each, and every construct whose lowering
  /// does not exist yet, by name. Empty: it can be lowered.
  [[nodiscard]] std::vector<std::string> check(const Cluster& cluster, const Workload& workload) const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// What the stage's rules say of one layer (and, with `operator_group`, of its operators of that group); absent keys were not said.
[[nodiscard]] Settings written_settings(const Stage& stage, LayerId layer, const std::string& operator_group = "");

/// The settings that hold for one layer (and, with `operator_group`, its operators of that group) of a stage, every key
/// filled: rules in order, then the software's and the format's defaults. `layout` is that of the stage's devices. Of `streams`,
/// tensor, pipeline and data are filled; no `owners`: contiguous and equal.
[[nodiscard]] Settings settings_of(const Stage& stage, LayerId layer, const Workload& workload,
                                   const std::string& operator_group = "");

}  // namespace trainyard
