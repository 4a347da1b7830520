// The peak at which a device multiplies numbers of a type.
#pragma once

#include <optional>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// Nothing where the device does not compute in the type. Products in tf32 run in fp32 on devices without tf32, as cuBLAS does it.
[[nodiscard]] inline std::optional<FlopsPerSecond> peak_rate(const DeviceType& device, DataType type) {
  auto found = device.peak.find(type);
  if (found == device.peak.end() && type == DataType::tf32) found = device.peak.find(DataType::fp32);
  return found == device.peak.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace trainyard
