#include "sim/planning/matching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

constexpr int kExactPath = 10;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A perfect matching that uses only pairs up to a weight.
class LimitedMatching {
 public:
  LimitedMatching(const std::vector<std::vector<double>>& weights, double limit) : weights_(weights), limit_(limit), of_second_(weights.size(), -1) {}

  bool find() {
    for (std::size_t a = 0; a < weights_.size(); ++a) {
      seen_.assign(weights_.size(), false);
      if (!augment(int(a))) return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<int> partners() const {
    std::vector<int> result(of_second_.size());
    for (std::size_t b = 0; b < of_second_.size(); ++b) result[of_second_[b]] = int(b);
    return result;
  }

 private:
  bool augment(int a) {
    for (std::size_t b = 0; b < of_second_.size(); ++b) {
      if (seen_[b] || weights_[a][b] > limit_) continue;
      seen_[b] = true;
      if (of_second_[b] >= 0 && !augment(of_second_[b])) continue;
      of_second_[b] = a;
      return true;
    }
    return false;
  }

  const std::vector<std::vector<double>>& weights_;
  double limit_;
  std::vector<int> of_second_;           ///< [place in the second set]: partner
  std::vector<bool> seen_;
};

OpenPath nearest_neighbour_walk(const std::vector<std::vector<double>>& distance, int start) {
  OpenPath walk{0, {start}};
  std::vector<bool> seen(distance.size(), false);
  seen[start] = true;
  while (walk.order.size() < distance.size()) {
    const std::vector<double>& from = distance[walk.order.back()];
    int next = -1;
    for (int b = 0; b < int(distance.size()); ++b)
      if (!seen[b] && (next < 0 || from[b] < from[next])) next = b;
    walk.length += from[next];
    walk.order.push_back(next);
    seen[next] = true;
  }
  return walk;
}

/// length[subset][last]: shortest path through the subset that ends at `last`.
class ExactPath {
 public:
  explicit ExactPath(const std::vector<std::vector<double>>& distance)
      : distance_(distance), points_(int(distance.size())), length_(std::size_t(1 << points_) * points_, kNever), before_(length_.size(), -1) {}

  OpenPath find() {
    for (int i = 0; i < points_; ++i) length_[at(1 << i, i)] = 0;
    for (int subset = 1; subset < 1 << points_; ++subset)
      for (int last = 0; last < points_; ++last)
        if (length_[at(subset, last)] < kNever) extend(subset, last);
    const int all = (1 << points_) - 1;
    int last = 0;
    for (int i = 1; i < points_; ++i)
      if (length_[at(all, i)] < length_[at(all, last)]) last = i;
    OpenPath path{length_[at(all, last)], {}};
    for (int subset = all; last >= 0;) {
      path.order.push_back(last);
      const int previous = before_[at(subset, last)];
      subset &= ~(1 << last);
      last = previous;
    }
    std::ranges::reverse(path.order);
    return path;
  }

 private:
  [[nodiscard]] std::size_t at(int subset, int last) const { return std::size_t(subset) * points_ + last; }

  void extend(int subset, int last) {
    for (int next = 0; next < points_; ++next) {
      if (subset >> next & 1) continue;
      const std::size_t there = at(subset | 1 << next, next);
      const double length = length_[at(subset, last)] + distance_[last][next];
      if (length >= length_[there]) continue;
      length_[there] = length;
      before_[there] = last;
    }
  }

  const std::vector<std::vector<double>>& distance_;
  int points_;
  std::vector<double> length_;
  std::vector<int> before_;
};

}  // namespace

Matching bottleneck_matching(const std::vector<std::vector<double>>& weights) {
  std::vector<double> levels;
  for (const std::vector<double>& row : weights) levels.insert(levels.end(), row.begin(), row.end());
  std::ranges::sort(levels);
  levels.erase(std::ranges::unique(levels).begin(), levels.end());
  std::size_t low = 0, high = levels.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (LimitedMatching(weights, levels[middle]).find())
      high = middle;
    else
      low = middle + 1;
  }
  LimitedMatching best(weights, levels[low]);
  (void)best.find();
  return {best.partners(), levels[low]};
}

OpenPath shortest_open_path(const std::vector<std::vector<double>>& distance) {
  if (int(distance.size()) <= kExactPath) return ExactPath(distance).find();
  OpenPath best{kNever, {}};
  for (int start = 0; start < int(distance.size()); ++start)
    if (OpenPath walk = nearest_neighbour_walk(distance, start); walk.length < best.length) best = std::move(walk);
  return best;
}

}  // namespace trainyard
