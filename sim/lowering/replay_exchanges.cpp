#include "sim/lowering/replay_exchanges.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kShownName = 60;

const RankTrace& file_of(const ExecutionTrace& trace, int rank) {
  return trace.files[std::size_t(trace.file_of_rank[std::size_t(rank)])];
}
const TraceNode& node_at(const ExecutionTrace& trace, const ReplayPlace& place) {
  return file_of(trace, place.rank).nodes[std::size_t(place.node)];
}

std::string group_text(const ExecutionTrace& trace, const ReplayGroup& group) {
  const std::string& name = trace.groups[std::size_t(group.group)].name;
  return name.empty() ? fmt::format("the group of {} ranks", group.members.size()) : fmt::format("group \"{}\"", name);
}

/// Uneven parts are legal in these.
bool may_be_uneven(ExchangeKind kind) {
  return kind == ExchangeKind::all_to_all || kind == ExchangeKind::gather || kind == ExchangeKind::scatter ||
         kind == ExchangeKind::all_gather;
}

class Meetings {
 public:
  explicit Meetings(const ExecutionTrace& trace) : trace_(trace) {}

  ReplayMeetings find() {
    for (std::size_t rank = 0; rank < trace_.file_of_rank.size(); ++rank) add_rank(int(rank));
    for (const ReplayGroup& group : made_.groups) check(group);
    for (const auto& [way, exchange] : made_.ways) check(way, exchange);
    return std::move(made_);
  }

 private:
  void add_rank(int rank) {
    const std::vector<TraceNode>& nodes = file_of(trace_, rank).nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TraceNode& node = nodes[i];
      if (node.work == TraceWork::exchange && node.bytes >= 0) add_exchange(rank, int(i), node);
      if (node.work == TraceWork::send || node.work == TraceWork::receive) add_transfer({rank, int(i)}, node);
    }
  }

  void add_exchange(int rank, int at, const TraceNode& node) {
    const auto [known, added] = group_of_.try_emplace({node.group, rank}, 0);
    if (added) known->second = find_group(rank, node);
    ReplayGroup& group = made_.groups[std::size_t(known->second)];
    group.nodes[std::size_t(std::ranges::find(group.members, rank) - group.members.begin())].push_back(at);
  }

  std::size_t find_group(int rank, const TraceNode& node) {
    std::vector<int> members = members_with(trace_, node.group, rank, node);
    const auto [found, added] = by_first_.try_emplace({node.group, members.front()}, made_.groups.size());
    if (added) {
      const std::size_t count = members.size();
      made_.groups.push_back({node.group, std::move(members), std::vector<std::vector<int>>(count)});
    }
    return found->second;
  }

  void add_transfer(const ReplayPlace& place, const TraceNode& node) {
    const bool sends = node.work == TraceWork::send;
    if (node.peer < 0 || std::size_t(node.peer) >= trace_.file_of_rank.size())
      throw UserError(fmt::format("{}: {} rank {}; ranks 0 to {} are there", place_text(trace_, place),
                                  sends ? "sends to" : "receives from", node.peer, trace_.file_of_rank.size() - 1));
    const int from = sends ? place.rank : node.peer, to = sends ? node.peer : place.rank;
    ReplayWay& way = made_.ways[{from, to, node.tag}];
    (sends ? way.sends : way.receives).push_back(place);
  }

  void check(const ReplayGroup& group) const {
    for (std::size_t m = 1; m < group.members.size(); ++m) {
      const std::size_t common = std::min(group.nodes[0].size(), group.nodes[m].size());
      for (std::size_t i = 0; i < common; ++i) compare(group, m, i);
      if (group.nodes[0].size() == group.nodes[m].size()) continue;
      const std::size_t more = group.nodes[0].size() > common ? 0 : m, less = more == 0 ? m : 0;
      throw UserError(fmt::format("{}: exchange {} of {} never ends: rank {} has only {} there; all members must come",
                                  place_text(trace_, {group.members[more], group.nodes[more][common]}), common + 1,
                                  group_text(trace_, group), group.members[less], common));
    }
  }

  void compare(const ReplayGroup& group, std::size_t m, std::size_t i) const {
    const ReplayPlace first{group.members[0], group.nodes[0][i]}, other{group.members[m], group.nodes[m][i]};
    const TraceNode &a = node_at(trace_, first), &b = node_at(trace_, other);
    if (a.exchange == b.exchange && (a.bytes == b.bytes || may_be_uneven(a.exchange))) return;
    throw UserError(fmt::format(
        "{}: exchange {} of {} is {} of {:.0f} B, but on rank {} (node {}) {} of {:.0f} B; all members must agree",
        place_text(trace_, first), i + 1, group_text(trace_, group), name(a.exchange), a.bytes, other.rank, b.id,
        name(b.exchange), b.bytes));
  }

  void check(const std::tuple<int, int, int>& way, const ReplayWay& exchange) const {
    const auto& [from, to, tag] = way;
    const std::size_t common = std::min(exchange.sends.size(), exchange.receives.size());
    if (exchange.sends.size() != exchange.receives.size()) {
      const ReplayPlace& alone = exchange.sends.size() > common ? exchange.sends[common] : exchange.receives[common];
      throw UserError(fmt::format(
          "{}: from rank {} to rank {} with tag {} there are {} sends and {} receives; each needs its other half",
          place_text(trace_, alone), from, to, tag, exchange.sends.size(), exchange.receives.size()));
    }
    for (std::size_t i = 0; i < common; ++i)
      if (const TraceNode& a = node_at(trace_, exchange.sends[i]), &b = node_at(trace_, exchange.receives[i]);
          a.bytes != b.bytes)
        throw UserError(fmt::format("{}: sends {:.0f} B, but rank {} (node {}) receives {:.0f} B; both must agree",
                                    place_text(trace_, exchange.sends[i]), a.bytes, to, b.id, b.bytes));
  }

  const ExecutionTrace& trace_;
  ReplayMeetings made_;
  std::map<std::pair<int, int>, std::size_t> group_of_;  ///< by group and rank
  std::map<std::pair<int, int>, std::size_t> by_first_;  ///< by group and first member
};

}  // namespace

std::string place_text(const ExecutionTrace& trace, const ReplayPlace& place) {
  const RankTrace& file = file_of(trace, place.rank);
  const TraceNode& node = file.nodes[std::size_t(place.node)];
  return fmt::format("{}: node {} of rank {} ({})", file.file, node.id, place.rank,
                     trace.names[std::size_t(node.name)].substr(0, kShownName));
}

std::vector<int> members_with(const ExecutionTrace& trace, int group, int rank, const TraceNode& node) {
  const TraceGroup& of = trace.groups[std::size_t(group)];
  const int world = int(trace.file_of_rank.size());
  std::vector<int> members = of.members;
  if (members.empty()) {
    const int size = of.size > 0 ? of.size : world, stride = of.size > 0 ? of.stride : 1;
    const int first = rank - rank / stride % size * stride;
    for (int i = 0; i < size; ++i) members.push_back(first + i * stride);
  }
  if (std::ranges::find(members, rank) == members.end())
    throw UserError(fmt::format(
        "{}: node {} of rank {}: exchanges in group \"{}\" of ranks {}, which it is not in; only members may",
        file_of(trace, rank).file, node.id, rank, of.name, fmt::join(members, ", ")));
  return members;
}

ReplayMeetings meetings_of(const ExecutionTrace& trace) { return Meetings(trace).find(); }

}  // namespace trainyard
