#include "sim/model/whole_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard {

std::vector<int> whole_shares(std::span<const double> shares, int count) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<int> whole;
  std::vector<double> remainders;
  for (const double share : shares) {
    const double exact = share / all * count;
    whole.push_back(int(std::floor(exact + 1e-9)));
    remainders.push_back(exact - whole.back());
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b] + 1e-9; });
  for (int left = count - std::accumulate(whole.begin(), whole.end(), 0), i = 0; i < left; ++i) ++whole[order[std::size_t(i)]];
  return whole;
}

bool are_unequal(std::span<const double> shares) {
  return std::ranges::any_of(shares, [&](double share) { return share != shares.front(); });
}

}  // namespace trainyard
