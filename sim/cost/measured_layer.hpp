// Times and bytes of layers that were measured: between micro-batches on a straight line, beyond them by name.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/layer_work.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// A micro-batch of `samples`. Between two measurements on the straight line through them; beyond the ends on the line through the
/// outer two, but above the largest never less than that, and below the smallest never less than its share of the smallest (which is
/// also what one measurement alone gives on both sides).
[[nodiscard]] MeasuredPoint measured_at(const MeasuredCurve& curve, double samples);

/// What to tell the user of such a value: how its times were made, and samples outside the measured range. Empty: measured.
[[nodiscard]] std::vector<std::string> notes_on(const MeasuredCurve& curve, double samples);

/// The layer's curve for this device and cut; Plan::check has made sure that it exists.
[[nodiscard]] const MeasuredCurve& curve_of(const LayerProfile& profile, const DeviceType& device, int tensor);

/// One kernel a pass; with full recompute the forward pass again before the backward one.
[[nodiscard]] LayerWork measured_work(const LayerType& layer, const LayerCut& cut, const DeviceType& device);

/// Whether the module has layers without operators, of which nothing is known but the profile.
[[nodiscard]] bool only_measured(const Module& module);

/// Bytes of one sample that a layer reads: the outputs of its inputs (of the layer before where none are named). The first layer
/// reads samples, which are not counted.
[[nodiscard]] Bytes measured_input(const Module& module, LayerId layer);

/// The layers whose outputs a layer reads: those named, else the one before.
[[nodiscard]] std::vector<LayerId> inputs_of(const Module& module, LayerId layer);
/// Those before a cut behind layer `last` that layers behind it read, each once, in order.
[[nodiscard]] std::vector<LayerId> layers_read_behind(const Module& module, LayerId last);

/// Bytes of one sample that pass a cut behind layer `last`: every output before it that is read behind it, once.
[[nodiscard]] Bytes measured_crossing(const Module& module, LayerId last);

}  // namespace trainyard
