#include "sim/cost/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/model/device_rates.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Work per output element of a tile relative to the largest one: small tiles reuse less of what they load.
struct Tile {
  double rows, columns, work;
};
constexpr std::array<Tile, 4> kTiles{{{128, 256, 1.0}, {128, 128, 1.08}, {64, 128, 1.35}, {64, 64, 1.9}}};

/// Share of the memory bandwidth that operands of a product reach.
constexpr double kGemmBandwidthShare = 0.85;
/// Products of fp8 and fp4 operands leave bf16.
constexpr Bytes kNarrowestResult(2);
constexpr double kTensorCoreWord = 16;
constexpr double kAttentionBackwardWork = 2.5, kAttentionBlockRows = 128;
constexpr double kAdamBytesPerParameter = 34;
constexpr Seconds kAdamHostTime(2e-3);

const GemmCurve& curve_of(const DeviceType& device, DataType type) {
  if (const auto found = device.gemm.find(type); found != device.gemm.end()) return found->second;
  require(!device.gemm.empty(), "the catalogue gives no GEMM curve for " + device.name);
  return device.gemm.begin()->second;
}

FlopsPerSecond peak_of(const DeviceType& device, DataType type) {
  const std::optional<FlopsPerSecond> peak = peak_rate(device, type);
  require(peak.has_value(), device.name + " does not compute in " + std::string(name(type)));
  return *peak;
}

}  // namespace

double tile_quantisation(const GemmShape& shape, int multiprocessors) {
  const double true_work = shape.m * shape.n * shape.batch;
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(shape.m / tile.rows) * std::ceil(shape.n / tile.columns) * shape.batch;
    const double waves = std::ceil(tiles / multiprocessors);
    const double padded = waves * multiprocessors * tile.rows * tile.columns * tile.work;
    if (best == 0 || padded < best) best = padded;
  }
  return std::max(1.0, best / true_work);
}

namespace {

/// Operands and result of a product, each once.
Bytes bytes_of(DataType type, const GemmShape& shape) {
  const Bytes operands = element_size(type) * ((shape.m * shape.k + shape.k * shape.n) * shape.batch);
  const Bytes result = std::max(element_size(type), kNarrowestResult) * (shape.m * shape.n * shape.batch);
  return operands + result;
}

/// `multiplier`: the type in whose units the product is computed.
Seconds product_time(const DeviceType& device, DataType multiplier, const GemmShape& shape, const GemmCurve& curve, Bytes moved) {
  const double work = 2 * shape.m * shape.n * shape.k * shape.batch;
  if (work == 0) return Seconds(0);
  const double padding = curve.quantisation == 0 || device.multiprocessors == 0
                             ? 1.0
                             : std::pow(tile_quantisation(shape, device.multiprocessors), curve.quantisation);
  const FlopsPerSecond rate = peak_of(device, multiplier) * (curve.efficiency * curve.sustained);
  const Seconds compute = Flops(work) * ((1 + curve.k_half / shape.k) * padding) / rate;
  const Seconds memory = moved / (device.memory_bandwidth * kGemmBandwidthShare);
  return Seconds(std::cbrt(std::pow(compute.value, 3) + std::pow(memory.value, 3))) + curve.launch;
}

}  // namespace

Seconds gemm_time(const DeviceType& device, DataType type, const GemmShape& shape) {
  return product_time(device, type, shape, curve_of(device, type), bytes_of(type, shape));
}

Seconds convolution_time(const DeviceType& device, DataType type, const GemmShape& shape, Bytes moved) {
  return product_time(device, type, shape, curve_of(device, type), moved);
}

Seconds batched_gemm_time(const DeviceType& device, DataType type, const GemmShape& shape) {
  const auto fills_words = [&](double side) { return std::fmod(side * element_size(type).value, kTensorCoreWord) == 0; };
  const bool aligned = fills_words(shape.m) && fills_words(shape.n) && fills_words(shape.k);
  const bool slower = peak_rate(device, DataType::fp32).has_value() && !aligned;
  return product_time(device, slower ? DataType::fp32 : type, shape, curve_of(device, type), bytes_of(type, shape));
}

Seconds grouped_gemm_time(const DeviceType& device, DataType type, const GemmShape& shape) {
  const auto own = device.grouped_gemm.find(type);
  return product_time(device, type, shape, own == device.grouped_gemm.end() ? curve_of(device, type) : own->second, bytes_of(type, shape));
}

bool has_attention_kernel(const DeviceType& device, AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused || kernel == AttentionKernel::fused_softmax || device.attention.contains(kernel);
}

namespace {

constexpr double kMeasuredHead = 128;

/// bf16 peak of a multiprocessor of H100, on which the head sizes below were measured.
constexpr FlopsPerSecond kMeasuredPeak(989e12 / 132);

/// Head size whose products take as long as the exponentials.
double half_head(const DeviceType& device, AttentionKernel kernel, bool backward) {
  const double peak = device.multiprocessors > 0 ? peak_of(device, DataType::bf16) / (kMeasuredPeak * double(device.multiprocessors)) : 1;
  switch (kernel) {
    case AttentionKernel::cudnn: return peak * (backward ? 31 : 104);
    case AttentionKernel::flash_2: return peak * (backward ? 15 : 21);
    default: return 0;
  }
}

/// Share of the measured rate that a smaller head leaves.
double small_head(const DeviceType& device, AttentionKernel kernel, double head_size, bool backward) {
  if (head_size <= 0 || head_size >= kMeasuredHead) return 1;
  const double half = half_head(device, kernel, backward);
  return head_size * (kMeasuredHead + half) / (kMeasuredHead * (head_size + half));
}

}  // namespace

Seconds fused_attention_time(const DeviceType& device, AttentionKernel kernel, const AttentionCall& call, bool backward) {
  if (call.forward_flops.value == 0) return Seconds(0);
  const auto found = device.attention.find(kernel);
  require(found != device.attention.end(), device.name + " has no kernel " + std::string(name(kernel)));
  const AttentionCurve& curve = found->second;
  const bool windowed = call.window > 0 && call.window < call.sequence;
  const double masked = windowed ? (call.window + kAttentionBlockRows) / call.window : 1;
  const Flops done = call.forward_flops * (masked * (call.causal ? 0.5 : 1.0) * (backward ? kAttentionBackwardWork : 1.0));
  const double unfilled = call.head_rows > 0 ? kAttentionBlockRows * device.multiprocessors / call.head_rows : 0;
  const double half_length = backward ? curve.backward_half_length : curve.forward_half_length;
  const double length = windowed ? std::min(call.sequence, 2 * (call.window + kAttentionBlockRows)) : call.sequence;
  const FlopsPerSecond rate = (backward ? curve.backward : curve.forward) / (1 + half_length / length + unfilled);
  return done / (rate * small_head(device, kernel, call.head_size, backward)) + device.kernel_launch;
}

Seconds memory_bound_time(const DeviceType& device, Bytes bytes) {
  if (bytes.value == 0) return Seconds(0);
  return bytes / (device.memory_bandwidth * device.memory_efficiency) + device.kernel_launch;
}

Seconds adam_time(const DeviceType& device, double parameters, DataType gradient_type) {
  const Bytes moved = (Bytes(kAdamBytesPerParameter) + element_size(gradient_type)) * parameters;
  return moved / (device.memory_bandwidth * device.memory_efficiency) + kAdamHostTime;
}

}  // namespace trainyard
