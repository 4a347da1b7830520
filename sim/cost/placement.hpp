// Which devices form which cell: the tensor group that runs one stage for one data rank.
#pragma once

#include <optional>
#include <vector>

#include "sim/cost/layer_work.hpp"
#include "sim/cost/schedule.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Where a device stands in the layout of the experts.
struct ExpertSeat {
  int rank = 0, slice = 0, replica = 0;            ///< which experts, which part of each, and which of their copies
};

/// The devices that hold one stage of one pipeline for one data rank: its tensor and context axes, or its grid. All of them work on the
/// same samples in lock step.
struct Cell {
  int pipeline = 0, position = 0, data_rank = 0;   ///< position: of the stage in its pipeline; data_rank: data · shards + shard
  StageId stage{};
  std::vector<DeviceId> members;                   ///< context rank by context rank, each by tensor rank; of a grid by rows, columns, inner
  std::vector<ExpertSeat> seats{};                 ///< [member]; empty where no layer has experts
};

/// Where the states of a layer live.
struct LayerHome {
  Home weights, gradients, optimizer, activations;
  bool early_update = false;                       ///< as soon as the layer's gradient is complete
  [[nodiscard]] bool leaves_device() const;
  friend bool operator==(const LayerHome&, const LayerHome&) = default;
};

/// Rows of the micro-batches of the ranks that exchange tokens with a cell (itself among them), over its own: their mean, which comes to
/// experts, and the most, which exchanges wait for.
struct ExchangedRows {
  double mean = 1, most = 1;
  friend bool operator==(const ExchangedRows&, const ExchangedRows&) = default;
};

/// What cells of one section of a stage have in common: a run of layers with one layout and one way of sharding states. Most stages are
/// one section; a stage of several has a role for each, on the same devices.
struct StageRole {
  int pipeline = 0, position = 0, stages = 1;
  int section = 0, sections = 1;
  int micro_batches = 1, in_flight = 1;            ///< in_flight: most passes through a chunk held at once
  StageOrder order;
  int zero = 0;
  int shards = 1;                                  ///< neighbouring data ranks that each keep a part of the weights (zero 3)
  bool regather = true;                            ///< gather sharded weights again for the backward pass
  bool hides_exchanges = false;                    ///< all-to-alls of a pass run beside kernels of the pass next to it
  bool redundant_forward = false;                  ///< keeps the next stage's states too and runs its forward passes
  std::vector<std::vector<LayerId>> chunks;        ///< one a visit of a micro-batch, in order of the forward pass
  std::vector<LayerId> layers;                     ///< of all chunks, in that order
  std::vector<Recompute> recompute;                ///< [layer]; empty: as `cut` says
  std::vector<LayerHome> homes;                    ///< [layer]; empty: the device
  Wire wire;                                       ///< how the layers' collectives travel
  LayerCut cut;
  std::vector<Entry> moves;                        ///< offloads, then reloads of a pass's activations, in the order of their streams (tables)
  std::vector<int> samples;                        ///< [data rank] of a micro-batch, where shares are unequal; empty: equal
  std::vector<EqualSequences> sizes;               ///< [micro-batch] of one cell, where samples differ in length; empty: all as `cut` says
  std::vector<double> parts;                       ///< [tensor rank] of the axis, where shares are unequal; empty: equal
  std::vector<double> items;                       ///< [expert rank]: experts it holds; empty where no layer has any
  std::vector<std::vector<double>> loads;          ///< [layer][expert rank]: tokens over the mean; empty for layers without experts
  std::vector<ExchangedRows> exchanged_in;         ///< [micro-batch] as `sizes`, where experts are apart; empty: all as `exchanged` says
  ExchangedRows exchanged;                         ///< of the micro-batch at hand, or of their mean
  std::vector<LayerSamples> seen;                  ///< [layer]; empty: every layer sees samples as `cut` says
  double own_samples = 0;                          ///< of this device's micro-batch, as `cut.sequences` counts sequences
  /// As it is for one micro-batch.
  [[nodiscard]] StageRole in(int micro_batch) const;
  /// As it is for the micro-batch with the most rows.
  [[nodiscard]] StageRole in_largest() const;
  /// Elements that a layer of this type gives to the next of one device's micro-batch; `hidden`: the module's.
  [[nodiscard]] double output_elements(const LayerType& layer, double hidden) const;
  /// Elements that pass a cut behind layer `last`: every output before it that is read behind it, once.
  [[nodiscard]] double crossing_elements(const Module& module, LayerId last) const;
  [[nodiscard]] LayerHome home(LayerId layer) const;
  [[nodiscard]] bool leaves_device() const;        ///< any state of any layer
  /// In which gradients are exchanged: the Plan's, else the software's.
  [[nodiscard]] DataType gradient_type(const Software& software) const;
  /// Zero 3 of software that neither frees weights nor scatters gradients before the last micro-batch.
  [[nodiscard]] bool stays_whole(const Software& software) const;
  /// How the stage's layer number `i` is cut; for one rank of its experts, or of the busiest.
  [[nodiscard]] LayerCut cut_of(std::size_t i) const;
  /// `cut` as the cell's member number `member` has it.
  [[nodiscard]] LayerCut cut_on(std::size_t member) const;
  /// The passes whose activations wait in host memory between offload and reload.
  [[nodiscard]] bool moves_activations() const { return !moves.empty(); }
  [[nodiscard]] LayerCut cut_of(std::size_t i, int expert_rank) const;
  /// How one device of a cell cuts layer number `i`, and all of them together: as the busiest of its expert ranks.
  [[nodiscard]] LayerCut cut_of(std::size_t i, const Cell& cell, std::size_t member) const;
  [[nodiscard]] LayerCut slowest_cut(std::size_t i, const Cell& cell) const;
  /// Position of a chunk's first layer in `layers`.
  [[nodiscard]] std::size_t first_of(int chunk) const;
  /// `recompute` of a chunk's layers.
  [[nodiscard]] std::vector<Recompute> recompute_of(int chunk) const;

