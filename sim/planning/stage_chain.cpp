#include "sim/planning/stage_chain.hpp"

#include <algorithm>
#include <numeric>

#include "sim/planning/link_times.hpp"

namespace trainyard {
namespace {

LayerQuestion question_of(const StageUnits& stage, const TensorUnit& unit, const ChainShape& shape) {
  return {unit.devices, double(shape.micro_batch) / double(stage.size()), shape.recompute};
}

Seconds pass_time(const StageLoad& load) { return stage_time(load, 0, int(load.time.size())); }

/// Units of a stage work in step, so the slowest unit's times hold.
StageLoad slowest_load(const ChainTools& tools, const StageUnits& stage, const ChainShape& shape) {
  std::optional<StageLoad> slowest;
  Bytes usable{};
  int last_kind = -1;
  for (const TensorUnit& unit : stage) {
    if (slowest && unit.kind == last_kind) continue;
    last_kind = unit.kind;
    StageLoad load = stage_load(tools.costs, question_of(stage, unit, shape), {shape.holders > 0 ? shape.holders : int(stage.size()), shape.zero}, tools.context.workload);
    usable = slowest ? std::min(usable, load.usable) : load.usable;
    if (!slowest || pass_time(load) > pass_time(*slowest)) slowest = std::move(load);
  }
  slowest->usable = usable;
  return std::move(*slowest);
}

}  // namespace

std::vector<StageUnits> stages_over(const std::vector<std::vector<TensorUnit>>& domains, int data) {
  std::vector<StageUnits> stages;
  for (const std::vector<TensorUnit>& domain : domains)
    for (std::size_t first = 0; first + data <= domain.size(); first += data)
      stages.emplace_back(domain.begin() + std::ptrdiff_t(first), domain.begin() + std::ptrdiff_t(first + data));
  return stages;
}

std::vector<StageLoad> chain_loads(const ChainTools& tools, const std::vector<StageUnits>& stages, const ChainShape& shape) {
  std::vector<StageLoad> loads;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageLoad load = slowest_load(tools, stages[s], shape);
    load.in_flight = std::min(shape.micro_batches, int(stages.size() - s));
    if (s > 0) {  // both directions of a link are busy at once, and a message holds both its ends
      const Seconds hop = hop_time(tools, stages[s - 1], stages[s], shape);
      loads.back().transfer += hop;
      load.transfer += hop;
    }
    loads.push_back(std::move(load));
  }
  return loads;
}

Seconds hop_time(const ChainTools& tools, const StageUnits& from, const StageUnits& to, const ChainShape& shape) {
  const std::vector<LayerCost>& costs = tools.costs.of(question_of(from, from[0], shape));
  const Bytes sample = costs[costs.size() / 2].output / (double(shape.micro_batch) / double(from.size()));
  const double most = double(shape.micro_batch) / double(std::min(from.size(), to.size()));  // samples through the busier port
  const double members = double(std::min(from[0].devices.size(), to[0].devices.size()));
  Seconds slowest{};
  for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    const TensorUnit &sender = from[i * from.size() / std::max(from.size(), to.size())], &receiver = to[i * to.size() / std::max(from.size(), to.size())];
    slowest = std::max(slowest, transfer_time(tools.router, tools.context.cluster, sender.devices[0], receiver.devices[0], sample * (most / members)));
  }
  return slowest;
}

Seconds exposed_exchange(const ChainTools& tools, const std::vector<StageUnits>& stages, const std::vector<StageLoad>& loads,
                         const std::vector<int>& bounds, const ChainShape& shape) {
  Seconds worst{};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<DeviceId> members;
    for (const TensorUnit& unit : stages[s]) members.push_back(unit.devices[0]);
    if (members.size() < 2) continue;
    const std::vector<LayerCost>& costs = tools.costs.of(question_of(stages[s], stages[s][0], shape));
    Bytes gradients{};
    for (int l = bounds[s]; l < bounds[s + 1]; ++l) gradients += costs[l].gradients;
    const Seconds exchange = collective_time(ring_group(tools.router, tools.context.cluster, members), CollectiveKind::all_reduce, gradients);
    const int count = bounds[s + 1] - bounds[s];
    const double hidden = tools.context.workload.software.overlap_gradient_reduce ? double(count - 1) / count : 0;
    const Seconds backward = (stage_time(loads[s], bounds[s], bounds[s + 1]) - loads[s].transfer) * (2.0 / 3);
    worst = std::max(worst, std::max(exchange - backward * hidden, exchange * (1 - hidden)));
  }
  return worst;
}

std::optional<BalancedCut> proportional_cut(const std::vector<StageLoad>& loads) {
  const int layers = loads.empty() ? 0 : int(loads[0].time.size()), stages = int(loads.size());
  if (stages == 0 || layers < stages) return std::nullopt;
  double speed = 0;
  for (const StageLoad& load : loads) speed += 1 / (pass_time(load) - load.transfer).value;
  std::vector<int> counts;
  std::vector<double> rest;
  for (const StageLoad& load : loads) {
    const double share = layers / (pass_time(load) - load.transfer).value / speed;
    counts.push_back(std::max(1, int(share)));
    rest.push_back(share - counts.back());
  }
  for (int left = layers - std::accumulate(counts.begin(), counts.end(), 0); left != 0; left += left < 0 ? 1 : -1) {
    // What the minimum of one layer took too much comes from the stage that is furthest above its share.
    std::size_t who = 0;
    for (std::size_t s = 1; s < counts.size(); ++s)
      if (left > 0 ? rest[s] > rest[who] : (counts[who] == 1 || (counts[s] > 1 && rest[s] < rest[who]))) who = s;
    counts[who] += left < 0 ? -1 : 1;
    rest[who] -= left < 0 ? -1 : 1;
  }
  BalancedCut cut;
  cut.bounds.push_back(0);
  for (int s = 0; s < stages; ++s) {
    const int first = cut.bounds.back(), last = first + counts[s];
    if (!stage_fits(loads[s], first, last)) return std::nullopt;
    cut.bounds.push_back(last);
    cut.slowest = std::max(cut.slowest, stage_time(loads[s], first, last));
    cut.sum += stage_time(loads[s], first, last);
  }
  return cut;
}

PipelineChoice chain_choice(const std::vector<StageUnits>& stages, const std::vector<int>& bounds, const ChainShape& shape) {
  PipelineChoice pipeline;
  pipeline.batch = double(shape.micro_batch) * shape.micro_batches;
  pipeline.micro_batches = shape.micro_batches;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageChoice stage{bounds[s], bounds[s + 1], {}, int(stages[s][0].devices.size()), {shape.recompute, 1}};
    for (const TensorUnit& unit : stages[s]) stage.devices.insert(stage.devices.end(), unit.devices.begin(), unit.devices.end());
    pipeline.stages.push_back(std::move(stage));
  }
  return pipeline;
}

}  // namespace trainyard
