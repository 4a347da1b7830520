#include "validation/ablation.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/cost/kernel_time.hpp"

namespace trainyard {
namespace {

constexpr double kLargeSide = 8192, kLength = 4096, kHeads = 32, kHeadSize = 128;

double reached(const DeviceType& device, DataType type) {
  const Flops work(2 * kLargeSide * kLargeSide * kLargeSide);
  return work / gemm_time(device, type, {kLargeSide, kLargeSide, kLargeSide, 1}) / device.peak.at(type);
}

FlopsPerSecond attention_rate(const DeviceType& device, AttentionKernel kernel, bool backward) {
  const AttentionCall call{Flops(4 * kLength * kLength * kHeads * kHeadSize), true, kLength, kLength * kHeads};
  return call.forward_flops * (backward ? 2.5 : 1.0) / 2 / fused_attention_time(device, kernel, call, backward);
}

void flatten(DeviceType& device) {
  DeviceType flat = device;
  flat.multiprocessors = 0;  // neither waves of tiles nor of blocks
  for (auto& [type, curve] : flat.gemm)
    if (device.peak.contains(type)) curve = {reached(device, type), 0, 0, 1, {}};
  for (auto& [kernel, curve] : flat.attention)
    curve = {attention_rate(device, kernel, false), attention_rate(device, kernel, true), 0, 0};
  device = flat;
}

void start_at_once(DeviceType& device) {
  device.kernel_launch = Seconds(0);
  for (auto& [type, curve] : device.gemm) curve.launch = Seconds(0);
}

void stop_overlap(Software& software) {
  software.overlap_pipeline = software.overlap_gradient_reduce = software.overlap_weight_gather = false;
  software.overlap_tensor = software.splits_tensor_products = false;
}

std::map<std::string, std::vector<double>> errors_by_source(const std::vector<ComparedRow>& rows) {
  std::map<std::string, std::vector<double>> errors;
  for (const ComparedRow& row : rows)
    if (const auto error = time_error(row)) {
      errors["all"].push_back(*error);
      errors[row.measured.source].push_back(*error);
    }
  return errors;
}

}  // namespace

const std::vector<AblationName>& ablations() {
  static const std::vector<AblationName> kAll{{Ablation::none, "whole"},
                                              {Ablation::flat_efficiency, "flat efficiency"},
                                              {Ablation::alone_communication, "closed-form comm."},
                                              {Ablation::no_overlap, "no overlap"},
                                              {Ablation::no_launches, "no launches"},
                                              {Ablation::interference, "with interference"}};
  return kAll;
}

void ablate(Ablation what, Variant& variant) {
  if (what == Ablation::no_overlap) stop_overlap(variant.workload.software);
  if (what == Ablation::no_launches) variant.workload.software.eager_host = false;
  for (DeviceType& device : variant.cluster.device_types) {
    if (device.gemm.empty()) continue;
    if (what == Ablation::flat_efficiency) flatten(device);
    if (what == Ablation::no_launches) start_at_once(device);
  }
}

std::string ablation_table(const std::vector<std::vector<ComparedRow>>& rows) {
  std::string text = fmt::format("{:<14} {:>6}", "step time", "rows");
  for (const AblationName& name : ablations()) text += fmt::format("  {:>17}", name.text);
  text += "\n";
  std::vector<std::map<std::string, std::vector<double>>> errors;
  for (const auto& of : rows) errors.push_back(errors_by_source(of));
  for (const auto& [source, plain] : errors.front()) {
    text += fmt::format("{:<14} {:>6}", source, plain.size());
    for (auto& of : errors) {
      const auto summary = summarise(of[source]);
      text += summary ? fmt::format("  {:>7.1f}% {:>7.1f}%", 100 * summary->median, 100 * summary->p90) : fmt::format("  {:>17}", "-");
    }
    text += "\n";
  }
  return text + "Median and 90th percentile of the absolute error; nothing is fitted again.\n";
}

}  // namespace trainyard
