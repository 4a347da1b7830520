#include "sim/report/job_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.hpp"
#include "sim/report/numbers.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/wrapping.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Cells = std::vector<std::string>;

struct JobRow {
  Cells cells;                           ///< one a column, or the first three
  std::string reason;                    ///< of a case without a number
};

constexpr std::size_t kGap = 2;
/// What a narrow terminal does without first.
const std::vector<std::size_t> kExpendable{6, 7, 8, 5, 10, 9, 4, 2};
constexpr std::size_t kTextColumns = 3;  ///< number, strategy, recovery; strategy and recovery stand left

Cells titles(bool tokens) {
  const std::string unit = tokens ? "tokens" : "samples";
  return {"#", "strategy", "recovery", unit + "/s", "useful", "lost", "saving", "changing", "waiting", "preempted", unit, "USD", "USD/M " + unit};
}

/// `mean ±half` where several seeds ran.
std::string with_spread(const std::string& shown, const std::optional<SeedSpread>& seeds, Spread SeedSpread::*which) {
  if (!seeds) return shown;
  const Spread& spread = (*seeds).*which;
  return fmt::format("{} ±{}", three_digits(spread.mean), three_digits(spread.half_width));
}

Cells number_cells(const CaseResult& result) {
  const JobReport& job = *result.job;
  const Figures figures = figures_of(result);
  const bool tokens = figures.tokens_per_s.has_value();
  const auto share = [&](Seconds part) { return percent(part / job.length); };
  const auto rate = tokens ? figures.goodput_tokens_per_s : figures.goodput_samples_per_s;
  const auto price = tokens ? figures.usd_per_million_tokens : figures.usd_per_million_samples;
  return {"",
          "",
          "",
          with_spread(three_digits(rate.value_or(0)), result.seeds, &SeedSpread::goodput),
          share(job.times.useful),
          share(job.times.lost_work),
          share(job.times.checkpoint),
          share(job.times.reconfiguration),
          share(job.times.waiting + job.times.idle),
          with_spread(whole(double(job.preemptions)), result.seeds, &SeedSpread::preemptions),
          count_in_words(tokens ? job.tokens : job.samples),
          job.money.known ? with_spread(with_decimals(job.money.total().value, 2), result.seeds, &SeedSpread::usd) : "?",
          price ? with_spread(three_digits(*price), result.seeds, &SeedSpread::usd_per_million_tokens) : "?"};
}

JobRow row_of(const CaseResult& result, const std::string& name, std::size_t place) {
  const bool numbers = result.status == CaseStatus::ok && result.job;
  JobRow row;
  if (numbers) row.cells = number_cells(result);
  row.cells.resize(std::max(row.cells.size(), kTextColumns));
  row.cells[0] = numbers ? std::to_string(place) : "-";
  row.cells[1] = name;
  row.cells[2] = result.recovery;
  if (!numbers) row.reason = (result.status == CaseStatus::error ? "error: " : "") + result.reason;
  return row;
}

std::string laid_out(const Cells& cells, const std::vector<std::size_t>& widths, const std::vector<bool>& shown) {
  std::string text;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (!shown[c]) continue;
    const bool left = c > 0 && c < kTextColumns;
    text += "  " + (left ? pad_right(cells[c], widths[c]) : pad_left(cells[c], widths[c]));
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string paint(const std::string& text, const char* code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string on_demand_text(const CaseResult& result) {
  const JobReport& job = *result.job;
  if (!job.on_demand || !(job.tokens > 0)) return "";
  const OnDemandJob& other = *job.on_demand;
  std::string text = fmt::format("  on demand, all nodes always there: {} tokens/s", three_digits(other.tokens_per_s));
  if (!other.price_known) return text + " (a node has no on-demand price)\n";
  const double per_million = other.price.value / other.tokens_per_s * 1e6;
  text += fmt::format(" at {} USD/h: {} USD/M tokens", with_decimals(in_dollars_per_hour(other.price), 2), three_digits(per_million));
  return text + "\n";
}

}  // namespace

bool has_jobs(const TableBlock& block) {
  return std::any_of(block.results.begin(), block.results.end(), [](const CaseResult& result) { return result.job.has_value(); });
}

std::string job_rows_text(const TableBlock& block, const std::vector<std::size_t>& order, const TableStyle& style) {
  const bool colour = style.colour;
  const std::vector<std::string> names = shown_names(block);
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < order.size(); ++i) rows.push_back(row_of(block.results[order[i]], names[order[i]], i + 1));
  const Cells heads = titles(block.workload->data.sequence_length > 0);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < heads.size(); ++c) {
    widths.push_back(width_of(heads[c]));
    for (const JobRow& row : rows)
      if (c < row.cells.size()) widths[c] = std::max(widths[c], width_of(row.cells[c]));
  }
  const std::vector<bool> shown = columns_that_fit(widths, kGap, style.width, kExpendable);
  std::string text = paint(laid_out(heads, widths, shown), "1", colour) + "\n";
  for (const JobRow& row : rows)
    text += laid_out(row.cells, widths, shown) + (row.reason.empty() ? "" : "  " + paint(row.reason, "31", colour)) + "\n";
  return text;
}

std::string job_notes(const CaseResult& result, std::size_t place, const std::string& row_name) {
  const JobReport& job = *result.job;
  const bool ok = result.status == CaseStatus::ok;
  std::string text;
  if (!result.plan_line.empty())
    text += fmt::format("  plan {}, longest of {}: {}\n", ok ? std::to_string(place) : "of " + row_name, job.plans, result.plan_line);
  if (!ok) return text;
  text += fmt::format("    {} changes of Plan, {} steps back to a copy, {} saves; {} detailed steps; {} GPU hours, {} kWh\n", job.reconfigurations,
                      job.rollbacks, job.saves, job.detailed_steps, three_digits(job.gpu_hours), three_digits(job.energy_kwh));
  if (job.time_to_target)
    text += fmt::format("    target after {} h{}\n", three_digits(job.time_to_target->value / 3600),
                        job.usd_to_target ? fmt::format(" and {} USD", with_decimals(job.usd_to_target->value, 2)) : "");
  if (place == 1) text += on_demand_text(result);
  return text;
}

}  // namespace trainyard
