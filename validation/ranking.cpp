#include "validation/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr std::size_t kFewest = 4;

struct Group {
  std::string source;
  std::vector<double> measured, predicted;
};

std::string job_of(const ComparedRow& row) {
  const Measurement& m = row.measured;
  return fmt::format("{} x {} {} q{:.0f} b{:.0f}", m.gpus, m.gpu, m.model, row.predicted.sequence_length, row.predicted.global_batch);
}

double regret_of(const Group& group) {
  const auto chosen = std::min_element(group.predicted.begin(), group.predicted.end()) - group.predicted.begin();
  const double best = *std::min_element(group.measured.begin(), group.measured.end());
  return group.measured[static_cast<std::size_t>(chosen)] / best - 1;
}

int sign(double value) { return (value > 0) - (value < 0); }

}  // namespace

double kendall_tau(const std::vector<double>& a, const std::vector<double>& b) {
  double both = 0, in_a = 0, in_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int up_a = sign(a[i] - a[j]), up_b = sign(b[i] - b[j]);
      both += up_a * up_b;
      in_a += std::abs(up_a);
      in_b += std::abs(up_b);
    }
  return in_a * in_b > 0 ? both / std::sqrt(in_a * in_b) : 0;
}

std::vector<RankedGroup> ranked_groups(const std::vector<ComparedRow>& rows) {
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const ComparedRow& row : rows) {
    if (!time_error(row)) continue;
    Group& group = groups[{row.measured.source, job_of(row)}];
    group.measured.push_back(*row.measured.step_time_s);
    group.predicted.push_back(*row.predicted.step_time_s);
  }
  std::vector<RankedGroup> ranked;
  for (const auto& [key, group] : groups)
    if (group.measured.size() >= kFewest)
      ranked.push_back({key.first, key.second, group.measured.size(), kendall_tau(group.predicted, group.measured), regret_of(group)});
  return ranked;
}

}  // namespace trainyard
