// Samples in the order of a record: what is out of order, twice, or impossible is a mistake with its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/config/message.hpp"
#include "sim/units/text.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

constexpr double kMostNodes = 1e6;
constexpr double kLongest = 1e11;  // s

template <class Sample>
bool in_order(std::vector<Sample>& samples, bool sort, Diagnostics& diagnostics) {
  const auto earlier = [](const Sample& a, const Sample& b) { return a.at < b.at; };
  if (sort) std::stable_sort(samples.begin(), samples.end(), earlier);
  const auto back = std::is_sorted_until(samples.begin(), samples.end(), earlier);
  if (back == samples.end()) return true;
  diagnostics.add(back->place, fmt::format("time goes back by {}; `sort: true` puts the record into order",
                                           to_text(Seconds((back - 1)->at - back->at))));
  return false;
}

bool possible(const LevelSample& sample, Diagnostics& diagnostics) {
  const bool whole = sample.nodes == std::round(sample.nodes) && sample.nodes >= 0 && sample.nodes <= kMostNodes;
  if (!whole) diagnostics.add(sample.place, fmt::format("{:g} is no number of nodes: a whole one from 0 to 1,000,000", sample.nodes));
  return whole;
}

/// Of equal times the last one, where that is what the file means; else one mistake.
bool without_equal(std::vector<LevelSample>& samples, const LevelRules& rules, Diagnostics& diagnostics) {
  std::vector<LevelSample> kept;
  for (LevelSample& sample : samples) {
    const bool again = !kept.empty() && kept.back().at == sample.at;
    if (again && kept.back().nodes != sample.nodes && !rules.last_of_equal_holds && !rules.sort) {
      diagnostics.add(sample.place, fmt::format("two numbers of nodes at one time, {:g} and {:g}; `sort: true` takes the last one",
                                                kept.back().nodes, sample.nodes));
      return false;
    }
    if (again) kept.back() = std::move(sample);
    else kept.push_back(std::move(sample));
  }
  samples = std::move(kept);
  return true;
}

}  // namespace

std::optional<LevelTrace> level_trace(std::vector<LevelSample> samples, const LevelRules& rules, Diagnostics& diagnostics) {
  const auto impossible = std::find_if_not(samples.begin(), samples.end(), [&](const auto& s) { return possible(s, diagnostics); });
  if (samples.empty() || impossible != samples.end()) return std::nullopt;
  if (!in_order(samples, rules.sort, diagnostics) || !without_equal(samples, rules, diagnostics)) return std::nullopt;
  const double start = samples.front().at, last = samples.back().at - start;
  const double gap = samples.size() > 1 ? samples.back().at - samples[samples.size() - 2].at : 0;
  LevelTrace trace;
  trace.length = Seconds(rules.length.value_or(last + gap));
  if (!(trace.length.value <= kLongest)) {
    diagnostics.add(samples.back().place, fmt::format("a record of {}", to_text(trace.length)));
    return std::nullopt;
  }
  for (const LevelSample& sample : samples) {
    const int nodes = static_cast<int>(sample.nodes);
    if (trace.levels.empty() || trace.levels.back().nodes != nodes) trace.levels.push_back({Seconds(sample.at - start), nodes});
  }
  return trace;
}

std::optional<InstanceTrace> instance_trace(std::vector<InstanceSample> samples, bool sort, double length, Diagnostics& diagnostics) {
  if (!in_order(samples, sort, diagnostics)) return std::nullopt;
  if (!samples.empty() && samples.front().at < 0) return diagnostics.add(samples.front().place, "a time before 0"), std::nullopt;
  InstanceTrace trace;
  trace.length = Seconds(length);
  std::map<std::string, int> numbers;
  std::map<std::string, bool> there;
  for (const InstanceSample& sample : samples) {
    const auto number = numbers.emplace(sample.name, static_cast<int>(numbers.size())).first->second;
    if (there[sample.name] == sample.up) {
      diagnostics.add(sample.place, quoted(sample.name) + (sample.up ? " is added, and it is there already" : " is removed, and it is not there"));
      return std::nullopt;
    }
    there[sample.name] = sample.up;
    trace.changes.push_back({Seconds(sample.at), sample.up, number});
  }
  return trace;
}

Record in_nodes(Record record, int gpus_per_node) {
  if (!record.counts_gpus) return record;
  record.counts_gpus = false;
  if (auto* trace = std::get_if<LevelTrace>(&record.availability))
    for (NodeLevel& level : trace->levels) level.nodes /= gpus_per_node;
  return record;
}

}  // namespace trainyard
