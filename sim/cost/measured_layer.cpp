#include "sim/cost/measured_layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// a + (b - a) · share, of every amount.
MeasuredPoint mixed(const MeasuredPoint& a, const MeasuredPoint& b, double share) {
  return {a.samples + (b.samples - a.samples) * share, a.forward + (b.forward - a.forward) * share,
          a.backward + (b.backward - a.backward) * share, a.saved + (b.saved - a.saved) * share};
}

MeasuredPoint scaled(const MeasuredPoint& a, double factor) {
  return {a.samples * factor, a.forward * factor, a.backward * factor, a.saved * factor};
}

MeasuredPoint at_least(const MeasuredPoint& a, const MeasuredPoint& floor) {
  return {a.samples, std::max(a.forward, floor.forward), std::max(a.backward, floor.backward), std::max(a.saved, floor.saved)};
}

/// The pair of points whose line holds at `samples`: the neighbours, or the outer two.
std::pair<MeasuredPoint, MeasuredPoint> line_at(const std::vector<MeasuredPoint>& points, double samples) {
  const auto above = std::ranges::lower_bound(points, samples, {}, &MeasuredPoint::samples);
  const auto second = std::clamp(above, points.begin() + 1, points.end() - 1);
  return {*(second - 1), *second};
}

Kernel kernel_of(Seconds time) { return {OperatorClass::measured, {}, {}, {}, time}; }

/// Of one sample, whole; nothing where it is not known.
Flops forward_flops(const LayerType& layer, double tokens) {
  if (layer.only_measured()) return layer.profile->forward_flops.value_or(Flops(0));
  Flops sum{};
  for (const Operator& op : layer.operators) sum += op.forward_flops.of(tokens);
  return sum;
}

Bytes output_of(const Module& module, LayerId layer) {
  const auto& profile = module.types[index(module.layers[index(layer)].type)].profile;
  return profile ? profile->output : Bytes(0);
}

}  // namespace

MeasuredPoint measured_at(const MeasuredCurve& curve, double samples) {
  const std::vector<MeasuredPoint>& points = curve.points;
  require(!points.empty(), "a measured curve has a point");
  if (points.size() == 1) return scaled(points[0], samples / points[0].samples);
  const auto [a, b] = line_at(points, samples);
  const MeasuredPoint on_line = mixed(a, b, (samples - a.samples) / (b.samples - a.samples));
  if (samples < points.front().samples) return at_least(on_line, scaled(points.front(), samples / points.front().samples));
  return samples > points.back().samples ? at_least(on_line, points.back()) : on_line;
}

std::vector<std::string> notes_on(const MeasuredCurve& curve, double samples) {
  std::vector<std::string> notes;
  const std::string where = fmt::format("{}, tensor {}", curve.device, curve.tensor);
  if (!curve.rule.empty()) notes.push_back(where + ": " + curve.rule);
  const double low = curve.points.front().samples, high = curve.points.back().samples;
  const std::string range = low == high ? fmt::format("{} only", low) : fmt::format("{} to {}", low, high);
  if (samples < low || samples > high) notes.push_back(fmt::format("{}: micro-batches of {}, measured are {}", where, samples, range));
  return notes;
}

const MeasuredCurve& curve_of(const LayerProfile& profile, const DeviceType& device, int tensor) {
  const MeasuredCurve* curve = profile.find(device.name, tensor);
  require(curve != nullptr, fmt::format("no measurement on {} at tensor {}", device.name, tensor));
  return *curve;
}

LayerWork measured_work(const LayerType& layer, const LayerCut& cut, const DeviceType& device) {
  const MeasuredCurve& curve = curve_of(*layer.profile, device, cut.tensor);
  const MeasuredPoint time = measured_at(curve, cut.sequences);
  LayerWork work;
  work.forward.push_back({TaskKind::forward, layer.name, kernel_of(time.forward), std::nullopt});
  if (cut.recompute != RecomputeKind::none && can_recompute(layer)) {
    work.recompute.push_back({TaskKind::recompute, layer.name, kernel_of(time.forward), std::nullopt});
    work.recomputed = forward_flops(layer, cut.tokens) * (cut.sequences / cut.tensor);
  }
  work.backward.push_back({TaskKind::backward, layer.name, kernel_of(time.backward), std::nullopt});
  work.notes = notes_on(curve, cut.sequences);
  return work;
}

bool only_measured(const Module& module) {
  return std::ranges::any_of(module.types, [](const LayerType& type) { return type.only_measured(); });
}

Bytes measured_input(const Module& module, LayerId layer) {
  Bytes sum{};
  for (const LayerId input : inputs_of(module, layer)) sum += output_of(module, input);
  return sum;
}

std::vector<LayerId> inputs_of(const Module& module, LayerId layer) {
  const std::vector<LayerId>& named = module.layers[index(layer)].inputs;
  if (!named.empty() || index(layer) == 0) return named;
  return {id_at<LayerId>(index(layer) - 1)};
}

std::vector<LayerId> layers_read_behind(const Module& module, LayerId last) {
  std::vector<bool> crosses(index(last) + 1, false);
  for (std::size_t reader = index(last) + 1; reader < module.layers.size(); ++reader)
    for (const LayerId input : inputs_of(module, id_at<LayerId>(reader)))
      if (index(input) <= index(last)) crosses[index(input)] = true;
  std::vector<LayerId> layers;
  for (std::size_t layer = 0; layer < crosses.size(); ++layer)
    if (crosses[layer]) layers.push_back(id_at<LayerId>(layer));
  return layers;
}

Bytes measured_crossing(const Module& module, LayerId last) {
  Bytes sum{};
  for (const LayerId layer : layers_read_behind(module, last)) sum += output_of(module, layer);
  return sum;
}

}  // namespace trainyard
