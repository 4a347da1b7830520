#include "sim/job/availability_forecast.hpp"

#include <algorithm>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr double kMostChange = 3, kLargestPhi = 0.99;

/// d(t+1) = drift + phi d(t).
struct Differences {
  double drift = 0, phi = 0;
};

Differences fit(const std::vector<double>& d) {
  if (d.size() < 2) return {};
  const double n = double(d.size() - 1);
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i + 1 < d.size(); ++i) {
    x += d[i];
    y += d[i + 1];
    xx += d[i] * d[i];
    xy += d[i] * d[i + 1];
  }
  const double spread = xx - x * x / n;
  const double phi = spread > 1e-12 ? std::clamp((xy - x * y / n) / spread, -kLargestPhi, kLargestPhi) : 0;
  return {(y - phi * x) / n, phi};
}

}  // namespace

std::vector<double> forecast_counts(const std::vector<double>& past, int ahead, double most) {
  require(!past.empty(), "a forecast needs a past");
  std::vector<double> d, next;
  for (std::size_t i = 1; i < past.size(); ++i) d.push_back(past[i] - past[i - 1]);
  const Differences found = fit(d);
  double change = d.empty() ? 0 : d.back(), count = past.back();
  for (int i = 0; i < ahead; ++i) {
    change = found.drift + found.phi * change;
    count += change;
    const double first = next.empty() ? count : next.front();
    next.push_back(std::clamp(std::clamp(count, first - kMostChange, first + kMostChange), 0.0, most));
  }
  return next;
}

}  // namespace trainyard
