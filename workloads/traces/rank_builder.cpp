#include "workloads/traces/rank_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kShownOfACycle = 6;

/// Successors of every node in one block.
struct Successors {
  std::vector<std::size_t> begin;
  std::vector<int> edge;
  Successors(std::size_t nodes, const std::vector<std::pair<int, int>>& edges)
      : begin(nodes + 1, 0), edge(edges.size()) {
    for (const auto& [from, to] : edges) ++begin[std::size_t(from) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t e = 0; e < edges.size(); ++e) edge[next[std::size_t(edges[e].first)]++] = int(e);
  }
};

}  // namespace

int TraceTables::name(std::string_view text) {
  const auto [at, added] = names_.try_emplace(std::string(text), int(trace_.names.size()));
  if (added) trace_.names.emplace_back(text);
  return at->second;
}

int TraceTables::group(const TraceGroup& group) {
  const auto found = std::ranges::find(trace_.groups, group);
  if (found != trace_.groups.end()) return int(found - trace_.groups.begin());
  trace_.groups.push_back(group);
  return int(trace_.groups.size()) - 1;
}

std::string RankBuilder::at(std::uint64_t id, std::string_view text) const {
  return fmt::format("{}: node {}: {}", trace_.file, id, text);
}

int RankBuilder::add(const TraceNode& node) {
  if (!std::isfinite(node.time.value) || !std::isfinite(node.bytes) || !std::isfinite(node.flops))
    throw UserError(at(node.id, "a time, size or number of operations is not finite"));
  trace_.nodes.push_back(node);
  return int(trace_.nodes.size()) - 1;
}

void RankBuilder::resolve() {
  std::unordered_map<std::uint64_t, int> position;
  position.reserve(trace_.nodes.size());
  for (std::size_t i = 0; i < trace_.nodes.size(); ++i)
    if (!position.try_emplace(trace_.nodes[i].id, int(i)).second)
      throw UserError(at(trace_.nodes[i].id, "the id stands twice in the file; every node needs an id of its own"));
  for (const Wanted& one : wanted_) {
    const auto parent = position.find(one.on);
    const std::uint64_t id = trace_.nodes[std::size_t(one.node)].id;
    const bool missing = parent == position.end(), itself = !missing && parent->second == one.node;
    if (missing && !lenient_)
      throw UserError(at(id, fmt::format("depends on node {}, which is not in the file; every parent must be there "
                                         "(`lenient: true` drops such dependencies)",
                                         one.on)));
    if (itself && !lenient_)
      throw UserError(
          at(id, "depends on itself; only other nodes are allowed (`lenient: true` drops such dependencies)"));
    repairs_.missing_parents += missing;
    repairs_.self_dependencies += itself;
    if (missing || itself) continue;
    trace_.edges.emplace_back(parent->second, one.node);
    kinds_.push_back(one.kind);
  }
  wanted_ = {};
}

/// Nodes that can run, in order; fewer than all where there is a cycle.
std::vector<int> RankBuilder::order(const std::vector<char>& dropped) const {
  const std::size_t n = trace_.nodes.size();
  const Successors after(n, trace_.edges);
  std::vector<int> blockers(n, 0), ordered;
  for (std::size_t e = 0; e < trace_.edges.size(); ++e)
    if (!dropped[e]) ++blockers[std::size_t(trace_.edges[e].second)];
  const auto later = [&](int a, int b) { return trace_.nodes[std::size_t(a)].id > trace_.nodes[std::size_t(b)].id; };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  for (std::size_t i = 0; i < n; ++i)
    if (blockers[i] == 0) ready.push(int(i));
  ordered.reserve(n);
  while (!ready.empty()) {
    const auto node = std::size_t(ready.top());
    ready.pop();
    ordered.push_back(int(node));
    for (std::size_t k = after.begin[node]; k < after.begin[node + 1]; ++k) {
      const auto e = std::size_t(after.edge[k]);
      if (!dropped[e] && --blockers[std::size_t(trace_.edges[e].second)] == 0) ready.push(trace_.edges[e].second);
    }
  }
  return ordered;
}

std::string RankBuilder::cycle_text(const std::vector<int>& ordered, const std::vector<char>& dropped) const {
  std::vector<char> runs(trace_.nodes.size(), 0);
  for (const int node : ordered) runs[std::size_t(node)] = 1;
  std::vector<int> parent(trace_.nodes.size(), -1);  // one that does not run either
  for (std::size_t e = 0; e < trace_.edges.size(); ++e)
    if (const auto [from, to] = trace_.edges[e]; !dropped[e] && !runs[std::size_t(from)] && !runs[std::size_t(to)])
      parent[std::size_t(to)] = from;
  int node = int(std::ranges::find(runs, char(0)) - runs.begin());
  std::vector<char> seen(trace_.nodes.size(), 0);
  for (; !seen[std::size_t(node)]; node = parent[std::size_t(node)]) seen[std::size_t(node)] = 1;
  const int first = node;
  std::string text = fmt::format("{}", trace_.nodes[std::size_t(first)].id);
  std::size_t shown = 0;
  for (node = parent[std::size_t(first)]; node != first; node = parent[std::size_t(node)])
    if (++shown < kShownOfACycle) text += fmt::format(" after {}", trace_.nodes[std::size_t(node)].id);
  if (shown >= kShownOfACycle) text += fmt::format(" after {} more", shown + 1 - kShownOfACycle);
  return at(trace_.nodes[std::size_t(first)].id,
            fmt::format("waits for itself: {} after {}; dependencies must not form a cycle{}", text,
                        trace_.nodes[std::size_t(first)].id,
                        lenient_ ? "" : " (`lenient: true` drops control dependencies inside one)"));
}

std::vector<int> RankBuilder::runnable_order() {
  std::vector<char> dropped(trace_.edges.size(), 0);
  std::vector<int> ordered = order(dropped);
  if (ordered.size() < trace_.nodes.size() && lenient_) {
    std::vector<char> runs(trace_.nodes.size(), 0);
    for (const int node : ordered) runs[std::size_t(node)] = 1;
    for (std::size_t e = 0; e < trace_.edges.size(); ++e)
      if (const auto [from, to] = trace_.edges[e];
          kinds_[e] == Dependency::control && !runs[std::size_t(from)] && !runs[std::size_t(to)])
        dropped[e] = 1;
    repairs_.control_cycles = std::ranges::count(dropped, char(1));
    ordered = order(dropped);
  }
  if (ordered.size() < trace_.nodes.size()) throw UserError(cycle_text(ordered, dropped));
  std::size_t kept = 0;
  for (std::size_t e = 0; e < trace_.edges.size(); ++e)
    if (!dropped[e]) trace_.edges[kept++] = trace_.edges[e];
  trace_.edges.resize(kept);
  return ordered;
}

void RankBuilder::put_in(const std::vector<int>& ordered) {
  std::vector<int> place(ordered.size());
  std::vector<TraceNode> nodes;
  nodes.reserve(ordered.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    place[std::size_t(ordered[i])] = int(i);
    nodes.push_back(trace_.nodes[std::size_t(ordered[i])]);
  }
  trace_.nodes = std::move(nodes);
  for (auto& [from, to] : trace_.edges) from = place[std::size_t(from)], to = place[std::size_t(to)];
}

RankTrace RankBuilder::finish() {
  resolve();
  put_in(runnable_order());
  return std::move(trace_);
}

}  // namespace trainyard
