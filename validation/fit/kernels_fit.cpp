#include "validation/fit/kernels_fit.hpp"

#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>

namespace trainyard::fit {
namespace {

constexpr double kSmoothing = 0.03;  // errors well below 3 % count quadratically
constexpr int kRounds = 12, kBits = 20;

struct Parameter {
  double* value;
  double least, most;
};

/// One parameter after the other, round by round, each to the least loss between its bounds.
void descend(const std::vector<Parameter>& parameters, const std::function<double()>& loss) {
  for (int round = 0; round < kRounds; ++round)
    for (const Parameter& parameter : parameters) {
      const double before = *parameter.value, loss_before = loss();
      const auto at = [&](double value) {
        *parameter.value = value;
        return loss();
      };
      const auto [best, least] = boost::math::tools::brent_find_minima(at, parameter.least, parameter.most, kBits);
      *parameter.value = least < loss_before ? best : before;
    }
}

/// Sum of smoothed absolute logarithms over what may be fitted to.
template <class Measured, class Ratio>
double loss_of(const std::vector<Measured>& all, Ratio ratio_of) {
  double sum = 0;
  for (const Measured& measured : all)
    if (!measured.held_out) sum += std::hypot(std::log(ratio_of(measured)), kSmoothing);
  return sum;
}

}  // namespace

double ratio(const MeasuredProduct& measured, const DeviceType& device, DataType type) {
  return gemm_time(device, type, measured.shape) / measured.time;
}

double ratio(const MeasuredExperts& measured, const DeviceType& device, DataType type) {
  Seconds time = memory_bound_time(device, measured.moved);
  for (const GemmShape& shape : measured.products) time += grouped_gemm_time(device, type, shape);
  return time / measured.time;
}

double ratio(const MeasuredAttention& measured, const DeviceType& device) {
  const double pairs = measured.length * measured.length * measured.batch * measured.heads;
  const Flops whole(4 * pairs * measured.head_size);
  return fused_attention_time(device, AttentionKernel::cudnn, whole, true, measured.length, false) / measured.time;
}

void fit_products(DeviceType& device, DataType type, const std::vector<MeasuredProduct>& measured) {
  GemmCurve& curve = device.gemm[type];
  curve.sustained = 1;
  const std::vector<Parameter> parameters{{&curve.efficiency, 0.2, 1},
                                          {&curve.k_half, 0, 2000},
                                          {&curve.quantisation, 0, 1.5},
                                          {&curve.launch.value, 0, 30e-6}};
  descend(parameters,
          [&] { return loss_of(measured, [&](const MeasuredProduct& m) { return ratio(m, device, type); }); });
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

void fit_attention(DeviceType& device, const std::vector<MeasuredAttention>& measured) {
  AttentionCurve& curve = device.attention[AttentionKernel::cudnn];
  const double peak = device.peak.at(DataType::bf16).value;
  const std::vector<Parameter> parameters{{&curve.forward.value, 0.05 * peak, peak},
                                          {&curve.forward_half_length, 0, 4000}};
  descend(parameters, [&] { return loss_of(measured, [&](const MeasuredAttention& m) { return ratio(m, device); }); });
}

}  // namespace trainyard::fit
