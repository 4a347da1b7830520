#include "validation/fit/collectives_fit.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>

namespace trainyard::fit {
namespace {

constexpr double kSmoothing = 0.05;      // errors well below 5 % count quadratically
constexpr double kSpans[] = {1.2, 0.6, 0.3, 0.15, 0.05, 0.6, 0.1};  // how far to both sides each search looks, natural logarithms
constexpr int kMostRounds = 20, kBits = 20;
constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1;

/// One number of a Transport that may move, with its bounds.
struct Parameter {
  double* value;
  double least, most;
};

std::vector<Parameter> parameters_of(Transport& transport, double most_rate) {
  std::vector<Parameter> all;
  for (auto* times : {&transport.ring, &transport.tree, &transport.in_network, &transport.exchange}) {
    if (!*times) continue;
    for (Seconds* time : {&(*times)->setup, &(*times)->step, &(*times)->ramp})
      all.push_back({&time->value, kLeastSeconds, kMostSeconds});
    all.push_back({&(*times)->rate, 1e-3, most_rate});
  }
  return all;
}

double loss(const Transport& transport, const std::vector<Measurement>& measurements) {
  double sum = 0;
  for (const Measurement& measurement : measurements) {
    if (measurement.held_out) continue;
    sum += std::hypot(std::log(ratio(measurement, transport)), kSmoothing);
  }
  return sum;
}

void move(const Parameter& parameter, double span, const Transport& transport, const std::vector<Measurement>& measurements) {
  const double before = std::max(*parameter.value, parameter.least), loss_before = loss(transport, measurements);
  const auto at = [&](double logarithm) {
    *parameter.value = std::exp(logarithm);
    return loss(transport, measurements);
  };
  const double low = std::max(std::log(before) - span, std::log(parameter.least));
  const double high = std::min(std::log(before) + span, std::log(parameter.most));
  const auto [best, best_loss] = boost::math::tools::brent_find_minima(at, low, high, kBits);
  *parameter.value = best_loss < loss_before ? std::exp(best) : before;
}

}  // namespace

double ratio(const Measurement& measurement, const Transport& transport) {
  return collective_cost(measurement.shape, transport, measurement.size).alone(measurement.shape.ring_rate).value /
         measurement.time.value;
}

void fit(Transport& transport, double efficiency, const std::vector<Measurement>& measurements) {
  const std::vector<Parameter> parameters = parameters_of(transport, 1 / efficiency);
  for (const double span : kSpans) {
    double before = loss(transport, measurements);
    for (int round = 0; round < kMostRounds; ++round) {
      for (const Parameter& parameter : parameters) move(parameter, span, transport, measurements);
      const double now = loss(transport, measurements);
      if (before - now < 1e-5 * before) break;
      before = now;
    }
  }
}

}  // namespace trainyard::fit
