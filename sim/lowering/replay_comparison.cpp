#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

#include "sim/lowering/replay.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kShownDifferences = 20;

bool compared(const TraceNode& node) {
  switch (node.work) {
    case TraceWork::compute:
    case TraceWork::memory:
    case TraceWork::host:
    case TraceWork::exchange:
    case TraceWork::send:
      return true;
    case TraceWork::none:
    case TraceWork::lag:
    case TraceWork::receive:
      return false;
  }
  return false;
}

/// Of a rank: positions of nodes with a recorded begin, by name, in order of it.
std::map<std::string_view, std::vector<int>> recorded_by_name(const ExecutionTrace& trace, const RankTrace& file) {
  std::map<std::string_view, std::vector<int>> by_name;
  for (std::size_t i = 0; i < file.nodes.size(); ++i)
    if (const TraceNode& node = file.nodes[i]; compared(node) && node.begin >= Seconds(0))
      by_name[trace.names[std::size_t(node.name)]].push_back(int(i));
  for (auto& [name, nodes] : by_name)
    std::ranges::stable_sort(nodes, {}, [&](int node) { return file.nodes[std::size_t(node)].begin; });
  return by_name;
}

class Comparer {
 public:
  Comparer(const TraceReplay& replay, const ReplayedTrace& lowered, const Timeline& timeline,
           const ExecutionTrace& recorded)
      : trace_(replay.trace), lowered_(lowered), timeline_(timeline), recorded_(recorded) {}

  ReplayComparison compare(const std::string& source) {
    made_.source = source;
    for (std::size_t s = 0; s < lowered_.simulated.size(); ++s)
      if (const RankTrace* file = file_of(lowered_.simulated[s])) compare_rank(s, *file);
    if (made_.matched == 0)
      throw UserError(fmt::format(
          "--against {}: no operation has the rank and the name of one that is replayed, and a recorded begin",
          source));
    for (const auto& [task, times] : transfers_)
      made_.recorded_transfers += times.first, made_.simulated_transfers += times.second;
    made_.recorded_step = recorded_to_ - recorded_from_;
    made_.simulated_step = simulated_to_ - simulated_from_;
    std::ranges::stable_sort(made_.worst, std::greater<>(), [](const ReplayDifference& one) {
      return std::abs((one.simulated - one.recorded).value);
    });
    if (made_.worst.size() > kShownDifferences) made_.worst.resize(kShownDifferences);
    return std::move(made_);
  }

 private:
  [[nodiscard]] const RankTrace* file_of(int rank) const {
    for (const RankTrace& file : recorded_.files)
      if (file.rank == rank || (recorded_.files.size() == 1 && file.rank < 0)) return &file;
    return nullptr;
  }

  void compare_rank(std::size_t simulated, const RankTrace& recorded) {
    const RankTrace& file = trace_.files[std::size_t(trace_.file_of_rank[std::size_t(lowered_.simulated[simulated])])];
    const auto by_name = recorded_by_name(recorded_, recorded);
    used_.assign(recorded.nodes.size(), 0);
    by_id_.clear();
    for (const auto& [name, nodes] : by_name)
      for (const int at : nodes) by_id_.emplace(recorded.nodes[std::size_t(at)].id, at);
    std::map<std::string_view, std::size_t> next;
    std::vector<int> ordered;
    for (std::size_t i = 0; i < file.nodes.size(); ++i)
      if (compared(file.nodes[i])) ordered.push_back(int(i));
    const auto start = [&](int node) { return timeline_.start[index(lowered_.task_of[simulated][std::size_t(node)])]; };
    std::ranges::stable_sort(ordered, {}, start);
    for (const int at : ordered) {
      const TraceNode& node = file.nodes[std::size_t(at)];
      const std::string_view name = trace_.names[std::size_t(node.name)];
      const int found = counterpart(node, name, recorded, by_name, next);
      if (found < 0) {
        ++made_.unmatched_simulated;
        continue;
      }
      used_[std::size_t(found)] = 1;
      add(simulated, node, recorded.nodes[std::size_t(found)], index(lowered_.task_of[simulated][std::size_t(at)]));
    }
    for (const auto& [name, left] : by_name)
      made_.unmatched_recorded += std::ranges::count_if(left, [&](int node) { return !used_[std::size_t(node)]; });
  }

  /// The recorded node of its id, if it has its name, too; else the next of its name. -1: none is left.
  int counterpart(const TraceNode& node, std::string_view name, const RankTrace& recorded,
                  const std::map<std::string_view, std::vector<int>>& by_name,
                  std::map<std::string_view, std::size_t>& next) const {
    const auto known = by_name.find(name);
    if (known == by_name.end()) return -1;
    if (const auto same = by_id_.find(node.id);
        same != by_id_.end() && !used_[std::size_t(same->second)] &&
        recorded_.names[std::size_t(recorded.nodes[std::size_t(same->second)].name)] == name)
      return same->second;
    std::size_t& at = next[name];
    while (at < known->second.size() && used_[std::size_t(known->second[at])]) ++at;
    return at < known->second.size() ? known->second[at] : -1;
  }

  void add(std::size_t simulated, const TraceNode& node, const TraceNode& recorded, std::size_t task) {
    ++made_.matched;
    const Seconds took = std::max(recorded.time, Seconds(0)), takes = timeline_.end[task] - timeline_.start[task];
    recorded_from_ = std::min(recorded_from_, recorded.begin);
    recorded_to_ = std::max(recorded_to_, recorded.begin + took);
    simulated_from_ = std::min(simulated_from_, timeline_.start[task]);
    simulated_to_ = std::max(simulated_to_, timeline_.end[task]);
    const bool communicates = node.work == TraceWork::exchange || node.work == TraceWork::send;
    if (node.work == TraceWork::compute || node.work == TraceWork::memory)
      made_.recorded_computing += took, made_.simulated_computing += takes;
    if (communicates) {
      made_.recorded_communication += took;
      made_.simulated_communication += takes;
      const auto [least, first] = transfers_.try_emplace(task, took, takes);
      if (!first) least->second.first = std::min(least->second.first, took);
    }
    made_.worst.push_back({lowered_.simulated[simulated], node.id, trace_.names[std::size_t(node.name)], took, takes,
                           recorded.begin, timeline_.start[task]});
    if (made_.worst.size() > 100 * kShownDifferences) keep_worst();
  }

  void keep_worst() {
    const auto difference = [](const ReplayDifference& one) { return std::abs((one.simulated - one.recorded).value); };
    std::ranges::stable_sort(made_.worst, std::greater<>(), difference);
    made_.worst.resize(kShownDifferences);
  }

  const ExecutionTrace& trace_;
  const ReplayedTrace& lowered_;
  const Timeline& timeline_;
  const ExecutionTrace& recorded_;
  ReplayComparison made_;
  std::map<std::size_t, std::pair<Seconds, Seconds>> transfers_;  ///< by task: the least recorded, simulated
  std::vector<char> used_;                                        ///< [recorded node of the rank]
  std::unordered_map<std::uint64_t, int> by_id_;                  ///< the same
  Seconds recorded_from_{1e300}, recorded_to_{-1}, simulated_from_{1e300}, simulated_to_{-1};
};

}  // namespace

ReplayComparison compare_replay(const TraceReplay& replay, const ReplayedTrace& lowered, const Timeline& timeline,
                                const ExecutionTrace& recorded, const std::string& source) {
  return Comparer(replay, lowered, timeline, recorded).compare(source);
}

}  // namespace trainyard
