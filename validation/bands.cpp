#include "validation/bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace trainyard {
namespace {

constexpr std::size_t kFewestRows = 20, kFewestSources = 2, kWitnessesASource = 2;
constexpr double kShareBeyond = 0.02;

struct Group {
  std::vector<double> errors;
  std::set<std::string> sources;
};
using Key = std::tuple<std::string, std::string, std::string>;
Key key_of(const Ground& ground) { return {ground.generation, ground.model, ground.nodes}; }

std::map<Key, Group> groups_of(const std::vector<ComparedRow>& rows) {
  std::map<Key, Group> groups;
  for (const ComparedRow& row : rows) {
    const auto error = time_error(row);
    if (!error || row.predicted.ground == Ground{}) continue;
    for (const Ground& near : nearest_grounds(row.predicted.ground)) {
      Group& group = groups[key_of(near)];
      group.errors.push_back(*error);
      group.sources.insert(row.measured.source);
    }
  }
  return groups;
}

ErrorBand band_of(std::vector<double> errors) {
  ErrorBand band;
  band.rows = static_cast<int>(errors.size());
  std::sort(errors.begin(), errors.end());
  band.low = quantile(errors, 0.1);
  band.high = quantile(errors, 0.9);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  band.median = quantile(errors, 0.5);
  band.eight_of_ten = quantile(errors, 0.8);
  return band;
}

std::string named(const std::string& name) { return name.empty() ? "all" : name; }

/// The rows of each source with the fewest GPUs: quick to simulate again.
std::vector<const ComparedRow*> witnesses(const std::vector<ComparedRow>& rows) {
  std::map<std::string, std::vector<const ComparedRow*>> by_source;
  for (const ComparedRow& row : rows)
    if (time_error(row)) by_source[row.measured.source].push_back(&row);
  std::vector<const ComparedRow*> found;
  for (auto& [source, all] : by_source) {
    std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->measured.gpus < b->measured.gpus; });
    all.resize(std::min(all.size(), kWitnessesASource));
    found.insert(found.end(), all.begin(), all.end());
  }
  return found;
}

}  // namespace

std::vector<ErrorBands::Entry> draw_bands(const std::vector<ComparedRow>& rows) {
  std::vector<ErrorBands::Entry> bands;
  for (const auto& [key, group] : groups_of(rows)) {
    const auto& [generation, model, nodes] = key;
    const bool all = key == Key{};
    if (!all && (group.errors.size() < kFewestRows || group.sources.size() < kFewestSources)) continue;
    bands.push_back({{generation, model, nodes}, band_of(group.errors)});
  }
  return bands;
}

FillBounds draw_fill_bounds(const std::vector<ComparedRow>& rows) {
  std::vector<double> out, fit;
  for (const ComparedRow& row : rows)
    if (row.measured.out_of_memory && row.predicted.fill && split_of(row.measured) == "calibrate")
      (*row.measured.out_of_memory ? out : fit).push_back(*row.predicted.fill);
  if (out.empty() || fit.empty()) return {};
  std::sort(out.begin(), out.end());
  std::sort(fit.begin(), fit.end());
  return {std::min(1.0, quantile(out, kShareBeyond)), std::max(1.0, quantile(fit, 1 - kShareBeyond))};
}

std::string error_bands_text(const std::vector<ComparedRow>& rows, const std::string& catalogues) {
  const FillBounds fill = draw_fill_bounds(rows);
  std::string text = fmt::format(
      "# Written by `trainyard validate --write-bands FILE`; not by hand. Errors of the step time, predicted / measured - 1, by group.\n"
      "# catalogues: {}\n"
      "memory_fill: {{fits_below: {:.3f}, out_above: {:.3f}}}  # of runs that ran out and that fitted\nbands:\n",
      catalogues, fill.fits_below, fill.out_above);
  for (const auto& [ground, band] : draw_bands(rows))
    text += fmt::format("  - {{generation: {}, model: {}, nodes: {}, rows: {}, median: {:.4f}, low: {:.4f}, high: {:.4f}, eight_of_ten: {:.4f}}}\n",
                        named(ground.generation), named(ground.model), named(ground.nodes), band.rows, band.median, band.low, band.high,
                        band.eight_of_ten);
  text += "witnesses:  # predicted step times, s\n";
  for (const ComparedRow* row : witnesses(rows))
    text += fmt::format("  \"{}/{}\": {:.6g}\n", row->measured.source, row->measured.id, *row->predicted.step_time_s);
  return text;
}

}  // namespace trainyard
