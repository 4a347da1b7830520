#include "sim/cost/sample_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard {
namespace {

/// Runs of at most `most` tokens, filled in order, none of them empty as long as samples are left for all.
std::vector<std::vector<int>> fill(const std::vector<int>& samples, int count, double most, const Data& data) {
  std::vector<std::vector<int>> runs(1);
  double held = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double rows = data.batch[std::size_t(samples[i])].rows;
    const bool last_for_each = samples.size() - i <= std::size_t(count) - runs.size();
    if (!runs.back().empty() && (held + rows > most || last_for_each)) {
      runs.emplace_back();
      held = 0;
    }
    runs.back().push_back(samples[i]);
    held += rows;
  }
  return runs;
}

std::vector<std::vector<int>> smallest_runs(const std::vector<int>& samples, int count, const Data& data) {
  double low = 0, high = 0;
  for (const int i : samples) {
    low = std::max(low, data.batch[std::size_t(i)].rows);
    high += data.batch[std::size_t(i)].rows;
  }
  while (high - low >= 1) {
    const double middle = std::floor((low + high) / 2);
    if (int(fill(samples, count, middle, data).size()) <= count)
      high = middle;
    else
      low = middle + 1;
  }
  return fill(samples, count, high, data);
}

}  // namespace

std::vector<std::vector<int>> sample_runs(const Part& part, int pipeline, const Data& data) {
  const Pipeline& line = part.pipelines[std::size_t(pipeline)];
  if (!line.samples.empty()) return smallest_runs(line.samples, line.micro_batches, data);
  double first = 0;
  for (int p = 0; p < pipeline; ++p) first += part.pipelines[std::size_t(p)].batch;
  std::vector<std::vector<int>> runs(std::size_t(line.micro_batches));
  const auto each = int(std::lround(line.batch / line.micro_batches));
  int next = int(std::lround(first));
  for (std::vector<int>& run : runs)
    for (int i = 0; i < each; ++i) run.push_back(next++);
  return runs;
}

std::vector<int> samples_of_rank(const std::vector<int>& micro_batch, const std::vector<int>& shares, int rank,
                                 int ranks) {
  const int count = int(micro_batch.size());
  const int from = shares.empty() ? count * rank / ranks : std::accumulate(shares.begin(), shares.begin() + rank, 0);
  const int to = shares.empty() ? count * (rank + 1) / ranks : from + shares[std::size_t(rank)];
  return {micro_batch.begin() + from, micro_batch.begin() + to};
}

}  // namespace trainyard
