#include "sim/cost/scan_kernels.hpp"

#include <algorithm>
#include <utility>

#include "sim/cost/kernel_time.hpp"
#include "sim/model/device_rates.hpp"

namespace trainyard {
namespace {

constexpr FlopsPerSecond kProductsOfMultiprocessor(0.61e12);
constexpr double kShareOfPeak = 132 * 0.61 / 989;
constexpr Bytes kSingle(4);

/// Time of products; none where neither multiprocessors nor a peak are known.
Seconds products_time(const DeviceType& device, Flops work) {
  if (device.multiprocessors > 0) return work / (kProductsOfMultiprocessor * double(device.multiprocessors));
  for (const DataType type : {DataType::bf16, DataType::fp16})
    if (const auto peak = peak_rate(device, type)) return work / (*peak * kShareOfPeak);
  return Seconds(0);
}

/// Amounts of a token.
class ScanWriter {
 public:
  ScanWriter(const DeviceType& device, const ScanCall& call)
      : device_(device),
        call_(call),
        channels_(call.width * call.state),
        chunk_products_(2 * call.chunk * call.state * call.groups),
        inside_(call.width * call.chunk),
        x_(call.element * call.width),
        b_(call.element * (call.state * call.groups)),
        states_(call.width * call.state / call.chunk),
        cb_(kSingle * (call.chunk * call.groups)) {}

  std::vector<Kernel> forward() {
    products_and_states();
    add(0, (kSingle + call_.element) * states_);
    add(2 * channels_ + inside_, x_ * 2.0 + b_ + cb_ + call_.element * states_);
    return std::move(kernels_);
  }

  std::vector<Kernel> backward() {
    products_and_states();
    add(0, kSingle * (2 * states_));
    add(2 * channels_, x_ + b_ + kSingle * states_);                                          // gradients of states
    add(0, (kSingle + call_.element) * (2 * states_));                                        // passed back
    add(2 * channels_ + inside_, x_ * 3.0 + b_ + cb_ + call_.element * states_);              // of x
    for (int i = 0; i < 2; ++i) add(2 * channels_, x_ + b_ * 2.0 + call_.element * states_);  // of B, of C
    add(inside_, x_ * 2.0 + cb_);                                                             // of C·Bᵗ
    for (int i = 0; i < 2; ++i) add(chunk_products_, b_ * 3.0 + cb_);                         // from there to B and C
    add(inside_, x_ * 2.0 + cb_);                                                             // of the decay
    return std::move(kernels_);
  }

 private:
  void products_and_states() {
    add(chunk_products_, b_ * 2.0 + cb_);
    add(2 * channels_, x_ + b_ + kSingle * states_);
  }

  void add(double flops, Bytes bytes) {
    const Flops work(flops * call_.rows);
    const Bytes moved = bytes * call_.rows;
    const Seconds products = products_time(device_, work) + device_.kernel_launch;
    kernels_.push_back(
        {OperatorClass::memory_bound, {}, work, moved, std::max(products, memory_bound_time(device_, moved))});
  }

  const DeviceType& device_;
  const ScanCall& call_;
  double channels_, chunk_products_, inside_;
  Bytes x_, b_;
  double states_;
  Bytes cb_;
  std::vector<Kernel> kernels_;
};

}  // namespace

std::vector<Kernel> scan_kernels(const DeviceType& device, const ScanCall& call, bool backward) {
  ScanWriter writer(device, call);
  return backward ? writer.backward() : writer.forward();
}

}  // namespace trainyard
