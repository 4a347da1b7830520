#include "validation/comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.hpp"
#include "validation/csv.hpp"
#include "validation/parameters.hpp"
#include "validation/ranking.hpp"
#include "validation/verdicts.hpp"
#include "validation/yardsticks.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* word(PredictionStatus status) {
  return status == PredictionStatus::ok ? "ok" : status == PredictionStatus::skipped ? "skipped" : "error";
}

Json record_of(const ComparedRow& row) {
  const Measurement& m = row.measured;
  const Prediction& p = row.predicted;
  return {{"id", m.id},
          {"source", m.source},
          {"file", m.file},
          {"gpu", m.gpu},
          {"gpus", m.gpus > 0 ? Json(m.gpus) : Json(nullptr)},
          {"model", m.model},
          {"measured_step_time_s", or_null(m.step_time_s)},
          {"predicted_step_time_s", or_null(p.step_time_s)},
          {"step_time_error", or_null(time_error(row))},
          {"measured_peak_memory_bytes", or_null(m.peak_memory_bytes)},
          {"predicted_peak_memory_bytes", or_null(p.peak_memory_bytes)},
          {"memory_error", or_null(memory_error(row))},
          {"measured_oom", or_null(m.out_of_memory)},
          {"predicted_oom", or_null(p.out_of_memory)},
          {"memory_fill", or_null(p.fill)},
          {"status", word(p.status)},
          {"reason", p.reason.empty() ? Json(nullptr) : Json(p.reason)},
          {"split", split_of(m)},
          {"architecture", architecture(row)}};
}

Json summary_json(const std::optional<ErrorSummary>& summary) {
  if (!summary) return nullptr;
  return {{"count", summary->count},
          {"median", summary->median},
          {"p90", summary->p90},
          {"maximum", summary->maximum},
          {"bias", summary->bias}};
}

Json group_json(const GroupErrors& group) {
  const MemoryVerdicts& v = group.verdicts;
  Json verdicts = nullptr;
  if (v.all() > 0)
    verdicts = {{"oom_and_predicted", v.right_out},
                {"fits_but_predicted_oom", v.wrong_out},
                {"fits_and_predicted", v.right_fit},
                {"oom_but_predicted_fit", v.wrong_fit}};
  return {{"kind", group.kind},
          {"name", group.name},
          {"rows", group.rows},
          {"predicted", group.predicted},
          {"step_time_error", summary_json(group.time)},
          {"peak_memory_error", summary_json(group.memory)},
          {"oom_verdicts", verdicts}};
}

std::string share(std::size_t part, std::size_t other) {
  return part + other == 0 ? "-" : fmt::format("{} of {}", part, part + other);
}

std::string error_cells(const std::optional<ErrorSummary>& e) {
  if (!e) return fmt::format("{:>6} {:>8} {:>8} {:>9} {:>8}", "-", "-", "-", "-", "-");
  return fmt::format("{:>6} {:>7.1f}% {:>7.1f}% {:>8.1f}% {:>+7.1f}%", e->count, 100 * e->median, 100 * e->p90,
                     100 * e->maximum, 100 * e->bias);
}

std::size_t name_width(const std::vector<GroupErrors>& groups) {
  std::size_t width = 12;
  for (const GroupErrors& group : groups) width = std::max(width, width_of(group.name));
  return width;
}

/// One table a figure: step time, then memory where some is measured.
std::string error_table(const std::vector<GroupErrors>& groups, const char* title,
                        std::optional<ErrorSummary> GroupErrors::*figure) {
  const std::size_t width = name_width(groups);
  std::string text = fmt::format("{}  {:>6} {:>9}  {:>6} {:>8} {:>8} {:>9} {:>8}\n", pad_right(title, width), "rows",
                                 "predicted", "errors", "median", "p90", "maximum", "bias");
  std::string kind;
  for (const GroupErrors& group : groups) {
    if (figure == &GroupErrors::memory && !(group.*figure)) continue;
    if (group.kind != kind) text += fmt::format("by {}\n", kind = group.kind);
    text += fmt::format("{}  {:>6} {:>9}  {}\n", pad_right(group.name, width), group.rows, group.predicted,
                        error_cells(group.*figure));
  }
  return text + "\n";
}

