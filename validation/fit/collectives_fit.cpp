#include "validation/fit/collectives_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace trainyard::fit {
namespace {

constexpr double kSmoothing = 0.05;      // errors well below 5 % count quadratically
constexpr int kStarts = 4, kTrials = 10000, kTrialsASpan = 800;
constexpr double kFirstSpan = 0.5, kLeastSpan = 0.02, kShrink = 0.75;  // of a trial's steps, natural logarithms
constexpr double kMostStep = 3;          // times where it starts: more members than were measured must not take absurdly long
constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1;

/// One number of a Transport that may move, with its bounds.
struct Parameter {
  double* value;
  double least, most;
};

void add_parameters(std::vector<Parameter>& all, MessageTimes& times, double most_rate) {
  for (Seconds* time : {&times.setup, &times.ramp}) all.push_back({&time->value, kLeastSeconds, kMostSeconds});
  all.push_back({&times.step.value, kLeastSeconds, kMostStep * times.step.value});
  all.push_back({&times.rate, 1e-3, most_rate});
}

std::vector<Parameter> parameters_of(Transport& transport, double most_rate, bool ring_as_tree) {
  std::vector<Parameter> all;
  for (auto* times : {&transport.ring, &transport.tree, &transport.in_network, &transport.exchange}) {
    if (!*times || (ring_as_tree && times == &transport.ring)) continue;
    for (Protocol& protocol : (*times)->protocols) add_parameters(all, protocol.times, most_rate);
    if ((*times)->own > 0) all.push_back({&(*times)->own, 1e-3, 1});
  }
  return all;
}

/// All but the rates.
void tie_ring_to_tree(Transport& transport) {
  for (std::size_t i = 0; i < transport.tree->protocols.size(); ++i) {
    MessageTimes& times = transport.ring->protocols[i].times;
    const double rate = times.rate;
    times = transport.tree->protocols[i].times;
    times.rate = rate;
  }
}

/// Over two nodes trees win.
bool has_rings(const std::vector<Measurement>& measurements) {
  return std::ranges::any_of(measurements, [](const Measurement& m) { return !m.held_out && m.shape.hops > 2; });
}

double loss(const Transport& transport, const std::vector<Measurement>& measurements) {
  double sum = 0;
  for (const Measurement& measurement : measurements) {
    if (measurement.held_out) continue;
    sum += std::hypot(std::log(ratio(measurement, transport)), kSmoothing);
  }
  return sum;
}

/// Repeatable on every machine, unlike the distributions of the standard library.
class Dice {
 public:
  double share() { return double(engine_()) / double(std::mt19937::max()); }
  std::size_t below(std::size_t count) { return std::min(count - 1, static_cast<std::size_t>(share() * double(count))); }
  /// About normal, of variance 1.
  double step() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += share();
    return sum - 6;
  }

 private:
  std::mt19937 engine_;
};

/// One or three parameters a little further; kept if that is better.
void search(const std::vector<Parameter>& parameters, const std::function<double()>& loss_now, Dice& dice) {
  double span = kFirstSpan, best = loss_now();
  for (int trial = 1; trial <= kTrials; ++trial) {
    std::vector<std::pair<double*, double>> before;
    for (int i = dice.share() < 0.5 ? 1 : 3; i > 0; --i) {
      const Parameter& parameter = parameters[dice.below(parameters.size())];
      before.emplace_back(parameter.value, *parameter.value);
      *parameter.value = std::clamp(*parameter.value * std::exp(span * dice.step()), parameter.least, parameter.most);
    }
    if (const double now = loss_now(); now < best)
      best = now;
    else
      for (auto change = before.rbegin(); change != before.rend(); ++change) *change->first = change->second;
    if (trial % kTrialsASpan == 0) span = std::max(kLeastSpan, kShrink * span);
  }
}

}  // namespace

double ratio(const Measurement& measurement, const Transport& transport) {
  return collective_cost(measurement.shape, transport, measurement.size).alone(measurement.shape.ring_rate).value /
         measurement.time.value;
}

void fit(Transport& transport, double efficiency, const std::vector<Measurement>& measurements, bool ring_as_tree) {
  Dice dice;
  const Transport start = transport;
  double least = INFINITY;
  for (int i = 0; i < kStarts; ++i) {
    Transport trial = start;
    std::vector<Parameter> parameters = parameters_of(trial, 1 / efficiency, ring_as_tree);
    if (ring_as_tree && has_rings(measurements)) parameters.push_back({&trial.ring->protocols.back().times.rate, 1e-3, 1 / efficiency});
    for (const Parameter& parameter : parameters)
      *parameter.value = std::clamp(*parameter.value * std::exp(i > 0 ? kFirstSpan * dice.step() : 0), parameter.least, parameter.most);
    const auto loss_now = [&] {
      if (ring_as_tree) tie_ring_to_tree(trial);
      return loss(trial, measurements);
    };
    search(parameters, loss_now, dice);
    if (const double found = loss_now(); found < least) {
      least = found;
      transport = trial;
    }
  }
}

}  // namespace trainyard::fit
