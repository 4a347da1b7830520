#include "sim/lowering/schedule.hpp"

namespace trainyard {
namespace {

/// Forward and backward passes in the order in which a stage takes them up.
struct Passes {
  std::vector<ScheduledOperation> forward, backward;
};

/// Groups of `stages` micro-batches go through one chunk after the other; with one chunk that is their plain order.
Passes passes_of(const StageRole& role) {
  Passes passes;
  const int chunks = int(role.chunks.size()), group = chunks == 1 ? 1 : role.stages;
  for (int k = 0; k < role.micro_batches * chunks; ++k) {
    const int chunk = k / group % chunks, micro_batch = k / (group * chunks) * group + k % group;
    passes.forward.push_back({'F', micro_batch, chunk});
    passes.backward.push_back({'B', micro_batch, chunks - 1 - chunk});
  }
  return passes;
}

std::vector<ScheduledOperation> one_forward_one_backward(const Passes& passes, int in_flight) {
  std::vector<ScheduledOperation> order;
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
std::vector<ScheduledOperation> with_weight_gradients(const std::vector<ScheduledOperation>& order, int put_off) {
  std::vector<ScheduledOperation> split;
  int backward = 0, weights = 0;
  for (const ScheduledOperation& op : order) {
    split.push_back(op);
    if (op.kind != 'B') continue;
    if (++backward - weights > put_off) split.push_back({'W', weights++, 0});
  }
  while (weights < backward) split.push_back({'W', weights++, 0});
  return split;
}

}  // namespace

bool splits_backward(const std::string& schedule) { return schedule == "zb_h1"; }

bool overlaps_transfers(const std::string& schedule) { return schedule == "interleaved" || splits_backward(schedule); }

std::vector<ScheduledOperation> stage_schedule(const std::string& schedule, const StageRole& role) {
  const std::vector<ScheduledOperation> order = one_forward_one_backward(passes_of(role), role.in_flight);
  return splits_backward(schedule) ? with_weight_gradients(order, role.position) : order;
}

}  // namespace trainyard
