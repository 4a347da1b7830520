#include "validation/yardsticks.hpp"

#include <algorithm>

namespace trainyard {
namespace {

/// Rows in columns.
struct Columns {
  std::vector<double> measured, predicted, ideal;
  std::vector<std::string> site, job, source, generation;
  std::vector<double> left_out;  ///< signed errors

  void add(const ComparedRow& row) {
    if (!time_error(row) || !row.predicted.ideal_time_s) return;
    measured.push_back(*row.measured.step_time_s);
    predicted.push_back(*row.predicted.step_time_s);
    ideal.push_back(*row.predicted.ideal_time_s);
    source.push_back(row.measured.source);
    generation.push_back(row.predicted.ground.generation);
    site.push_back(row.measured.source + "/" + row.measured.gpu);
    job.push_back(site.back() + "/" + row.measured.model);
  }
};

Yardsticks measured_by(const std::string& source, const Columns& columns) {
  std::vector<double> plain;
  for (std::size_t i = 0; i < columns.measured.size(); ++i) plain.push_back(columns.predicted[i] / columns.measured[i] - 1);
  return {source, summarise(plain), summarise(columns.left_out), summarise(scaled_errors(columns.measured, columns.predicted, columns.site)),
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

std::vector<double> left_out_errors(const std::vector<double>& measured, const std::vector<double>& estimated,
                                    const std::vector<std::string>& generation, const std::vector<std::string>& source) {
  std::map<std::string, std::map<std::string, std::vector<double>>> ratios;  // generation, source
  for (std::size_t i = 0; i < measured.size(); ++i) ratios[generation[i]][source[i]].push_back(measured[i] / estimated[i]);
  const auto factor = [&](const std::string& of, const std::string& without) {
    std::vector<double> medians;
    for (const auto& [name, values] : ratios[of])
      if (name != without) medians.push_back(median(values));
    return medians.empty() ? 1.0 : median(medians);
  };
  std::map<std::pair<std::string, std::string>, double> factors;
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto [known, is_new] = factors.try_emplace({generation[i], source[i]}, 1.0);
    if (is_new) known->second = factor(generation[i], source[i]);
    errors.push_back(known->second * estimated[i] / measured[i] - 1);
  }
  return errors;
}

std::vector<Yardsticks> yardsticks(const std::vector<ComparedRow>& rows) {
  Columns all;
  std::map<std::string, Columns> by_source;
  for (const ComparedRow& row : rows) {
    all.add(row);
    by_source[row.measured.source].add(row);
  }
  all.left_out = left_out_errors(all.measured, all.predicted, all.generation, all.source);
  for (std::size_t i = 0; i < all.left_out.size(); ++i) by_source[all.source[i]].left_out.push_back(all.left_out[i]);
  std::vector<Yardsticks> found{measured_by("all", all)};
  for (const auto& [source, columns] : by_source)
    if (!columns.measured.empty()) found.push_back(measured_by(source, columns));
  return found;
}

}  // namespace trainyard
