// Measured times of a layer, for workloads that come as a profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// One micro-batch of `samples` on one device: passes with everything in them (kernels, the host, a tensor group's collectives).
struct MeasuredPoint {
  double samples = 0;
  Seconds forward{}, backward{};
  Bytes saved{};                       ///< kept from the forward for the backward pass, of the whole micro-batch
  friend bool operator==(const MeasuredPoint&, const MeasuredPoint&) = default;
};

/// One layer on one type of device at one tensor size.
struct MeasuredCurve {
  std::string device;                  ///< key of the GPU catalogue
  int tensor = 1;
  std::vector<MeasuredPoint> points;   ///< at least one, samples ascending
  std::string rule;                    ///< how the times were made where they are not the layer's own measurement; "": measured
  friend bool operator==(const MeasuredCurve&, const MeasuredCurve&) = default;
};

/// What is known of a layer by measurement.
struct LayerProfile {
  std::vector<MeasuredCurve> curves;
  std::map<int, double> parameters;    ///< count on one device, by tensor size
  Bytes output{};                      ///< of one sample, whole: what the layers behind read
  std::optional<Flops> forward_flops, backward_flops;  ///< of one sample, whole; absent: not known
  /// Null where this was not measured.
  [[nodiscard]] const MeasuredCurve* find(const std::string& device, int tensor) const;
  /// Whole; where tensor 1 was not measured, the smallest size's share times that size.
  [[nodiscard]] double whole_parameters() const;
  friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

}  // namespace trainyard
