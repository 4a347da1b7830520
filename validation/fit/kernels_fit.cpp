#include "validation/fit/kernels_fit.hpp"

#include <cmath>

#include "validation/fit/descend.hpp"

namespace trainyard::fit {
namespace {

constexpr double kSmoothing = 0.03;  // errors well below 3 % count quadratically
constexpr double kBackwardWork = 2.5;
/// Kernels of a training step queue up; what a host takes to launch one alone is no part of their time. With the kernels of a cast more.
constexpr double kMostLaunch = 7e-6, kMostCastLaunch = 30e-6;  // s

/// Sum of smoothed absolute logarithms over what may be fitted to.
template <class Measured, class Ratio>
double loss_of(const std::vector<Measured>& all, Ratio ratio_of) {
  double sum = 0;
  for (const Measured& measured : all)
    if (!measured.held_out) sum += std::hypot(std::log(ratio_of(measured)), kSmoothing);
  return sum;
}

}  // namespace

double ratio(const MeasuredProduct& measured, const DeviceType& device, DataType type, const Around& around) {
  const GemmShape& shape = measured.shape;
  const Bytes cast = (element_size(type) + element_size(DataType::bf16)) * (shape.m * shape.k * shape.batch * around.casts);
  return (gemm_time(device, type, shape) + cast / (device.memory_bandwidth * device.memory_efficiency)) / measured.time;
}

double ratio(const MeasuredExperts& measured, const DeviceType& device, DataType type) {
  Seconds time = memory_bound_time(device, measured.moved);
  for (const GemmShape& shape : measured.products) time += grouped_gemm_time(device, type, shape);
  return time / measured.time;
}

double ratio(const MeasuredAttention& measured, const DeviceType& device, const Around& around) {
  const double rows = measured.length * measured.batch * measured.heads;
  const AttentionCall call{Flops(4 * rows * measured.length * measured.head_size), true, measured.length, rows, measured.head_size};
  return (fused_attention_time(device, AttentionKernel::cudnn, call, false) + around.launch) / measured.time;
}

double ratio(const MeasuredPass& measured, const DeviceType& device) {
  const Flops whole(1e15);
  const AttentionCall call{whole, true, measured.length, measured.length * measured.heads};
  return fused_attention_time(device, AttentionKernel::cudnn, call, true) / (whole * kBackwardWork / measured.rate);
}

Around fit_products(DeviceType& device, DataType type, const std::vector<MeasuredProduct>& measured) {
  Around around;
  GemmCurve& curve = device.gemm[type];
  curve = {0.7, 100, 0.2, 1, Seconds(3e-6)};  // where the search starts
  std::vector<Parameter> parameters{{&curve.efficiency, 0.2, 1},
                                    {&curve.k_half, 0, 2000},
                                    {&curve.quantisation, 0, 1.5},
                                    {&curve.launch.value, 0, element_size(type) < element_size(DataType::bf16) ? kMostCastLaunch : kMostLaunch}};
  if (element_size(type) < element_size(DataType::bf16)) parameters.push_back({&around.casts, 0, 4});
  descend(parameters,
          [&] { return loss_of(measured, [&](const MeasuredProduct& m) { return ratio(m, device, type, around); }); });
  return around;
}

void fit_experts(DeviceType& device, DataType type, const std::vector<MeasuredExperts>& measured) {
  GemmCurve& curve = device.grouped_gemm[type];
  curve = device.gemm[type];
  curve.sustained = 1;
  const std::vector<Parameter> parameters{{&curve.efficiency, 0.1, 1},
                                          {&curve.k_half, 0, 2000},
                                          {&curve.quantisation, 0, 1.5},
                                          {&curve.launch.value, 0, 60e-6}};
  descend(parameters,
          [&] { return loss_of(measured, [&](const MeasuredExperts& m) { return ratio(m, device, type); }); });
}

Around fit_attention(DeviceType& device, const std::vector<MeasuredAttention>& measured) {
  Around around;
  AttentionCurve& curve = device.attention[AttentionKernel::cudnn];
  const double peak = device.peak.at(DataType::bf16).value;
  curve.forward = FlopsPerSecond(peak / 2);
  curve.forward_half_length = 1000;
  const std::vector<Parameter> parameters{
      {&curve.forward.value, 0.05 * peak, peak}, {&curve.forward_half_length, 0, 4000}, {&around.launch.value, 0, 60e-6}};
  descend(parameters,
          [&] { return loss_of(measured, [&](const MeasuredAttention& m) { return ratio(m, device, around); }); });
  return around;
}

void fit_backward(DeviceType& device, const std::vector<MeasuredPass>& measured) {
  AttentionCurve& curve = device.attention[AttentionKernel::cudnn];
  const double peak = device.peak.at(DataType::bf16).value;
  curve.backward = FlopsPerSecond(peak / 2);
  curve.backward_half_length = 500;
  const auto loss = [&] {
    double sum = 0;
    for (const MeasuredPass& m : measured) sum += std::hypot(std::log(ratio(m, device)), kSmoothing);
    return sum;
  };
  descend({{&curve.backward.value, 0.05 * peak, peak}, {&curve.backward_half_length, 0, 4000}}, loss);
}

}  // namespace trainyard::fit
