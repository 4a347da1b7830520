// In which order a stage works on its micro-batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/plan.hpp"

namespace trainyard {

/// Forward pass, backward pass or weight gradients of one micro-batch through one chunk.
struct ScheduledOperation {
  char kind = 'F';                       ///< F, B or W
  int micro_batch = 0, chunk = 0;
  bool split = false;                    ///< B: only its input gradients; a W follows later
  int turn = 0;                          ///< place in the order of the device, which may work for several stages
  bool first_use = false;                ///< the first F of its chunk: needs the updated weights
  bool last_gradients = false;           ///< the last B or W of its chunk: completes its gradients
  friend bool operator==(const ScheduledOperation&, const ScheduledOperation&) = default;
};
using StageOrder = std::vector<ScheduledOperation>;

/// Where a stage stands in its pipeline; `stage` from 0. `in_flight`: the Plan's bound on passes held. `pairs`: one more pass is held, so that
/// every backward pass stands next to a forward pass of another micro-batch. Source: Megatron-Core, overlap_moe_expert_parallel_comm.
struct StagePosition {
  int stage = 0, stages = 1, chunks = 1, micro_batches = 1;
  std::optional<int> in_flight{};
  bool pairs = false;
};

/// Whether stages compute while their messages travel, whatever the software does in 1f1b and gpipe: all other schedules post their
/// sends and receives ahead. Source: Megatron-LM, schedules.py, overlap_p2p_comm; arXiv 2401.10241 §4.
[[nodiscard]] bool overlaps_transfers(const std::string& schedule);

/// The operations of a stage in order.
///   gpipe, 1f1b   forward passes until `passes_in_flight` are held, then backward and forward in turn (arXiv 2104.04473 §2.2)
///   interleaved   the same over chunks: p micro-batches through a chunk, then the next chunk (§2.2)
///   breadth_first all micro-batches through a chunk, then the next chunk; backward passes after all forward passes (Lamy-Poirier,
///                 arXiv 2211.05953 §4)
///   zb_h1         1f1b with weight gradients put off by as many micro-batches as the stage's number, so that every stage holds p
///                 (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241 §2.2)
///   zb_v          two chunks there and back, filled so that no stage waits where F, B and W take equally long (the same, §6)
///   dualpipe      two pipelines in opposite directions over the same devices (DeepSeek-V3, arXiv 2412.19437 §3.2.1)
[[nodiscard]] StageOrder stage_order(const std::string& schedule, const StagePosition& at);

/// The order that a table's compute stream gives: B computes only input gradients where a W of the same pass is listed.
[[nodiscard]] StageOrder order_of_table(const std::vector<Entry>& entries);

/// The largest number of passes through a chunk between the start of F and the end of B (of W where it is split) that gpipe, 1f1b and
/// interleaved allow at a stage: all, min(n, p - i), min(n v, 2 (p - i - 1) + (v - 1) p + 1), one more with `pairs`, or the Plan's own bound.
/// Source: memory.md §2.6; Narayanan et al., arXiv 2104.04473 §2.2.
[[nodiscard]] int passes_in_flight(const std::string& schedule, const StagePosition& at);

/// The most passes that an order holds at once.
[[nodiscard]] int most_held(const StageOrder& order);

}  // namespace trainyard
