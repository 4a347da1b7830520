#include "sim/report/step_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "sim/report/numbers.hpp"

namespace trainyard {
namespace {

constexpr double kLeastTime = 1e-3, kLeastOfPath = 1e-2, kLeastGain = 5e-4;

using Shares = std::vector<std::pair<std::string, double>>;

Shares largest_first(Shares shares) {
  std::ranges::stable_sort(shares, [](const auto& a, const auto& b) { return a.second > b.second; });
  return shares;
}

std::string in_a_line(const Shares& shares, double least) {
  std::vector<std::string> pieces;
  double rest = 0;
  for (const auto& [what, share] : shares)
    if (share >= least)
      pieces.push_back(fmt::format("{} {}", what, percent(share)));
    else
      rest += share;
  if (rest >= kLeastTime) pieces.push_back(fmt::format("other {}", percent(rest)));
  return fmt::format("{}", fmt::join(pieces, " · "));
}

/// Equal stages of several pipelines, and of a stage all devices of a kind, are one.
std::string text_of(const PathPart& part, bool several_stages) {
  std::string text = part.kind;
  if (part.stage >= 0 && several_stages) text += fmt::format(" of stage {}", part.stage);
  if (!part.model.empty()) text += " on " + part.model.substr(0, part.model.find('-'));
  return text;
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string gain_text(const ResourceGain& gain) {
  if (!gain.why_not.empty()) return fmt::format("      {}: {}\n", gain.resource, gain.why_not);
  return fmt::format("      {}: {} speed, {} price a token\n", gain.resource, signed_percent(gain.throughput_gain),
                     signed_percent(gain.cost_change));
}

bool changes_nothing(const ResourceGain& gain) {
  return gain.why_not.empty() && std::abs(gain.throughput_gain) < kLeastGain && std::abs(gain.cost_change) < kLeastGain;
}

std::string limit_text(const std::vector<ResourceGain>& gains) {
  const auto best = std::ranges::max_element(gains, {}, &ResourceGain::throughput_gain);
  if (best->throughput_gain < kLeastGain) return "no single resource limits it";
  return fmt::format("limited by {}", best->resource);
}

}  // namespace

std::string time_text(const CaseResult& result) {
  Shares shares;
  for (const TimePartName& part : kTimeParts)
    shares.emplace_back(part.name, result.step.time.*part.part / result.step.step_time);
  return in_a_line(largest_first(std::move(shares)), kLeastTime);
}

std::string critical_path_text(const CaseResult& result) {
  Shares shares;
  for (const PathPart& part : result.critical_path) {
    const std::string what = text_of(part, result.traits.stages > 1);
    const auto known = std::ranges::find(shares, what, &Shares::value_type::first);
    const double share = part.time / result.step.step_time;
    known == shares.end() ? void(shares.emplace_back(what, share)) : void(known->second += share);
  }
  return in_a_line(largest_first(std::move(shares)), kLeastOfPath);
}

std::string sensitivity_text(const CaseResult& result) {
  if (result.sensitivity.empty()) return "";
  std::vector<ResourceGain> gains = result.sensitivity;
  std::ranges::stable_sort(
      gains, [](const ResourceGain& a, const ResourceGain& b) { return a.throughput_gain > b.throughput_gain; });
  std::string text = fmt::format("    {}; {:.0f} % more of\n", limit_text(gains), 100 * (gains.front().factor - 1));
  std::vector<std::string> idle;
  for (const ResourceGain& gain : gains)
    if (changes_nothing(gain))
      idle.push_back(gain.resource);
    else
      text += gain_text(gain);
  if (!idle.empty()) text += fmt::format("      nothing from {}\n", fmt::join(idle, ", "));
  return text;
}

}  // namespace trainyard
