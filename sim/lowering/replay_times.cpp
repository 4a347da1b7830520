#include "sim/lowering/replay_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/kernel_time.hpp"
#include "sim/model/device_rates.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

FlopsPerSecond peak_of(const DeviceType& type, DataType precision) {
  const auto peak = peak_rate(type, precision);
  if (!peak)
    throw UserError(fmt::format("{} does not compute in {}: say in `precision` what the products of the trace are in",
                                type.name, name(precision)));
  return *peak;
}

/// Where only the number of operations is known: a product of equal sides.
GemmShape cube(double flops) {
  const double side = std::cbrt(flops / 2);
  return {side, side, side, 1};
}

}  // namespace

Seconds ReplayClock::scaled(const TraceNode& node, const DeviceType& type) const {
  const DeviceType& from = replay_.recorded_type;
  if (!node.product) return node.time * (from.memory_bandwidth / type.memory_bandwidth);
  return node.time * (peak_of(from, replay_.precision) / peak_of(type, replay_.precision));
}

std::optional<Seconds> ReplayClock::modelled(const TraceNode& node, const RankTrace& file,
                                             const DeviceType& type) const {
  const bool shaped = node.shape >= 0;
  if (!shaped && node.flops <= 0 && node.bytes <= 0) return std::nullopt;
  Seconds time{};
  if (shaped || node.flops > 0) {
    (void)peak_of(type, replay_.precision);
    time = gemm_time(type, replay_.precision, shaped ? file.shapes[std::size_t(node.shape)] : cube(node.flops));
  }
  return node.bytes > 0 ? std::max(time, memory_bound_time(type, Bytes(node.bytes))) : time;
}

Seconds ReplayClock::time_of(const TraceNode& node, const RankTrace& file, const Device& device,
                             const DeviceType& type) {
  const Seconds recorded = std::max(node.time, Seconds(0));
  if (node.work == TraceWork::host || node.work == TraceWork::lag || replay_.times == ReplayTimes::recorded) {
    unknown_ += node.time < Seconds(0) && (node.flops > 0 || node.bytes > 0 || node.shape >= 0);
    return recorded;
  }
  if (replay_.times == ReplayTimes::scaled) {
    ++(node.product ? products_ : others_);
    return node.time > Seconds(0) ? scaled(node, type) * device.slowdown : Seconds(0);
  }
  const std::optional<Seconds> time = modelled(node, file, type);
  if (time)
    ++modelled_;
  else
    kept_ += node.time > Seconds(0);
  return time.value_or(recorded) * device.slowdown;
}

std::vector<std::string> ReplayClock::remarks() const {
  std::vector<std::string> lines;
  if (unknown_ > 0)
    lines.push_back(fmt::format(
        "{} nodes that compute have no recorded time and take none (`compute: model` asks the cost model)", unknown_));
  if (products_ + others_ > 0)
    lines.push_back(
        fmt::format("computing is scaled from {}: {} products by the peaks of {}, {} other operations by memory "
                    "bandwidth; the host's work is as recorded",
                    replay_.recorded_type.name, products_, name(replay_.precision), others_));
  if (modelled_ > 0 || kept_ > 0)
    lines.push_back(fmt::format(
        "computing of {} nodes is from the cost model, of {} that say neither operations nor bytes as recorded",
        modelled_, kept_));
  return lines;
}

}  // namespace trainyard
