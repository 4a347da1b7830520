#include "sim/report/ranking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/model/device_rates.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/gap.hpp"
#include "sim/report/numbers.hpp"
#include "sim/report/wrapping.hpp"

namespace trainyard {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Of tokens, or of samples where these have none: all results of a block have the same. Over a horizon the goodput.
std::optional<double> rate_of(const Figures& figures) {
  if (figures.goodput_samples_per_s) return figures.goodput_tokens_per_s ? figures.goodput_tokens_per_s : figures.goodput_samples_per_s;
  return figures.tokens_per_s ? figures.tokens_per_s : figures.samples_per_s;
}
std::optional<double> price_of_a_million(const Figures& figures) {
  return figures.tokens_per_s ? figures.usd_per_million_tokens : figures.usd_per_million_samples;
}
std::string unit_of(const Figures& figures) { return figures.tokens_per_s ? "token" : "sample"; }

/// In time by price; then what comes too late, by how late; then what never comes.
std::pair<int, double> badness_by_deadline(const CaseResult& result, Seconds deadline) {
  if (!result.job || !result.job->time_to_target) return {2, 0};
  if (*result.job->time_to_target > deadline) return {1, result.job->time_to_target->value};
  return {0, result.job->usd_to_target ? result.job->usd_to_target->value : kUnknown};
}

/// Lower is better. Unknown prices come after known ones, before what did not run.
double badness(const CaseResult& result, Ranking ranking) {
  const Figures figures = figures_of(result);
  if (ranking == Ranking::cost) return price_of_a_million(figures).value_or(kUnknown);
  return -rate_of(figures).value_or(0);
}

/// Share of the cluster's dense peak that the devices of a Plan hold; 0 where the data type has no peak.
double peak_share(const TableBlock& block, const CaseResult& result) {
  double all = 0;
  for (const DeviceId gpu : block.cluster->gpus()) {
    if (const auto peak = peak_rate(block.cluster->type_of(gpu), block.workload->compute_type())) all += peak->value;
  }
  return all > 0 ? result.step.peak.value / all : 0;
}

/// `ratio` = first over second, as "25.0 % more" or "as much".
std::string difference(double ratio, const char* more, const char* less, const std::string& same) {
  if (std::abs(ratio - 1) < 5e-4) return same;
  return ratio > 1 ? fmt::format("{} {}", percent(ratio - 1), more) : fmt::format("{} {}", percent(1 - ratio), less);
}

struct Pair {
  const CaseResult& first;
  const CaseResult& second;
  std::string first_name, second_name;
};

std::string headline(const Pair& pair, Ranking ranking) {
  const Figures first = figures_of(pair.first), second = figures_of(pair.second);
  if (ranking == Ranking::cost && price_of_a_million(first) && price_of_a_million(second)) {
    const double ratio = *price_of_a_million(first) / *price_of_a_million(second);
    return fmt::format("a {} of {} costs {} {}", unit_of(first), pair.first_name,
                       difference(ratio, "more than one of", "less than one of", "as much as one of"),
                       pair.second_name);
  }
  const double ratio = rate_of(first).value_or(0) / rate_of(second).value_or(kUnknown);
  return fmt::format("{} is {} {}", pair.first_name, difference(ratio, "faster than", "slower than", "as fast as"),
                     pair.second_name);
}

/// Over a horizon: where its time went.
std::string job_reasons(const Pair& pair) {
  const auto share = [](const CaseResult& result) { return percent(result.job->times.useful / result.job->length); };
  return fmt::format(": {} of its time is useful steps, {} of {}'s", share(pair.first), share(pair.second), pair.second_name);
}

std::string reasons(const Pair& pair, const TableBlock& block) {
  if (pair.first.job && pair.second.job) return job_reasons(pair);
  const double first = peak_share(block, pair.first), second = peak_share(block, pair.second);
  if (first <= 0 || second <= 0) return "";
  if (std::abs(first - second) > 5e-4)
    return fmt::format(": it uses {} of the cluster's FLOP/s, {} {}", percent(first), pair.second_name,
                       percent(second));
  const auto first_mfu = figures_of(pair.first).mfu, second_mfu = figures_of(pair.second).mfu;
  if (!first_mfu || !second_mfu) return fmt::format(": both use {} of the cluster's FLOP/s", percent(first));
  return fmt::format(": both use {} of the cluster's FLOP/s, at an MFU of {} and {}", percent(first),
                     percent(*first_mfu), percent(*second_mfu));
}

/// What the ranking does not say: the price a token, or the speed.
std::string other_side(const Pair& pair, Ranking ranking) {
  const Figures first = figures_of(pair.first), second = figures_of(pair.second);
  if (!price_of_a_million(first) || !price_of_a_million(second)) return "";
  if (ranking == Ranking::cost)
    return "; it is " + difference(*rate_of(first) / *rate_of(second), "faster", "slower", "as fast");
  if (*price_of_a_million(second) <= 0) return "";
  return "; a " + unit_of(first) + " costs " +
         difference(*price_of_a_million(first) / *price_of_a_million(second), "more", "less", "as much");
}

}  // namespace