std::string verdict_table(const std::vector<GroupErrors>& groups) {
  std::string text;
  const std::size_t width = name_width(groups);
  for (const GroupErrors& group : groups) {
    const MemoryVerdicts& v = group.verdicts;
    if (v.all() == 0 || (group.kind != "source" && group.kind != "all")) continue;
    text +=
        fmt::format("{}  {:>14} {:>14} {:>14} {:>14}\n", pad_right(group.name, width), share(v.right_out, v.wrong_out),
                    share(v.right_out, v.wrong_fit), share(v.right_fit, v.wrong_fit), share(v.right_fit, v.wrong_out));
  }
  if (text.empty()) return "";
  return fmt::format("{}  {:>14} {:>14} {:>14} {:>14}\n", pad_right("out of memory", width), "precision", "recall",
                     "fits precision", "fits recall") +
         text + "\n";
}

std::string scaled_cells(const std::optional<ErrorSummary>& e) {
  return e ? fmt::format(" {:>6.1f}% {:>6.1f}%", 100 * e->median, 100 * e->p90) : fmt::format(" {:>7} {:>7}", "-", "-");
}

std::string yardstick_table(const std::vector<ComparedRow>& rows) {
  std::string text = fmt::format("{:<14} {:>6} {:>15} {:>15} {:>15} {:>15} {:>15}\n{:<14} {:>6}", "beside fits on", "rows", "Trainyard", "one left out",
                                 "one per site", "MFU by model", "MFU by GPU", "the answers", "");
  for (int i = 0; i < 5; ++i) text += fmt::format(" {:>7} {:>7}", "median", "p90");
  text += "\n";
  for (const Yardsticks& y : yardsticks(rows)) {
    if (!y.plain) continue;
    text += fmt::format("{:<14} {:>6}", y.source, y.plain->count);
    for (const auto* e : {&y.plain, &y.left_out, &y.site, &y.mfu_by_model, &y.mfu_by_gpu}) text += scaled_cells(*e);
    text += "\n";
  }
  return text + "\n";
}

/// Sources of so few jobs show each of them.
constexpr std::size_t kFewOrders = 4;

/// By source: groups, means over them, and the worst of each.
std::string ranking_table(const std::vector<ComparedRow>& rows) {
  std::map<std::string, std::vector<RankedGroup>> by_source;
  for (const RankedGroup& group : ranked_groups(rows)) by_source[group.source].push_back(group);
  if (by_source.empty()) return "";
  std::string text = fmt::format("{:<14} {:>6} {:>6} {:>9} {:>11} {:>12} {:>13}\n", "order", "groups", "rows", "mean tau", "lowest tau",
                                 "mean regret", "worst regret");
  for (const auto& [source, groups] : by_source) {
    double tau = 0, regret = 0, lowest = 1, worst = 0;
    std::size_t count = 0;
    for (const RankedGroup& g : groups) {
      tau += g.tau / double(groups.size());
      regret += g.regret / double(groups.size());
      lowest = std::min(lowest, g.tau);
      worst = std::max(worst, g.regret);
      count += g.rows;
    }
    text += fmt::format("{:<14} {:>6} {:>6} {:>9.2f} {:>11.2f} {:>11.1f}% {:>12.1f}%\n", source, groups.size(), count, tau, lowest,
                        100 * regret, 100 * worst);
    if (groups.size() > kFewOrders) continue;
    for (const RankedGroup& g : groups) text += fmt::format("{:>21} {:>9.2f} {:>37.1f}%  {}\n", g.rows, g.tau, 100 * g.regret, g.name);
  }
  return text + "\n";
}

