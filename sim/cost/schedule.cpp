#include "sim/cost/schedule.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/cost/schedule_shapes.hpp"

namespace trainyard {
namespace {

/// Forward and backward passes in the order in which a stage takes them up.
struct Passes {
  StageOrder forward, backward;
};

/// Groups of micro-batches go through one chunk after the other; the last group may be smaller.
Passes passes_of(const StagePosition& at, int group) {
  Passes passes;
  for (int from = 0; from < at.micro_batches; from += group)
    for (int chunk = 0; chunk < at.chunks; ++chunk)
      for (int m = from; m < std::min(from + group, at.micro_batches); ++m) {
        passes.forward.push_back({'F', m, chunk});
        passes.backward.push_back({'B', m, at.chunks - 1 - chunk});
      }
  return passes;
}

StageOrder one_forward_one_backward(const Passes& passes, int in_flight) {
  StageOrder order;
  std::size_t forward = 0, backward = 0;
  while (backward < passes.backward.size()) {
    if (forward < passes.forward.size() && int(forward - backward) < in_flight)
      order.push_back(passes.forward[forward++]);
    else
      order.push_back(passes.backward[backward++]);
  }
  return order;
}

/// After each backward pass beyond the stage's number, the weight gradients of the oldest micro-batch; the rest at the end.
StageOrder with_weight_gradients(const StageOrder& order, int put_off) {
  StageOrder split;
  int backward = 0, weights = 0;
  for (const ScheduledOperation& op : order) {
    split.push_back(op);
    if (op.kind != 'B') continue;
    if (++backward - weights > put_off) split.push_back({'W', weights++, 0});
  }
  while (weights < backward) split.push_back({'W', weights++, 0});
  return split;
}

StageOrder named_order(const std::string& schedule, const StagePosition& at) {
  const int all = at.micro_batches * at.chunks;
  if (schedule == "zb_v") return v_shaped_order(at);
  if (schedule == "dualpipe") return bidirectional_order(at);
  if (schedule == "colocated") return encoder_first_order(at);
  if (schedule == "breadth_first") return one_forward_one_backward(passes_of(at, at.micro_batches), all);
  const int group = at.chunks == 1 ? at.micro_batches : at.stages;
  const StageOrder order = one_forward_one_backward(passes_of(at, group), passes_in_flight(schedule, at));
  return schedule == "zb_h1" ? with_weight_gradients(order, at.stage) : order;
}

/// Fills in what follows from the order itself.
StageOrder annotated(StageOrder order) {
  std::set<std::pair<int, int>> weights;
  for (const ScheduledOperation& op : order)
    if (op.kind == 'W') weights.emplace(op.micro_batch, op.chunk);
  std::map<int, ScheduledOperation*> last;
  std::set<int> used;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ScheduledOperation& op = order[i];
    op.turn = std::max(op.turn, int(i));
    op.split = op.kind == 'B' && weights.contains({op.micro_batch, op.chunk});
    op.first_use = op.kind == 'F' && used.insert(op.chunk).second;
    if (op.kind != 'F' && !op.split) last[op.chunk] = &op;
  }
  for (const auto& [chunk, op] : last) op->last_gradients = true;
  return order;
}

}  // namespace

StageOrder encoder_first_order(const StagePosition& at) {
  const int count = at.micro_batches;
  StageOrder order;
  if (at.stage == 0) {
    for (int m = 0; m < count; ++m) order.push_back({'F', m, 0});
    for (int m = 0; m < count; ++m) order.push_back({'B', m, 0});
  } else {
    order = one_forward_one_backward(passes_of({at.stage - 1, at.stages - 1, 1, count}, count), std::min(at.stages - at.stage, count));
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i].turn = int(i) + (at.stage > 0 ? count : order[i].kind == 'B' ? 2 * count : 0);
  return order;
}

bool overlaps_transfers(const std::string& schedule) { return schedule != "1f1b" && schedule != "gpipe"; }

StageOrder stage_order(const std::string& schedule, const StagePosition& at) { return annotated(named_order(schedule, at)); }

StageOrder order_of_table(const std::vector<Entry>& entries) {
  StageOrder order;
  for (const Entry& entry : entries) order.push_back({entry.operation.kind, entry.operation.micro_batch, entry.operation.chunk});
  return annotated(std::move(order));
}

int passes_in_flight(const std::string& schedule, const StagePosition& at) {
  const int all = std::max(1, at.micro_batches * at.chunks);
  int bound = at.stages - at.stage;
  if (schedule == "gpipe") bound = all;
  if (schedule == "interleaved") bound = 2 * (at.stages - at.stage - 1) + (at.chunks - 1) * at.stages + 1;
  if (at.pairs && schedule != "gpipe") ++bound;
  return std::clamp(at.in_flight.value_or(bound), 1, all);
}

int most_held(const StageOrder& order) {
  int held = 0, most = 0;
  for (const ScheduledOperation& op : order) {
    if (op.kind == 'F') most = std::max(most, ++held);
    if (op.kind != 'F' && !op.split) --held;
  }
  return most;
}

}  // namespace trainyard
