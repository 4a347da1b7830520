#include "sim/cost/collective_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

double others(int members) { return double(members - 1) / members; }

AlgorithmTimes ring_times(const Transport& transport) {
  return transport.ring.value_or(AlgorithmTimes{transport.setup, transport.step, transport.ramp});
}

/// The inside's bytes against the outside's rate, where both halves of an algorithm run at once.
double inner_factor(const CollectiveShape& shape, double ring_rate) {
  if (!shape.inside || shape.inside->members < 2) return 0;
  const double outer_rate = shape.ring_rate.value * shape.rings;
  return 2 * others(shape.inside->members) * outer_rate / (shape.inside->rate.value * ring_rate);
}

double all_reduce_factor(const CollectiveShape& shape, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree: return shape.hops > 2 ? 2 : 1;
    case Algorithm::hierarchical: return 2 * others(shape.hops);
    case Algorithm::in_network:
      if (shape.hops == shape.members) return 1 + 1.0 / shape.members;
      return shape.inside ? std::max(1.0, inner_factor(shape, ring_times(shape.inside->transport).rate)) : 1;
    default: return 2 * others(shape.members);
  }
}

/// Bytes through all rings together, as a multiple of the size.
double traffic_factor(const CollectiveShape& shape, Algorithm algorithm) {
  switch (shape.kind) {
    case CollectiveKind::all_reduce: return all_reduce_factor(shape, algorithm);
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather: return others(shape.members);
    case CollectiveKind::all_to_all: return double(shape.members) / shape.hops * others(shape.hops);
    case CollectiveKind::broadcast:
    case CollectiveKind::send: return 1;
  }
  return 1;
}

/// Times `step`, which is there and back.
double fitted_steps(const CollectiveShape& shape, Algorithm algorithm) {
  if (shape.kind == CollectiveKind::send) return 0;
  if (shape.kind == CollectiveKind::all_to_all) return shape.hops - 1;
  if (shape.kind != CollectiveKind::all_reduce) return double(shape.hops - 1) / 2;
  if (algorithm == Algorithm::tree) return std::log2(double(shape.hops));
  if (algorithm == Algorithm::in_network) return 1;
  return shape.hops - 1;
}

/// One after the other, each at least a hop long.
double messages_in_a_row(const CollectiveShape& shape, Algorithm algorithm) {
  if (shape.kind == CollectiveKind::send || shape.kind == CollectiveKind::all_to_all) return 1;
  return 2 * fitted_steps(shape, algorithm);
}

AlgorithmTimes times_of(const CollectiveShape& shape, const Transport& transport, Algorithm algorithm) {
  if (shape.kind == CollectiveKind::send) return {transport.setup, transport.step, transport.ramp};
  if (shape.kind == CollectiveKind::all_to_all) return transport.exchange.value_or(ring_times(transport));
  if (shape.kind != CollectiveKind::all_reduce) return ring_times(transport);
  if (algorithm == Algorithm::tree) return transport.tree.value_or(ring_times(transport));
  if (algorithm == Algorithm::in_network) return transport.in_network.value_or(ring_times(transport));
  return ring_times(transport);
}

/// Reduce-scatter before and all-gather after the part between the nodes.
Seconds inside_time(const InnerGroup& inside, Bytes size) {
  CollectiveShape shape;
  shape.members = shape.hops = inside.members;
  shape.ring_rate = inside.rate;
  shape.kind = CollectiveKind::reduce_scatter;
  return 2.0 * collective_cost(shape, inside.transport, size).alone(inside.rate);
}

CollectiveCost cost_of(const CollectiveShape& shape, const Transport& transport, Bytes size, Algorithm algorithm) {
  const AlgorithmTimes times = times_of(shape, transport, algorithm);
  CollectiveCost cost;
  cost.algorithm = algorithm;
  cost.bytes = Bytes(std::round(size.value * traffic_factor(shape, algorithm) / shape.rings / times.rate));
  const Seconds transfer = cost.bytes / shape.ring_rate;
  const Seconds steps = std::max(times.step * fitted_steps(shape, algorithm),
                                 shape.hop_latency * messages_in_a_row(shape, algorithm));
  cost.delay = times.setup + steps + Seconds(std::sqrt(transfer.value * times.ramp.value));
  if (algorithm == Algorithm::hierarchical && shape.inside && shape.inside->members > 1)
    cost.delay = cost.delay + inside_time(*shape.inside, size);
  return cost;
}

bool chosen_unasked(const std::optional<AlgorithmTimes>& times, const CollectiveShape& shape) {
  return times && !times->on_request && shape.hops >= times->from;
}

CollectiveCost fastest(const CollectiveShape& shape, const Transport& transport, Bytes size) {
  CollectiveCost best = cost_of(shape, transport, size, Algorithm::ring);
  const auto consider = [&](Algorithm algorithm) {
    const CollectiveCost other = cost_of(shape, transport, size, algorithm);
    if (other.alone(shape.ring_rate) < best.alone(shape.ring_rate)) best = other;
  };
  if (chosen_unasked(transport.tree, shape)) consider(Algorithm::tree);
  if (chosen_unasked(transport.in_network, shape)) consider(Algorithm::in_network);
  return best;
}

const char* word(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree: return "tree";
    case Algorithm::hierarchical: return "hierarchical";
    case Algorithm::in_network: return "in-network";
    default: return "that";
  }
}

}  // namespace

bool offers(const Transport& transport, const CollectiveShape& shape, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree: return true;
    case Algorithm::hierarchical: return shape.inside.has_value();
    case Algorithm::in_network: return transport.in_network.has_value();
    default: return true;
  }
}

CollectiveCost collective_cost(const CollectiveShape& shape, const Transport& transport, Bytes size) {
  if (shape.kind != CollectiveKind::all_reduce) return cost_of(shape, transport, size, Algorithm::ring);
  if (shape.algorithm == Algorithm::automatic) return fastest(shape, transport, size);
  if (!offers(transport, shape, shape.algorithm))
    throw UserError(std::string("no ") + word(shape.algorithm) + " all-reduce over " + transport.name +
                    (shape.algorithm == Algorithm::hierarchical ? ": it takes several nodes with equally many devices" : ""));
  return cost_of(shape, transport, size, shape.algorithm);
}

}  // namespace trainyard
