#include "sim/model/node_events.hpp"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <map>

#include "sim/model/node_offers.hpp"

namespace trainyard {
namespace {

using NodesOfGroup = std::map<std::string, std::vector<NodeId>>;

NodesOfGroup groups_of(const Cluster& cluster) {
  NodesOfGroup groups;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) groups[cluster.nodes[i].group].push_back(id_at<NodeId>(i));
  return groups;
}

/// Where a record that says `stop` ends, or infinitely late.
Seconds end_of(const Availability& source, Seconds horizon) {
  const auto stop = [&](const auto& record) {
    return record.after_end == AfterEnd::stop && record.length.value > 0 ? std::min(record.length, horizon) : horizon;
  };
  if (const auto* levels = std::get_if<LevelTrace>(&source)) return stop(*levels);
  if (const auto* instances = std::get_if<InstanceTrace>(&source)) return stop(*instances);
  return horizon;
}

/// Works the spans of all nodes out.
class Spans {
 public:
  Spans(const Market& market, const Cluster& cluster, std::uint64_t seed) : market_(market), cluster_(cluster), seed_(seed) {}

  [[nodiscard]] NodeEvents all(Seconds horizon) {
    events_.end = horizon;
    const NodesOfGroup groups = groups_of(cluster_);
    for (const auto& [name, nodes] : groups)
      if (const Availability* source = source_of(name, nodes)) events_.end = std::min(events_.end, end_of(*source, horizon));
    for (const auto& [name, nodes] : groups) add_group(name, nodes);
    std::sort(events_.spans.begin(), events_.spans.end(), [](const NodeSpan& a, const NodeSpan& b) {
      return std::pair(a.acquired, a.node) < std::pair(b.acquired, b.node);
    });
    return std::move(events_);
  }

 private:
  [[nodiscard]] const Availability* source_of(const std::string& group, const std::vector<NodeId>& nodes) const {
    const auto found = market_.availability.find(group);
    const bool spot = cluster_.nodes[index(nodes.front())].market == MarketKind::spot;
    return spot && found != market_.availability.end() ? &found->second : nullptr;
  }

  void add_group(const std::string& name, const std::vector<NodeId>& nodes) {
    const Availability* source = source_of(name, nodes);
    OfferedGroup group{name, {}, events_.end, seed_};
    for (const NodeId node : nodes) group.zones.push_back(cluster_.nodes[index(node)].zone);
    const Offers offers = source != nullptr ? offers_of(*source, group) : Offers(nodes.size(), {{Seconds(0), events_.end, false}});
    for (std::size_t i = 0; i < nodes.size(); ++i) add_node(nodes[i], name, offers[i]);
  }

  void add_node(NodeId node, const std::string& group, const std::vector<Offer>& offers) {
    const auto failures = market_.failures.find(group);
    if (failures == market_.failures.end()) {
      for (const Offer& offer : offers) add_span(node, offer, offer.taken ? SpanEnd::preempted : SpanEnd::held);
      return;
    }
    add_failing(node, offers, failures->second);
  }

  /// Failures come at the instants of a Poisson process, and count where the node is there.
  void add_failing(NodeId node, const std::vector<Offer>& offers, const HardwareFailures& failures) {
    boost::random::mt19937_64 draws(seed_for(seed_, "failures", index(node)));
    boost::random::exponential_distribution<double> between(1 / failures.every.value);
    Seconds next(between(draws));
    for (Offer offer : offers) {
      for (; next < offer.until; next += Seconds(between(draws))) {
        if (next <= offer.from) continue;
        count_change(changes_);
        add_span(node, {offer.from, next, true}, SpanEnd::failed);
        offer.from = next + failures.repair;
      }
      if (offer.from < offer.until) add_span(node, offer, offer.taken ? SpanEnd::preempted : SpanEnd::held);
    }
  }

  void add_span(NodeId node, const Offer& offer, SpanEnd end) {
    const bool at_start = offer.from.value == 0;
    const Seconds acquired = at_start ? offer.from : offer.from + market_.acquire;
    const Seconds ready = at_start ? acquired : acquired + market_.boot;
    if (acquired >= offer.until) return;
    events_.spans.push_back({node, acquired, ready, offer.until, offer.until, end});
    const auto notice = market_.notice.find(cluster_.nodes[index(node)].group);
    if (end == SpanEnd::preempted && notice != market_.notice.end() && ready < offer.until)
      events_.spans.back().noticed = std::max(offer.until - notice->second, ready);
  }

  const Market& market_;
  const Cluster& cluster_;
  std::uint64_t seed_;
  NodeEvents events_;
  std::size_t changes_ = 0;
};

std::vector<NodeInstant> instants_of(const std::vector<NodeSpan>& spans) {
  std::map<Seconds, NodeInstant> instants;
  for (const NodeSpan& span : spans) {
    if (span.ready >= span.until) continue;
    instants[span.ready].ready.push_back(span.node);
    if (span.noticed < span.until) instants[span.noticed].noticed.push_back(span.node);
    if (span.end != SpanEnd::held) instants[span.until].lost.push_back(span.node);
  }
  std::vector<NodeInstant> all;
  for (auto& [at, instant] : instants) {
    instant.at = at;
    for (std::vector<NodeId>* nodes : {&instant.lost, &instant.ready, &instant.noticed}) std::sort(nodes->begin(), nodes->end());
    all.push_back(std::move(instant));
  }
  return all;
}

}  // namespace

NodeEvents node_events(const Market& market, const Cluster& cluster, Seconds horizon, std::uint64_t seed) {
  NodeEvents events = Spans(market, cluster, seed).all(horizon);
  events.instants = instants_of(events.spans);
  return events;
}

Seconds usable_time(const NodeEvents& events) {
  Seconds sum{};
  for (const NodeSpan& span : events.spans) sum += std::max(span.until - span.ready, Seconds(0));
  return sum;
}

int preemptions(const NodeEvents& events) {
  return static_cast<int>(std::count_if(events.spans.begin(), events.spans.end(),
                                        [](const NodeSpan& span) { return span.end == SpanEnd::preempted; }));
}

}  // namespace trainyard
