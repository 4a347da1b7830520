#include "sim/cost/host_work.hpp"

namespace trainyard {
namespace {

constexpr double kUpdatesPerCore = 10e9 / 2.57 / 48;
constexpr Bytes kStateBytes(24);

}  // namespace

Bytes host_update_bytes(const Workload& workload) {
  const Bytes weight = element_size(workload.precision);
  return kStateBytes + element_size(workload.software.gradient_type) + (weight < Bytes(4) ? weight : Bytes(0));
}

Bytes host_addition_bytes(const Workload& workload) { return element_size(workload.software.gradient_type) * 3.0; }

double host_updates_per_second(const DeviceType& host) { return kUpdatesPerCore * host.multiprocessors; }

}  // namespace trainyard