std::vector<std::size_t> ranked(const TableBlock& block) {
  std::vector<std::size_t> order(block.results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto has_number = [&](std::size_t i) { return block.results[i].status == CaseStatus::ok; };
  if (block.ranking == Ranking::file_order) return order;
  const auto rest = std::stable_partition(order.begin(), order.end(), has_number);
  std::stable_sort(order.begin(), rest, [&](std::size_t a, std::size_t b) {
    if (block.ranking == Ranking::cost_under_deadline)
      return badness_by_deadline(block.results[a], block.deadline) < badness_by_deadline(block.results[b], block.deadline);
    return badness(block.results[a], block.ranking) < badness(block.results[b], block.ranking);
  });
  return order;
}

int cheapest(const TableBlock& block) {
  int best = -1, known = 0, equal = 0;
  double lowest = kUnknown;
  for (std::size_t i = 0; i < block.results.size(); ++i) {
    const std::optional<double> price = price_of_a_million(figures_of(block.results[i]));
    if (!price) continue;
    ++known;
    equal = *price < lowest ? 1 : equal + (*price == lowest ? 1 : 0);
    if (*price < lowest) best = static_cast<int>(i);
    lowest = std::min(lowest, *price);
  }
  return known >= 2 && equal == 1 ? best : -1;
}

void mark_pareto_front(TableBlock& block) {
  struct Place {
    CaseResult* result;
    double rate, price;
  };
  std::vector<Place> known;
  for (CaseResult& result : block.results) {
    const Figures figures = figures_of(result);
    const auto rate = rate_of(figures), price = price_of_a_million(figures);
    if (result.status == CaseStatus::ok && rate && price) known.push_back({&result, *rate, *price});
  }
  if (known.size() < 2) return;
  for (const Place& own : known)
    own.result->pareto_front = std::none_of(known.begin(), known.end(), [&](const Place& other) {
      const bool no_worse = other.rate >= own.rate && other.price <= own.price;
      return no_worse && (other.rate > own.rate || other.price < own.price);
    });
}

std::string gaps_text(const TableBlock& block, const std::vector<std::size_t>& order) {
  if (block.ranking == Ranking::file_order) return "";
  const std::vector<std::string> names = shown_names(block);
  std::string text;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const CaseResult &upper = block.results[order[i]], &lower = block.results[order[i + 1]];
    if (upper.status != CaseStatus::ok || lower.status != CaseStatus::ok) break;
    const bool faster = rate_of(figures_of(upper)).value_or(0) >= rate_of(figures_of(lower)).value_or(0);
    const std::vector<std::string> reasons = faster ? gap_reasons(upper, lower) : gap_reasons(lower, upper);
    if (reasons.empty()) continue;
    text += fmt::format("  {} before {}: {}\n", names[order[faster ? i : i + 1]], names[order[faster ? i + 1 : i]], fmt::join(reasons, "; "));
  }
  return text;
}

std::string comparison(const TableBlock& block, const std::vector<std::size_t>& order) {
  if (block.ranking == Ranking::file_order || block.ranking == Ranking::cost_under_deadline || order.size() < 2) return "";
  const CaseResult& first = block.results[order[0]];
  const CaseResult& second = block.results[order[1]];
  if (first.status != CaseStatus::ok || second.status != CaseStatus::ok) return "";
  const std::vector<std::string> names = shown_names(block);
  const Pair pair{first, second, names[order[0]], names[order[1]]};
  return headline(pair, block.ranking) + reasons(pair, block) + other_side(pair, block.ranking) + ".";
}

std::vector<std::string> row_names(const TableBlock& block) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < block.results.size(); ++i) {
    const auto same = [&](const CaseResult& r) { return r.strategy == block.results[i].strategy; };
    const auto here = block.results.begin() + static_cast<std::ptrdiff_t>(i);
    const bool single = std::count_if(block.results.begin(), block.results.end(), same) == 1;
    const auto number = std::count_if(block.results.begin(), here + 1, same);
    names.push_back(single ? here->strategy : fmt::format("{} #{}", here->strategy, number));
  }
  return names;
}

std::vector<std::string> shown_names(const TableBlock& block) {
  std::vector<std::string> names = row_names(block);
  for (std::string& name : names) name = one_row(name);
  return names;
}

}  // namespace trainyard
