#include "sim/cost/collective_time.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

double others(int members) { return double(members - 1) / members; }

/// A collective's own curve; none: the transport's plain one.
const AlgorithmTimes* times_of(const CollectiveShape& shape, const Transport& transport, Algorithm algorithm) {
  const auto or_ring = [&](const std::optional<AlgorithmTimes>& own) { return own ? &*own : transport.ring ? &*transport.ring : nullptr; };
  if (shape.kind == CollectiveKind::send) return nullptr;
  if (shape.kind == CollectiveKind::all_to_all) return or_ring(transport.exchange);
  if (shape.kind == CollectiveKind::all_reduce && algorithm == Algorithm::tree) return or_ring(transport.tree);
  if (shape.kind == CollectiveKind::all_reduce && algorithm == Algorithm::in_network) return or_ring(transport.in_network);
  return or_ring(transport.ring);
}

/// The inside's bytes against the outside's rate, where both halves of an algorithm run at once.
double inner_factor(const CollectiveShape& shape) {
  if (!shape.inside || shape.inside->members < 2) return 0;
  const std::optional<AlgorithmTimes>& ring = shape.inside->transport.ring;
  const double ring_rate = ring ? ring->protocols.back().times.rate : 1;
  const double outer_rate = shape.ring_rate.value * shape.rings;
  return 2 * others(shape.inside->members) * outer_rate / (shape.inside->rate.value * ring_rate);
}

double all_reduce_factor(const CollectiveShape& shape, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree: return shape.hops > 2 ? 2 : 1;
    case Algorithm::hierarchical: return 2 * others(shape.hops);
    case Algorithm::in_network:
      if (shape.hops == shape.members) return 1 + 1.0 / shape.members;
      return std::max(1.0, inner_factor(shape));
    default: return 2 * others(shape.members);
  }
}

/// Bytes through all rings together, as a multiple of the size.
double traffic_factor(const CollectiveShape& shape, Algorithm algorithm, double own) {
  switch (shape.kind) {
    case CollectiveKind::all_reduce: return all_reduce_factor(shape, algorithm);
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather: return others(shape.members);
    case CollectiveKind::all_to_all: return double(shape.members) / shape.hops * (others(shape.hops) + own / shape.hops);
    case CollectiveKind::broadcast:
    case CollectiveKind::send: return 1;
  }
  return 1;
}

/// One after the other, between neighbours on the way (nodes, if there are several) and further ones inside nodes.
struct Messages { double outer = 0, inner = 0; };

Messages messages_in_a_row(const CollectiveShape& shape, Algorithm algorithm) {
  const double hops = shape.hops, each = double(shape.members) / shape.hops;
  switch (shape.kind) {
    case CollectiveKind::send: return {1, 0};
    case CollectiveKind::all_to_all: return {hops - 1, 0};
    case CollectiveKind::all_reduce: break;
    default: return {hops - 1, shape.members - hops};
  }
  if (algorithm == Algorithm::tree) return {2 * std::log2(hops), 2 * (each - 1)};
  if (algorithm == Algorithm::in_network) return {2, 0};
  if (algorithm == Algorithm::hierarchical) return {2 * (hops - 1), 0};
  return {2 * (hops - 1), 2 * (shape.members - hops)};
}

/// No message is faster than the wires; those of an all-to-all are under way together.
Seconds least_latency(const CollectiveShape& shape, const Messages& messages) {
  return shape.hop_latency * (shape.kind == CollectiveKind::all_to_all ? 1 : messages.outer);
}

Bytes bytes_of(const CollectiveShape& shape, Bytes size, Algorithm algorithm, const AlgorithmTimes* times, double rate) {
  const double own = times != nullptr ? times->own : 0, sharers = times != nullptr && times->shared ? shape.members : 1;
  return Bytes(std::round(size.value * traffic_factor(shape, algorithm, own) * sharers / shape.rings / rate));
}

/// Over links without measurements of their own.
CollectiveCost plain_cost(const CollectiveShape& shape, const Transport& transport, Bytes size, Algorithm algorithm) {
  CollectiveCost cost;
  cost.algorithm = algorithm;
  cost.bytes = bytes_of(shape, size, algorithm, nullptr, 1);
  const Messages messages = messages_in_a_row(shape, algorithm);
  const double steps = shape.kind == CollectiveKind::send ? 0 : shape.kind == CollectiveKind::all_to_all ? messages.outer : messages.outer / 2;
  const Seconds transfer = cost.bytes / shape.ring_rate;
  cost.delay = transport.setup + std::max(transport.step * steps, least_latency(shape, messages)) +
               Seconds(std::sqrt(transfer.value * transport.ramp.value));
  return cost;
}

/// A way that may be taken, with the time by which the library compares it.
struct Candidate {
  CollectiveCost cost;
  Seconds time{}, expected{};
  bool is_expected = false;
};

