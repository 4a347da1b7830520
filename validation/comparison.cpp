#include "validation/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "sim/job/error_bands.hpp"

namespace trainyard {
namespace {

std::optional<double> relative(const std::optional<double>& predicted, const std::optional<double>& measured) {
  if (!predicted || !measured || !(*measured > 0)) return std::nullopt;
  return *predicted / *measured - 1;
}

void count_verdict(const ComparedRow& row, MemoryVerdicts& verdicts) {
  if (!row.measured.out_of_memory || !row.predicted.out_of_memory) return;
  const bool out = *row.measured.out_of_memory, said = *row.predicted.out_of_memory;
  ++(said ? (out ? verdicts.right_out : verdicts.wrong_out) : (out ? verdicts.wrong_fit : verdicts.right_fit));
}

GroupErrors errors_of(const std::string& kind, const std::string& name, const std::vector<const ComparedRow*>& rows) {
  GroupErrors group{kind, name, rows.size(), 0, {}, {}, {}};
  std::vector<double> times, memories;
  for (const ComparedRow* row : rows) {
    group.predicted += row->predicted.status == PredictionStatus::ok ? 1 : 0;
    if (const auto error = time_error(*row)) times.push_back(*error);
    if (const auto error = memory_error(*row)) memories.push_back(*error);
    count_verdict(*row, group.verdicts);
  }
  group.time = summarise(std::move(times));
  group.memory = summarise(std::move(memories));
  return group;
}

template <class Key>
void add_groups(const std::vector<ComparedRow>& rows, const std::string& kind, Key key,
                std::vector<GroupErrors>& groups) {
  std::map<std::string, std::vector<const ComparedRow*>> by_name;
  for (const ComparedRow& row : rows) by_name[key(row)].push_back(&row);
  for (const auto& [name, members] : by_name) groups.push_back(errors_of(kind, name, members));
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::optional<double> time_error(const ComparedRow& row) {
  return relative(row.predicted.step_time_s, row.measured.step_time_s);
}

std::optional<double> memory_error(const ComparedRow& row) {
  return relative(row.predicted.peak_memory_bytes, row.measured.peak_memory_bytes);
}

std::optional<ErrorSummary> summarise(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  ErrorSummary summary;
  summary.count = errors.size();
  summary.bias = quantile(errors, 0.5);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  summary.median = quantile(errors, 0.5);
  summary.p90 = quantile(errors, 0.9);
  summary.maximum = errors.back();
  return summary;
}

std::string model_class(const ComparedRow& row) {
  const std::string name = model_class_of(row.predicted.parameters);
  return name.empty() ? "not built" : name;
}

std::string architecture(const ComparedRow& row) { return row.predicted.architecture.empty() ? "not built" : row.predicted.architecture; }

std::vector<GroupErrors> group_errors(const std::vector<ComparedRow>& rows) {
  std::vector<GroupErrors> groups;
  add_groups(
      rows, "all", [](const ComparedRow&) { return "all rows"; }, groups);
  add_groups(
      rows, "source", [](const ComparedRow& row) { return row.measured.source; }, groups);
  add_groups(
      rows, "gpu", [](const ComparedRow& row) { return row.measured.gpu; }, groups);
  add_groups(rows, "model class", model_class, groups);
  add_groups(rows, "architecture", architecture, groups);
  add_groups(
      rows, "architecture and split", [](const ComparedRow& row) { return architecture(row) + ", " + split_of(row.measured); }, groups);
  add_groups(
      rows, "split", [](const ComparedRow& row) { return split_of(row.measured); }, groups);
  return groups;
}

std::vector<std::pair<std::string, std::size_t>> counted_reasons(const std::vector<ComparedRow>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const ComparedRow& row : rows)
    if (row.predicted.status != PredictionStatus::ok)
      ++counts[(row.predicted.status == PredictionStatus::error ? "error: " : "") + row.predicted.reason];
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

}  // namespace trainyard
