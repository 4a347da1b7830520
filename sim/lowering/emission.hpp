// Writing the tasks of a step, class by class.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/lowering/buckets.hpp"
#include "sim/lowering/jitter_draws.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/lowering/resources.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/lowering/symmetry.hpp"

namespace trainyard {

/// First and last task of a chain.
struct TaskSpan {
  TaskId first{}, last{};
};

/// The tasks of one cell class, for the traffic that hangs on them.
struct CellTasks {
  /// One pass through a chunk, with the first tasks of what its devices do next and the last of what they did before.
  struct Pass {
    TaskSpan tasks{};
    std::vector<TaskId> after{}, before{};
    std::vector<TaskSpan> layers{};                     ///< one a layer of the chunk, if the cell is written layer by layer
    std::vector<TaskSpan> rebuilt{};                    ///< the same for forward passes that a block's backward pass repeats
  };
  std::vector<std::vector<Pass>> forward, backward;     ///< [chunk][micro-batch]
  [[nodiscard]] Pass& pass(const ScheduledOperation& op) { return (op.kind == 'F' ? forward : backward)[op.chunk][op.micro_batch]; }
  TaskId first{}, last{};                               ///< of all passes, in the stage's order
  /// (run, first layer of a bucket) -> its segment of the first forward pass, and of each backward pass that completes gradients to
  /// be exchanged: the last one, or with zero 2 all of them.
  std::map<std::pair<int, LayerId>, TaskSpan> first_forward;
  std::map<std::pair<int, LayerId>, std::vector<TaskSpan>> backward_of_bucket;
  TaskId optimizer{};
  std::vector<TaskId> updates{};                        ///< what the end of the whole backward pass lets go: the optimizer, hosts' updates
  std::map<LayerId, std::vector<TaskId>> reduced{};     ///< reductions that complete a layer's gradients
  std::map<std::size_t, std::vector<TaskId>> gathers{}, scatters{};  ///< zero 3, by number of the use in layer_uses()
  std::map<std::pair<int, int>, TaskId> weight_gradients{};  ///< (chunk, micro-batch) -> last task of a W
  std::map<LayerId, std::vector<TaskId>> refreshed{};   ///< copies that bring a layer's updated weights to the device
  std::vector<int> beside{};                            ///< cell classes on some of the same devices, and its own
};

/// An exchange in which cells of several classes meet: communicator class, operation, and its number inside it.
using Meeting = std::tuple<int, char, int, int, int>;

/// Everything a writer needs; the graph grows in `lowered`.
struct Emission {
  const Cluster& cluster;
  const Workload& workload;
  const Placement& placement;
  const TrafficMap& traffic;
  const Symmetry& symmetry;
  const Resources& resources;
  const std::vector<Bucket>& buckets;
  const LoweringOptions& options;
  const JitterDraws& jitter;
  bool overlap_pipeline;                           ///< stages compute while their messages travel
  Lowered& lowered;
  std::vector<CellTasks> cells;                    ///< [cell class]
  std::map<const Communicator*, int> exchanges;    ///< written so far
  std::map<Meeting, TaskId> meetings{};

  TaskId add(Task task);
  void edge(TaskId from, TaskId to, int distance = 0);
  /// The next exchange over a communicator, with its jitter.
  [[nodiscard]] CollectiveCost next_exchange(const CommunicatorClass& group, const CollectiveCost& cost);
  /// The next piece of a host's work for a device, with its jitter.
  [[nodiscard]] CollectiveCost next_work(const CommunicatorClass& group, const CollectiveCost& cost);
  [[nodiscard]] int cell_class(int cell) const { return symmetry.cells.class_of[cell]; }
  /// Slots on one stream of these device classes.
  [[nodiscard]] std::vector<Slot> slots(const std::vector<int>& device_classes, DeviceStream stream, double share, int lane = 0) const;
  /// The same for a collective, with the share of compute that it takes on each.
  [[nodiscard]] std::vector<Slot> collective_slots(const std::vector<int>& device_classes, DeviceStream stream) const;
  [[nodiscard]] const DeviceType& type_of(int device_class) const { return cluster.type_of(lowered.devices[device_class].first); }
};

/// Forward, backward and optimizer tasks of every cell class, with the memory they take.
void emit_compute(Emission& emission);
/// The exchanges before an operation of a section of a stage whose layout differs from that of the section before it (forwards; behind
/// it backwards), with the cell classes that wait for each.
[[nodiscard]] std::vector<std::pair<TaskId, std::vector<int>>> emit_resharding(Emission& emission, const ScheduledOperation& op,
                                                                               const std::vector<int>& cell_classes);
/// Transfers between stages.
void emit_transfers(Emission& emission);
/// A task that optimizers wait for, and the cell classes whose optimizers do.
struct Reduction {
  TaskId task{};
  std::vector<int> cells;
};
/// Cell classes of a communicator's cells, ascending, each once.
[[nodiscard]] std::vector<int> cell_classes_of(const Emission& emission, const CommunicatorClass& group);
/// One collective of the data stream over a group.
[[nodiscard]] TaskId add_data_exchange(Emission& emission, const CommunicatorClass& group, CollectiveKind kind, Bytes size, const char* what,
                                       LayerId layer);
/// zero 3: gathers of weights before each use of a layer, two layers ahead at most, reduce-scatters of its gradients after each
/// backward pass, and all-reduces among replicas after the last. Returns what the optimizers wait for.
/// Source: Zhao et al., PyTorch FSDP, arXiv 2304.11277 §3.3.
[[nodiscard]] std::vector<Reduction> emit_shards(Emission& emission);
/// States whose home is the host: fetches of weights before each use and copies of gradients and activations, a pool of slots each;
/// then the hosts' updates and the copies of what they updated. Returns the copies that the global norm waits for.
/// Source: Ren et al., ZeRO-Offload, arXiv 2101.06840 §4-5.
[[nodiscard]] std::vector<Reduction> emit_offload(Emission& emission);
/// Offloads and reloads of activations that order tables list: a copy each, of all that a pass keeps on one device; what was reloaded is
/// there before its backward pass. Source: OptPipe, arXiv 2510.05186 §3 (the operations O and R).
void emit_moves(Emission& emission);
/// Gradient buckets, shared tables, the global norm, the optimizer's place behind them, and the gather of weights.
void emit_gradients(Emission& emission);

}  // namespace trainyard