double factor_at(const std::vector<double>& by_size, Bytes size) {
  if (by_size.empty()) return 1;
  const double doublings = std::floor(std::log2(std::max(1.0, size.value / 64)));
  return by_size[std::min(by_size.size() - 1, static_cast<std::size_t>(doublings))];
}

/// As src/graph/tuning.cc reckons: there a tree moves twice the size over two nodes too.
Seconds expected_time(const CollectiveShape& shape, Bytes size, Algorithm algorithm, const AlgorithmTimes& way, const Expectation& expected) {
  const MessageTimes& times = expected.times;
  const Messages messages = messages_in_a_row(shape, algorithm);
  const double twice = algorithm == Algorithm::tree && shape.hops == 2 ? 2 : 1, rate = times.rate * factor_at(expected.by_size, size);
  return times.setup + times.step * messages.outer + times.inner * messages.inner +
         bytes_of(shape, size * twice, algorithm, &way, rate) / shape.ring_rate;
}

Candidate protocol_candidate(const CollectiveShape& shape, Bytes size, Algorithm algorithm, const AlgorithmTimes& way,
                             const Protocol& protocol) {
  const MessageTimes& times = protocol.times;
  const Messages messages = messages_in_a_row(shape, algorithm);
  Candidate candidate;
  candidate.cost.algorithm = algorithm;
  candidate.cost.protocol = protocol.name;
  candidate.cost.bytes = bytes_of(shape, size, algorithm, &way, times.rate);
  const Seconds transfer = candidate.cost.bytes / shape.ring_rate;
  const Seconds latency = std::max(times.step * messages.outer + times.inner * messages.inner, least_latency(shape, messages));
  candidate.cost.delay = times.setup + Seconds(std::hypot(latency.value, transfer.value)) - transfer +
                         Seconds(std::sqrt(transfer.value * times.ramp.value));
  candidate.time = candidate.cost.alone(shape.ring_rate);
  if (!protocol.expected) return candidate;
  candidate.is_expected = true;
  candidate.expected = expected_time(shape, size, algorithm, way, *protocol.expected);
  return candidate;
}

/// Reduce-scatter before and all-gather after the part between the nodes.
Seconds inside_time(const InnerGroup& inside, Bytes size) {
  CollectiveShape shape;
  shape.members = shape.hops = inside.members;
  shape.ring_rate = inside.rate;
  shape.kind = CollectiveKind::reduce_scatter;
  return 2.0 * collective_cost(shape, inside.transport, size).alone(inside.rate);
}

void add_candidates(std::vector<Candidate>& candidates, const CollectiveShape& shape, const Transport& transport, Bytes size,
                    Algorithm algorithm) {
  if (const AlgorithmTimes* times = times_of(shape, transport, algorithm)) {
    require(!times->protocols.empty(), "a way of running a collective has protocols");
    for (const Protocol& protocol : times->protocols)
      candidates.push_back(protocol_candidate(shape, size, algorithm, *times, protocol));
    return;
  }
  const CollectiveCost cost = plain_cost(shape, transport, size, algorithm);
  candidates.push_back({cost, cost.alone(shape.ring_rate), {}, false});
}

/// The library takes what it expects to be the fastest; where it has no expectation of one of them, the fastest.
CollectiveCost chosen(const std::vector<Candidate>& candidates) {
  const bool by_expectation = std::ranges::all_of(candidates, &Candidate::is_expected);
  return std::ranges::min_element(candidates, std::less{}, by_expectation ? &Candidate::expected : &Candidate::time)->cost;
}

CollectiveCost cost_of(const CollectiveShape& shape, const Transport& transport, Bytes size, Algorithm algorithm) {
  std::vector<Candidate> candidates;
  add_candidates(candidates, shape, transport, size, algorithm);
  CollectiveCost cost = chosen(candidates);
  if (algorithm == Algorithm::hierarchical && shape.inside && shape.inside->members > 1)
    cost.delay = cost.delay + inside_time(*shape.inside, size);
  return cost;
}

bool chosen_unasked(const std::optional<AlgorithmTimes>& times, const CollectiveShape& shape) {
  return times && !times->on_request && shape.hops >= times->from;
}

CollectiveCost as_the_library_chooses(const CollectiveShape& shape, const Transport& transport, Bytes size) {
  std::vector<Candidate> candidates;
  add_candidates(candidates, shape, transport, size, Algorithm::ring);
  if (chosen_unasked(transport.tree, shape)) add_candidates(candidates, shape, transport, size, Algorithm::tree);
  if (chosen_unasked(transport.in_network, shape)) add_candidates(candidates, shape, transport, size, Algorithm::in_network);
  return chosen(candidates);
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
  if (shape.algorithm == Algorithm::automatic) return as_the_library_chooses(shape, transport, size);
  if (!offers(transport, shape, shape.algorithm))
    throw UserError(std::string("no ") + word(shape.algorithm) + " all-reduce over " + transport.name +
                    (shape.algorithm == Algorithm::hierarchical ? ": it takes several nodes with equally many devices" : ""));
  return cost_of(shape, transport, size, shape.algorithm);
}

}  // namespace trainyard
