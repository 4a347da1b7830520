// Efficiency curves of products and attention kernels fitted to measured latencies.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/kernel_time.hpp"

namespace trainyard::fit {

/// One measured product.
struct MeasuredProduct {
  GemmShape shape;
  Seconds time{};
  bool held_out = false;
};

/// One measured forward pass of causal attention.
struct MeasuredAttention {
  double batch = 0, length = 0, heads = 0, head_size = 0;
  Seconds time{};
  bool held_out = false;
};

/// One measured pass through the experts of a layer, or one of its grouped products: shapes with `batch` experts of m tokens each, and
/// the bytes of what else was measured with them.
struct MeasuredExperts {
  std::vector<GemmShape> products;
  Bytes moved{};
  Seconds time{};
  bool held_out = false;
};

/// One measured pass of attention whose rate counts full FLOPs, 2.5 times as many backward.
struct MeasuredPass {
  double length = 0, heads = 0;
  FlopsPerSecond rate{};
};

/// What a table's times hold beside the kernel: they were taken around a whole operator of an inference engine.
struct Around {
  double casts = 0;   ///< of the input to fewer bits: bytes moved, in units of reading and writing it once
  Seconds launch{};   ///< of attention: copies and launches
};

/// Predicted over measured, with the curve of `device`.
[[nodiscard]] double ratio(const MeasuredProduct& measured, const DeviceType& device, DataType type, const Around& around);
[[nodiscard]] double ratio(const MeasuredExperts& measured, const DeviceType& device, DataType type);
[[nodiscard]] double ratio(const MeasuredAttention& measured, const DeviceType& device, const Around& around);

/// Moves efficiency, k_half, quantisation and launch of the device's curve for `type`; `sustained` is taken as 1. Of types below
/// 16 bits also what the cast of the input costs, which the model counts apart.
[[nodiscard]] Around fit_products(DeviceType& device, DataType type, const std::vector<MeasuredProduct>& measured);
/// The same of the curve of grouped products, whose tables hold no casts.
void fit_experts(DeviceType& device, DataType type, const std::vector<MeasuredExperts>& measured);
/// Moves forward and forward_half_length of the cudnn curve.
[[nodiscard]] Around fit_attention(DeviceType& device, const std::vector<MeasuredAttention>& measured);
/// Moves backward and backward_half_length of the cudnn curve.
void fit_backward(DeviceType& device, const std::vector<MeasuredPass>& measured);
[[nodiscard]] double ratio(const MeasuredPass& measured, const DeviceType& device);

}  // namespace trainyard::fit
