#include "sim/report/seed_spread.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "sim/report/figures.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr double kOneSided = 0.975;      ///< 95 % between both sides

template <class Figure>
Spread spread_of(const std::vector<CaseResult>& results, Figure figure) {
  const double n = double(results.size());
  double sum = 0, squares = 0;
  for (const CaseResult& result : results) sum += figure(result);
  const double mean = sum / n;
  for (const CaseResult& result : results) squares += (figure(result) - mean) * (figure(result) - mean);
  if (results.size() < 2) return {mean, 0};
  const double quantile = boost::math::quantile(boost::math::students_t(n - 1), kOneSided);
  return {mean, quantile * std::sqrt(squares / (n - 1) / n)};
}

}  // namespace

CaseResult over_seeds(std::vector<CaseResult> results) {
  require(!results.empty(), "a case has a result");
  const auto bad = std::ranges::find_if(results, [](const CaseResult& result) { return result.status != CaseStatus::ok || !result.job; });
  if (bad != results.end()) return std::move(*bad);
  SeedSpread all;
  all.seeds = int(results.size());
  all.goodput = spread_of(results, [](const CaseResult& result) { return result.job->goodput(); });
  all.tokens = spread_of(results, [](const CaseResult& result) { return result.job->tokens; });
  all.usd = spread_of(results, [](const CaseResult& result) { return result.job->money.total().value; });
  all.usd_per_million_tokens = spread_of(results, [](const CaseResult& result) { return figures_of(result).usd_per_million_tokens.value_or(0); });
  all.useful_fraction = spread_of(results, [](const CaseResult& result) { return result.job->times.useful / result.job->length; });
  all.preemptions = spread_of(results, [](const CaseResult& result) { return double(result.job->preemptions); });
  results.front().seeds = all;
  return std::move(results.front());
}

}  // namespace trainyard
