#include "validation/yardsticks.hpp"

#include <algorithm>

namespace trainyard {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Rows in columns.
struct Columns {
  std::vector<double> measured, predicted, ideal;
  std::vector<std::string> site, job;

  void add(const ComparedRow& row) {
    if (!time_error(row) || !row.predicted.ideal_time_s) return;
    measured.push_back(*row.measured.step_time_s);
    predicted.push_back(*row.predicted.step_time_s);
    ideal.push_back(*row.predicted.ideal_time_s);
    site.push_back(row.measured.source + "/" + row.measured.gpu);
    job.push_back(site.back() + "/" + row.measured.model);
  }
};

Yardsticks measured_by(const std::string& source, const Columns& columns) {
  std::vector<double> plain;
  for (std::size_t i = 0; i < columns.measured.size(); ++i) plain.push_back(columns.predicted[i] / columns.measured[i] - 1);
  return {source, summarise(plain), summarise(scaled_errors(columns.measured, columns.predicted, columns.site)),
          summarise(scaled_errors(columns.measured, columns.ideal, columns.site)),
          summarise(scaled_errors(columns.measured, columns.ideal, columns.job))};
}

}  // namespace

std::vector<double> scaled_errors(const std::vector<double>& measured, const std::vector<double>& estimated,
                                  const std::vector<std::string>& name) {
  std::map<std::string, std::vector<double>> ratios;
  for (std::size_t i = 0; i < measured.size(); ++i) ratios[name[i]].push_back(measured[i] / estimated[i]);
  std::map<std::string, double> factor;
  for (const auto& [key, values] : ratios) factor[key] = median(values);
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) errors.push_back(factor[name[i]] * estimated[i] / measured[i] - 1);
  return errors;
}

std::vector<Yardsticks> yardsticks(const std::vector<ComparedRow>& rows) {
  Columns all;
  std::map<std::string, Columns> by_source;
  for (const ComparedRow& row : rows) {
    all.add(row);
    by_source[row.measured.source].add(row);
  }
  std::vector<Yardsticks> found{measured_by("all", all)};
  for (const auto& [source, columns] : by_source)
    if (!columns.measured.empty()) found.push_back(measured_by(source, columns));
  return found;
}

}  // namespace trainyard