std::string parameters_text() {
  const FittedParameters fitted = fitted_parameters();
  return fmt::format(
      "Fitted parameters: {} of products and attention (tables and papers of kernels), {} of collectives (tables of collectives), {} on step "
      "times (training against isolated products, by generation and data type); none on the rows above by this program.\n",
      fitted.kernels, fitted.links, fitted.sustained);
}

std::string reasons_table(const std::vector<ComparedRow>& rows) {
  std::string text;
  for (const auto& [reason, count] : counted_reasons(rows)) text += fmt::format("{:>6}  {}\n", count, reason);
  return text.empty() ? "" : "not predicted\n" + text + "\n";
}

std::string worst_table(const std::vector<ComparedRow>& rows, std::size_t worst) {
  std::vector<const ComparedRow*> sorted;
  for (const ComparedRow& row : rows)
    if (time_error(row)) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [](const ComparedRow* a, const ComparedRow* b) {
    return std::abs(*time_error(*a)) > std::abs(*time_error(*b));
  });
  sorted.resize(std::min(worst, sorted.size()));
  std::string text;
  for (const ComparedRow* row : sorted)
    text +=
        fmt::format("{:>+8.1f}%  {:>10} s  {:>10} s  {}  {}  {} x {}  {}\n", 100 * *time_error(*row),
                    three_digits(*row->measured.step_time_s), three_digits(*row->predicted.step_time_s),
                    row->measured.source, row->measured.id, row->measured.gpus, row->measured.gpu, row->measured.plan);
  return text.empty() ? "" : fmt::format("{:>9}  {:>12}  {:>12}\n", "worst", "measured", "predicted") + text + "\n";
}

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string comparison_table(const std::vector<ComparedRow>& rows, std::size_t worst) {
  const std::vector<GroupErrors> groups = group_errors(rows);
  std::string text = error_table(groups, "step time", &GroupErrors::time);
  if (!groups.empty() && groups.front().memory) text += error_table(groups, "peak memory", &GroupErrors::memory);
  text += yardstick_table(rows) + ranking_table(rows) + verdict_table(groups) + uncertain_text(rows) + worst_table(rows, worst) + reasons_table(rows);
  text +=
      "Errors are predicted / measured - 1; bias is their median. `calibrate` groups may be fitted on, `test` groups "
      "not. `one left out`: times a factor for each generation of GPUs, fitted on the other sources. `one per site`: one factor for each source and GPU; `MFU`: one constant for each, both fitted on these rows. `tau`: order of\n"
      "the layouts of one job; regret: time lost by taking the layout predicted best.\n";
  return text + parameters_text();
}

std::string comparison_json(const std::vector<ComparedRow>& rows, const std::string& version) {
  Json records = Json::array(), groups = Json::array(), orders = Json::array(), reasons = Json::array();
  for (const ComparedRow& row : rows) records.push_back(record_of(row));
  for (const GroupErrors& group : group_errors(rows)) groups.push_back(group_json(group));
  for (const RankedGroup& g : ranked_groups(rows))
    orders.push_back({{"source", g.source}, {"job", g.name}, {"rows", g.rows}, {"tau", g.tau}, {"regret", g.regret}});
  for (const auto& [reason, count] : counted_reasons(rows)) reasons.push_back({{"reason", reason}, {"count", count}});
  const Json document{{"schema", "trainyard/validation/1"},
                      {"version", version},
                      {"rows", records},
                      {"groups", groups},
                      {"orders", orders},
                      {"not_predicted", reasons}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const std::vector<ComparedRow>& rows) {
  std::string text;
  for (const ComparedRow& row : rows) {
    const Json record = record_of(row);
    if (text.empty()) {
      for (const auto& [key, value] : record.items()) text += (text.empty() ? "" : ",") + key;
      text += "\n";
    }
    std::string line;
    bool first = true;
    for (const auto& [key, value] : record.items()) {
      line += (first ? "" : ",") + cell(value);
      first = false;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace trainyard
