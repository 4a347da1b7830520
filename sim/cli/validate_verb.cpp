#include "sim/cli/validate_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/page/page.hpp"
#include "sim/units/error.hpp"
#include "sim/report/output_file.hpp"
#include "validation/ablation.hpp"
#include "validation/bands.hpp"
#include "validation/budget.hpp"
#include "validation/claim.hpp"
#include "validation/comparison.hpp"
#include "validation/comparison_text.hpp"
#include "validation/data_set.hpp"

namespace trainyard {
namespace {

int convert(const Arguments& arguments) {
  const DataSet data = read_data_set(arguments.convert);
  std::string text;
  for (const std::string& file : write_data_set(data, arguments.into)) text += file + "\n";
  for (const std::string& file : data.unknown)
    text += fmt::format("not a table of measurements that a source knows: {}\n", file);
  deliver(arguments, text);
  return exit_status::kDone;
}

bool wanted(const Arguments& arguments, const Measurement& measurement) {
  return (arguments.source.empty() || measurement.source == arguments.source) &&
         measurement.gpu.find(arguments.gpu) != std::string::npos;
}

std::vector<Measurement> wanted_measurements(const Arguments& arguments) {
  const std::string folder = arguments.data.empty() ? default_measurements() : arguments.data;
  std::vector<Measurement> all = read_data_set(folder).measurements;
  if (all.empty()) throw UserError(fmt::format("no measurements in {:?}", folder));
  std::erase_if(all, [&](const Measurement& m) { return !wanted(arguments, m); });
  if (all.empty()) throw UserError("no measurement of that source and GPU");
  return all;
}

std::string text_of(const Arguments& arguments, const std::vector<ComparedRow>& rows) {
  switch (arguments.format) {
    case Format::table:
      return comparison_table(rows, static_cast<std::size_t>(arguments.worst));
    case Format::json:
      return comparison_json(rows, version());
    case Format::csv:
      return comparison_csv(rows);
  }
  return "";
}

int validate_claims(const Arguments& arguments, const WorkerNursery& nursery) {
  const std::vector<Claim> claims = read_claims(arguments.data.empty() ? default_claims() : arguments.data);
  Progress progress(!arguments.quiet);
  const std::vector<ClaimOutcome> outcomes =
      simulate_claims(claims, arguments.jobs, nursery, [&](std::size_t done, std::size_t all) { progress.show(done, all); });
  progress.end();
  switch (arguments.format) {
    case Format::table:
      deliver(arguments, claims_table(claims, outcomes));
      break;
    case Format::json:
      deliver(arguments, claims_json(claims, outcomes));
      break;
    case Format::csv:
      deliver(arguments, claims_csv(claims, outcomes));
      break;
  }
  return exit_status::kDone;
}

std::vector<ComparedRow> compared(const Arguments& arguments, const std::vector<Measurement>& measurements, const WorkerNursery& nursery,
                                  Ablation without) {
  Progress progress(!arguments.quiet);
  std::vector<Prediction> predictions = predict(
      measurements, arguments.jobs, nursery, [&](std::size_t done, std::size_t all) { progress.show(done, all); }, without);
  progress.end();
  std::vector<ComparedRow> rows;
  for (std::size_t i = 0; i < measurements.size(); ++i) rows.push_back({measurements[i], std::move(predictions[i])});
  return rows;
}

/// With step times; of large sources every n-th row, which is enough for a comparison of predictions with each other.
std::vector<Measurement> thinned(const std::vector<Measurement>& all) {
  constexpr std::size_t kMostOfASource = 120;
  std::map<std::string, std::size_t> count, seen;
  for (const Measurement& m : all) count[m.source] += m.step_time_s ? 1 : 0;
  std::vector<Measurement> kept;
  for (const Measurement& m : all)
    if (m.step_time_s && seen[m.source]++ % ((count[m.source] + kMostOfASource - 1) / kMostOfASource) == 0) kept.push_back(m);
  return kept;
}

int validate_ablation(const Arguments& arguments, std::vector<Measurement> measurements, const WorkerNursery& nursery) {
  measurements = thinned(measurements);
  std::vector<std::vector<ComparedRow>> all;
  for (const AblationName& name : ablations()) all.push_back(compared(arguments, measurements, nursery, name.what));
  deliver(arguments, ablation_table(all));
  return exit_status::kDone;
}

}  // namespace

int validate(const Arguments& arguments, const WorkerNursery& nursery) {
  if (arguments.claims) return validate_claims(arguments, nursery);
  if (!arguments.convert.empty()) return convert(arguments);
  const std::vector<Measurement> measurements = wanted_measurements(arguments);
  if (arguments.ablation) return validate_ablation(arguments, measurements, nursery);
  const std::vector<ComparedRow> rows = compared(arguments, measurements, nursery, Ablation::none);
  const std::vector<std::string> past =
      arguments.budget.empty() ? std::vector<std::string>{} : past_budget(arguments.budget, rows);
  if (!arguments.write_bands.empty()) write_file(arguments.write_bands, error_bands_text(rows, catalogue_hash()));
  deliver(arguments, text_of(arguments, rows));
  if (!arguments.report.empty()) write_file(arguments.report, validation_page(comparison_json(rows, version()), {version(), catalogue_hash()}));
  for (const std::string& line : past) fmt::print(stderr, "past the budget: {}\n", line);
  return past.empty() ? exit_status::kDone : exit_status::kCheckFailed;
}

}  // namespace trainyard
