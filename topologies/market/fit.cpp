#include "topologies/market/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Calls `visit(level, how long it holds)`.
template <class Visit>
void for_visits(const LevelTrace& trace, Visit&& visit) {
  for (std::size_t i = 0; i < trace.levels.size(); ++i) {
    const Seconds until = i + 1 < trace.levels.size() ? trace.levels[i + 1].at : std::max(trace.length, trace.levels[i].at);
    visit(trace.levels[i].nodes, until - trace.levels[i].at);
  }
}

LevelTrace counted(const InstanceTrace& trace) {
  LevelTrace levels{{{Seconds(0), 0}}, trace.length, trace.after_end, Victims::random};
  int there = 0;
  for (const InstanceChange& change : trace.changes) {
    there += change.up ? 1 : -1;
    if (levels.levels.back().at == change.at) levels.levels.back().nodes = there;
    else if (levels.levels.back().nodes != there) levels.levels.push_back({change.at, there});
  }
  return levels;
}

void count_losses(const InstanceTrace& trace, RecordFigures& figures) {
  Seconds last(-1);
  for (const InstanceChange& change : trace.changes) {
    if (change.up && change.at > trace.changes.front().at) ++figures.gained;
    if (change.up) continue;
    ++figures.lost;
    figures.loss_events += change.at != last ? 1 : 0;
    last = change.at;
  }
}

void count_losses(const LevelTrace& trace, RecordFigures& figures) {
  for (std::size_t i = 1; i < trace.levels.size(); ++i) {
    const int change = trace.levels[i].nodes - trace.levels[i - 1].nodes;
    figures.gained += std::max(change, 0);
    figures.lost += std::max(-change, 0);
    figures.loss_events += change < 0 ? 1 : 0;
  }
}

struct Visits {
  Seconds time{};
  int count = 0;
  std::map<int, int> next;
};

std::map<int, Visits> visits_of(const LevelTrace& trace) {
  std::map<int, Visits> levels;
  std::vector<int> order;
  for_visits(trace, [&](int nodes, Seconds time) {
    levels[nodes].time += time;
    ++levels[nodes].count;
    if (!order.empty()) ++levels[order.back()].next[nodes];
    order.push_back(nodes);
  });
  Visits& last = levels[order.back()];
  if (last.next.empty() && order.back() != order.front()) ++last.next[order.front()];
  return levels;
}

}  // namespace

LevelTrace levels_of(const Availability& record) {
  if (const auto* instances = std::get_if<InstanceTrace>(&record)) return counted(*instances);
  return std::get<LevelTrace>(record);
}

RecordFigures figures_of(const Availability& record) {
  RecordFigures figures;
  const LevelTrace levels = levels_of(record);
  Seconds node_time{};
  for_visits(levels, [&](int nodes, Seconds time) {
    node_time += nodes * time;
    figures.most_nodes = std::max(figures.most_nodes, nodes);
  });
  figures.length = levels.length;
  figures.node_hours = node_time.value / 3600;
  figures.mean_nodes = levels.length.value > 0 ? node_time / levels.length : levels.levels.back().nodes;
  if (const auto* instances = std::get_if<InstanceTrace>(&record)) count_losses(*instances, figures);
  else count_losses(levels, figures);
  return figures;
}

std::string figures_text(const RecordFigures& figures) {
  const std::string rate = figures.node_hours > 0 ? fmt::format("{:.3g} a node-hour", figures.lost / figures.node_hours) : "no node-hours";
  return fmt::format("{}; {:.4g} nodes on average, at most {}; {} lost in {} events, {}; {} joined", to_text(figures.length), figures.mean_nodes,
                     figures.most_nodes, figures.lost, figures.loss_events, rate, figures.gained);
}

MarkovProcess fitted_chain(const LevelTrace& trace) {
  MarkovProcess chain;
  for (const auto& [nodes, visits] : visits_of(trace)) {
    int left = 0;
    for (const auto& [next, times] : visits.next) left += times;
    MarkovLevel level{nodes, visits.time / std::max(left, 1), {}};
    for (const auto& [next, times] : visits.next) level.to.emplace_back(next, double(times) / left);
    chain.levels.push_back(std::move(level));
  }
  const auto first = std::find_if(chain.levels.begin(), chain.levels.end(), [&](const auto& level) { return level.nodes == trace.levels.front().nodes; });
  std::rotate(chain.levels.begin(), first, first + 1);
  return chain;
}

WeibullProcess fitted_exponential(const RecordFigures& figures) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double away_hours = figures.most_nodes * figures.length.value / 3600 - figures.node_hours;
  WeibullProcess process;
  process.up = Seconds(figures.lost > 0 ? 3600 * figures.node_hours / figures.lost : kNever);
  process.down = Seconds(figures.gained > 0 ? 3600 * away_hours / figures.gained : kNever);
  return process;
}

}  // namespace trainyard
