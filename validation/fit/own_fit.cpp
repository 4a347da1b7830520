#include "validation/fit/own_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/units/error.hpp"
#include "validation/comparison.hpp"
#include "validation/fit/descend.hpp"

namespace trainyard::fit {
namespace {

constexpr std::size_t kGroups = 5, kFewestShapes = 8, kFewestSizes = 5;
constexpr double kSmoothing = 0.03, kMostFactor = 10;

/// Of ratios, as a share of 1.
double median_error(const std::vector<double>& ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1));
  return median(errors);
}

double jackknife_error(const std::vector<double>& values) {
  const double groups = double(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / groups;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt((groups - 1) / groups * squares);
}

/// Items of `all` without every fifth from `left_out` on; all of them for kGroups.
template <class Item>
std::vector<Item> without(const std::vector<Item>& all, std::size_t left_out) {
  std::vector<Item> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % kGroups != left_out) kept.push_back(all[i]);
  return kept;
}

Transport scaled(Transport transport, double times, double rate) {
  const auto scale = [&](MessageTimes& t) {
    for (Seconds* time : {&t.setup, &t.step, &t.inner, &t.ramp}) *time = *time * times;
    t.rate *= rate;
  };
  for (Seconds* time : {&transport.setup, &transport.step, &transport.ramp}) *time = *time * times;
  for (auto* algorithm : {&transport.ring, &transport.tree, &transport.in_network, &transport.exchange})
    if (*algorithm)
      for (Protocol& protocol : (*algorithm)->protocols) scale(protocol.times);
  return transport;
}

double ratio(const NcclLog::Line& line, const CollectiveShape& shape, const Transport& transport) {
  return collective_cost(shape, transport, line.size).alone(shape.ring_rate) / line.time;
}

struct Factors { double times = 1, rate = 1; };

Factors fit_factors(const CollectiveShape& shape, const Transport& transport, const std::vector<NcclLog::Line>& lines) {
  Factors factors;
  descend({{&factors.times, 1 / kMostFactor, kMostFactor}, {&factors.rate, 1 / kMostFactor, kMostFactor}}, [&] {
    const Transport trial = scaled(transport, factors.times, factors.rate);
    double sum = 0;
    for (const NcclLog::Line& line : lines) sum += std::hypot(std::log(ratio(line, shape, trial)), kSmoothing);
    return sum;
  });
  return factors;
}

double median_error(const std::vector<NcclLog::Line>& lines, const CollectiveShape& shape, const Transport& transport) {
  std::vector<double> ratios;
  for (const NcclLog::Line& line : lines) ratios.push_back(ratio(line, shape, transport));
  return median_error(ratios);
}

double median_error(const KernelTable& table, const DeviceType& device, const Around& around) {
  std::vector<double> ratios;
  for (const MeasuredProduct& product : table.products) ratios.push_back(ratio(product, device, table.type, around));
  return median_error(ratios);
}

}  // namespace

FittedProducts fit_own_products(const DeviceType& device, const KernelTable& table) {
  if (!device.peak.contains(table.type)) throw UserError(fmt::format("{} has no {}", device.name, name(table.type)));
  if (table.products.size() < kFewestShapes)
    throw UserError(fmt::format("{} products of {} are too few for a curve: at least {}", table.products.size(), name(table.type), kFewestShapes));
  FittedProducts fitted{table.type, {}, {}, 0, 0, table.products.size()};
  DeviceType isolated = device, trial = device;
  isolated.gemm[table.type].sustained = 1;
  fitted.before = median_error(table, isolated, {});
  const Around around = fit_products(trial, table.type, table.products);
  fitted.curve = trial.gemm[table.type];
  fitted.after = median_error(table, trial, around);
  std::vector<double> efficiency, k_half, quantisation, launch;
  for (std::size_t group = 0; group < kGroups; ++group) {
    DeviceType left = device;
    (void)fit_products(left, table.type, without(table.products, group));
    const GemmCurve& curve = left.gemm[table.type];
    efficiency.push_back(curve.efficiency);
    k_half.push_back(curve.k_half);
    quantisation.push_back(curve.quantisation);
    launch.push_back(curve.launch.value);
  }
  fitted.curve.sustained = device.gemm.at(table.type).sustained;
  fitted.error = {jackknife_error(efficiency), jackknife_error(k_half), jackknife_error(quantisation), 0, Seconds(jackknife_error(launch))};
  return fitted;
}

FittedLinks fit_own_links(const CollectiveShape& shape, const Transport& transport, const NcclLog& log) {
  if (log.lines.size() < kFewestSizes)
    throw UserError(fmt::format("{} sizes are too few to fit links to: at least {}", log.lines.size(), kFewestSizes));
  FittedLinks fitted{transport.name, {}, {}, median_error(log.lines, shape, transport), 0, log.lines.size()};
  const Factors all = fit_factors(shape, transport, log.lines);
  std::vector<double> times, rates;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const Factors left = fit_factors(shape, transport, without(log.lines, group));
    times.push_back(left.times);
    rates.push_back(left.rate);
  }
  fitted.times = {all.times, jackknife_error(times)};
  fitted.rate = {all.rate, jackknife_error(rates)};
  fitted.after = median_error(log.lines, shape, scaled(transport, all.times, all.rate));
  return fitted;
}

FittedSite fit_site(const std::vector<Seconds>& measured, const std::vector<Seconds>& predicted, const std::vector<Seconds>& slower) {
  std::vector<double> factors, before, after;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double slope = (slower[i] - predicted[i]).value / (kSlower - 1);
    if (!(slope > 0)) throw UserError("a step whose time does not depend on kernels: a factor of them cannot be found");
    factors.push_back(1 + (measured[i] - predicted[i]).value / slope);
    before.push_back(predicted[i] / measured[i]);
  }
  const double factor = median(factors);
  if (!(factor > 0)) throw UserError("the measured steps are faster than their communication alone: no factor of kernels explains them");
  double squares = 0;
  for (const double f : factors) squares += (f - factor) * (f - factor);
  const double n = double(factors.size());
  for (std::size_t i = 0; i < measured.size(); ++i)
    after.push_back((predicted[i] + (slower[i] - predicted[i]) * ((factor - 1) / (kSlower - 1))) / measured[i]);
  return {{factor, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0}, median_error(before), median_error(after), factors.size()};
}

}  // namespace trainyard::fit
