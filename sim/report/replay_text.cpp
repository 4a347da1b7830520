#include "sim/report/replay_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.hpp"
#include "sim/report/ranking.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRanks = 8, kShownDifferences = 10, kShownName = 48;

std::string share(Seconds part, Seconds whole) { return whole > Seconds(0) ? percent(part / whole) : percent(0); }

/// "+3.2 %" of the recorded time.
std::string off(Seconds simulated, Seconds recorded) {
  return recorded > Seconds(0) ? fmt::format("{:+.1f} %", 100 * (simulated / recorded - 1)) : "";
}

std::string rank_line(const ReplayRank& rank, Seconds step) {
  const auto cell = [&](Seconds time) { return fmt::format("{:>10} {:>6}", to_text(time), share(time, step)); };
  return fmt::format("  {:>5}  {:<14} {:>9} {}{}{}{}\n", rank.rank, rank.device, rank.nodes, cell(rank.computing),
                     cell(rank.exposed), cell(rank.host), cell(rank.idle));
}

/// Of many ranks those with the least idle time, which set the pace.
std::vector<ReplayRank> shown_ranks(const ReplayReport& replay) {
  std::vector<ReplayRank> ranks = replay.ranks;
  if (ranks.size() <= kShownRanks) return ranks;
  std::ranges::stable_sort(ranks, {}, [](const ReplayRank& rank) { return rank.idle; });
  ranks.resize(kShownRanks);
  return ranks;
}

std::string ranks_text(const ReplayReport& replay, Seconds step) {
  std::string text = fmt::format("  {:>5}  {:<14} {:>9} {:>17}{:>17}{:>17}{:>17}\n", "rank", "device", "nodes",
                                 "computing", "exposed comm.", "host alone", "idle");
  for (const ReplayRank& rank : shown_ranks(replay)) text += rank_line(rank, step);
  if (replay.ranks.size() > kShownRanks)
    text +=
        fmt::format("  {} more ranks, which wait longer, are in --format json\n", replay.ranks.size() - kShownRanks);
  return text;
}

std::string difference_line(const ReplayDifference& one) {
  return fmt::format("    rank {:<4} node {:<8} {:>11} {:>11} {:>9}  {}\n", one.rank, one.id, to_text(one.recorded),
                     to_text(one.simulated), off(one.simulated, one.recorded), one.name.substr(0, kShownName));
}

std::string against_text(const ReplayComparison& against) {
  std::string text =
      fmt::format("  against {}: {} operations matched, {} only recorded, {} only simulated\n", against.source,
                  against.matched, against.unmatched_recorded, against.unmatched_simulated);
  const auto line = [&](const char* what, Seconds recorded, Seconds simulated) {
    text += fmt::format("    {:<26} {:>11} {:>11} {:>9}\n", what, to_text(recorded), to_text(simulated),
                        off(simulated, recorded));
  };
  text += fmt::format("    {:<26} {:>11} {:>11}\n", "", "recorded", "simulated");
  line("first begin to last end", against.recorded_step, against.simulated_step);
  line("computing, all operations", against.recorded_computing, against.simulated_computing);
  line("exchanges, with waits", against.recorded_communication, against.simulated_communication);
  line("the same, least of ranks", against.recorded_transfers, against.simulated_transfers);
  text += "  that differ most in how long they take:\n";
  for (std::size_t i = 0; i < std::min(kShownDifferences, against.worst.size()); ++i)
    text += difference_line(against.worst[i]);
  return text;
}

std::string result_text(const CaseResult& result) {
  if (!result.replay)
    return fmt::format("  {}: {}{}\n", result.strategy, result.status == CaseStatus::error ? "error: " : "",
                       result.reason);
  const ReplayReport& replay = *result.replay;
  std::string text = fmt::format("  step {}", to_text(result.step.step_time));
  if (replay.recorded_step)
    text += fmt::format(" (recorded {}, {})", to_text(*replay.recorded_step),
                        off(result.step.step_time, *replay.recorded_step));
  text += fmt::format(", {} exchanges of {}\n\n", replay.exchanges, to_text(replay.exchanged));
  text += ranks_text(replay, result.step.step_time);
  return replay.against ? text + "\n" + against_text(*replay.against) : text;
}

Json rank_record(const ReplayRank& rank) {
  return {{"rank", rank.rank},
          {"device", rank.device},
          {"nodes", rank.nodes},
          {"exchanges", rank.exchanges},
          {"work_s", rank.work.value},
          {"computing_s", rank.computing.value},
          {"communication_s", rank.communication.value},
          {"exposed_communication_s", rank.exposed.value},
          {"host_s", rank.host.value},
          {"idle_s", rank.idle.value}};
}

Json against_record(const ReplayComparison& against) {
  Json worst = Json::array();
  for (const ReplayDifference& one : against.worst)
    worst.push_back({{"rank", one.rank},
                     {"node", one.id},
                     {"name", one.name},
                     {"recorded_s", one.recorded.value},
                     {"simulated_s", one.simulated.value},
                     {"recorded_begin_s", one.recorded_begin.value},
                     {"simulated_begin_s", one.simulated_begin.value}});
  return {{"source", against.source},
          {"recorded_step_s", against.recorded_step.value},
          {"simulated_step_s", against.simulated_step.value},
          {"matched", against.matched},
          {"only_recorded", against.unmatched_recorded},
          {"only_simulated", against.unmatched_simulated},
          {"recorded_computing_s", against.recorded_computing.value},
          {"simulated_computing_s", against.simulated_computing.value},
          {"recorded_communication_s", against.recorded_communication.value},
          {"simulated_communication_s", against.simulated_communication.value},
          {"recorded_transfers_s", against.recorded_transfers.value},
          {"simulated_transfers_s", against.simulated_transfers.value},
          {"differ_most", std::move(worst)}};
}

}  // namespace

bool has_replay(const TableBlock& block) {
  return std::ranges::any_of(block.results, [](const CaseResult& result) { return result.replay.has_value(); });
}

std::string replay_rows_text(const TableBlock& block) {
  std::string text;
  for (const CaseResult& result : block.results) text += (text.empty() ? "" : "\n") + result_text(result);
  return text;
}

Json replay_record(const ReplayReport& replay) {
  Json ranks = Json::array();
  for (const ReplayRank& rank : replay.ranks) ranks.push_back(rank_record(rank));
  return {{"source", replay.source},
          {"nodes", replay.nodes},
          {"exchanges", replay.exchanges},
          {"exchanged_bytes", replay.exchanged.value},
          {"recorded_step_s", replay.recorded_step ? Json(replay.recorded_step->value) : Json(nullptr)},
          {"ranks", std::move(ranks)},
          {"against", replay.against ? against_record(*replay.against) : Json(nullptr)}};
}

}  // namespace trainyard