 private:
  [[nodiscard]] LayerCut plain_cut(std::size_t i) const;
};

/// One visit of a micro-batch: a stage and one of its chunks.
struct Visit {
  int role = 0, chunk = 0;
};

/// A cell that holds samples of another: their share of the other's, and of its own.
struct Partner {
  int cell = 0;
  double share = 1, share_of_own = 1;
};

/// All cells of a Plan's training part.
struct Placement {
  const Part* part = nullptr;
  const Module* module = nullptr;
  std::vector<Cell> cells;                         ///< pipeline by pipeline, stage by stage, data rank by data rank
  std::vector<StageRole> roles;                    ///< one a (pipeline, position, section), in this order
  std::vector<int> role_of;                        ///< [cell]
  std::vector<int> first_cell;                     ///< [role]: its data rank 0; the others follow
  std::vector<int> data_size;                      ///< [role]
  std::vector<std::vector<Visit>> routes;          ///< [pipeline]: visits in the order of the layers
  std::vector<StageRole> unequal;                  ///< roles of cells whose samples differ from their neighbours'
  std::vector<int> unequal_of;                     ///< [cell]: index into `unequal`; -1: as its role
  [[nodiscard]] const StageRole& role(int cell) const { return unequal_of[cell] < 0 ? roles[role_of[cell]] : unequal[unequal_of[cell]]; }
  /// The stage whose states and forward passes a role repeats: the next of its pipeline, of the last the first; null: none.
  [[nodiscard]] const StageRole* repeated_by(const StageRole& role) const;
  /// Of the stage's first section.
  [[nodiscard]] int role_at(int pipeline, int position) const;
  /// The cells of a stage that hold samples of `cell`: runs of a micro-batch, one a data rank.
  [[nodiscard]] std::vector<Partner> partners(int cell, int role) const;
  /// The visits before and after a chunk on its pipeline's route; nothing at the ends.
  [[nodiscard]] std::optional<Visit> before(const StageRole& role, int chunk) const;
  [[nodiscard]] std::optional<Visit> after(const StageRole& role, int chunk) const;

 private:
  [[nodiscard]] std::vector<Partner> partners_by_samples(int cell, int role) const;
};

/// The Plan must have passed Plan::check.
[[nodiscard]] Placement place(const Plan& plan, const Workload& workload);

}  // namespace trainyard
