#include "sim/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "sim/report/describe.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/job_table.hpp"
#include "sim/report/numbers.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/replay_text.hpp"
#include "sim/report/step_notes.hpp"
#include "sim/report/wrapping.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLine = 160;  ///< a heading longer than this is broken

enum class Side { left, right };
struct Column {
  const char* title;
  Side side;
};
/// The device beside its memory is a column of its own without a title of its own.
constexpr std::array kColumns{
    Column{"#", Side::right},       Column{"strategy", Side::left},        Column{"tokens/s", Side::right},
    Column{"MFU", Side::right},     Column{"step", Side::right},           Column{"bubble", Side::right},
    Column{"exposed", Side::right}, Column{"fullest device", Side::right}, Column{"", Side::left},
    Column{"USD/h", Side::right},   Column{"USD/M tokens", Side::right},   Column{"", Side::left}};
/// What a narrow terminal does without first.
const std::vector<std::size_t> kExpendable{6, 5, 8, 9, 3, 7, 11, 4};
using Row = std::array<std::string, kColumns.size()>;

/// Samples without tokens (images) are counted themselves.
std::string title_of(std::size_t column, bool tokens) {
  std::string title = kColumns[column].title;
  if (const std::size_t at = title.find("tokens"); !tokens && at != std::string::npos) title.replace(at, 6, "samples");
  return title;
}

struct Line {
  bool numbers = true;
  Row cells;           ///< numbers: all; else the first two
  std::string reason;  ///< unless numbers
};

std::string paint(const std::string& text, const char* code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string memory_text(const MemoryReport& memory) {
  return fmt::format("{} / {} GB", three_digits(memory.peak.value / 1e9), three_digits(memory.capacity.value / 1e9));
}

/// ` ±6 %` where validation says something of such steps.
std::string band_text(const CaseResult& result) {
  return result.error_band ? fmt::format(" ±{:.0f} %", 100 * *result.error_band) : "";
}

Row number_cells(const CaseResult& result) {
  const Figures figures = figures_of(result);
  const auto shown = [](const std::optional<double>& value, auto format) { return value ? format(*value) : "?"; };
  const auto dollars = [](double value) { return with_decimals(value, 2); };
  return {"",
          "",
          shown(figures.tokens_per_s ? figures.tokens_per_s : figures.samples_per_s, three_digits) + band_text(result),
          shown(figures.mfu, percent),
          to_text(result.step.step_time),
          percent(result.step.bubble_fraction),
          percent(result.step.exposed_communication_fraction),
          has_memory(result) ? memory_text(result.step.memory) : "?",
          result.step.memory.device,
          shown(figures.price_usd_per_h, dollars),
          shown(figures.tokens_per_s ? figures.usd_per_million_tokens : figures.usd_per_million_samples, three_digits),
          ""};
}

Line line_of(const CaseResult& result) {
  Line line;
  line.numbers = result.status == CaseStatus::ok;
  if (line.numbers) line.cells = number_cells(result);
  line.reason = (result.status == CaseStatus::error ? "error: " : "") + result.reason;
  return line;
}

std::vector<Line> lines_of(const TableBlock& block, const std::vector<std::size_t>& order) {
  const std::vector<std::string> names = shown_names(block);
  const int best_price = cheapest(block);
  std::vector<Line> lines;
  for (std::size_t place = 0; place < order.size(); ++place) {
    Line line = line_of(block.results[order[place]]);
    line.cells[0] = line.numbers ? std::to_string(place + 1) : "-";
    line.cells[1] = names[order[place]];
    if (block.results[order[place]].pareto_front.value_or(false)) line.cells.back() = "front";
    if (static_cast<int>(order[place]) == best_price) line.cells.back() = "cheapest";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::size_t> widths_of(const std::vector<Line>& lines, bool tokens) {
  const bool any_number = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.numbers; });
  std::vector<std::size_t> widths(kColumns.size());
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    widths[c] = any_number ? width_of(title_of(c, tokens)) : 0;
    for (const Line& line : lines) widths[c] = std::max(widths[c], width_of(line.cells[c]));
  }
  return widths;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

template <class Cell>
std::string laid_out(const std::vector<std::size_t>& widths, const std::vector<bool>& shown, std::size_t columns, Cell cell) {
  std::string text;
  for (std::size_t c = 0; c < columns; ++c) {
    if (!shown[c]) continue;
    text += std::string(kGap, ' ');
    text += kColumns[c].side == Side::left ? pad_right(cell(c), widths[c]) : pad_left(cell(c), widths[c]);
  }
  return text;
}

/// Last words of a crashed process may hold anything; a terminal must not obey them.
std::string harmless(std::string text) {
  for (char& c : text)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  return text;
}

/// Further lines of a reason stand under its first.
std::string with_reason(const std::string& start, const std::string& reason, bool colour) {
  std::istringstream lines(reason);
  std::string text, line;
  while (std::getline(lines, line))
    text +=
        (text.empty() ? start : std::string(width_of(start), ' ')) + "  " + paint(harmless(line), "31", colour) + "\n";
  return text.empty() ? trimmed(start) + "\n" : text;
}

std::string rows_text(const std::vector<Line>& lines, bool tokens, const TableStyle& style) {
  const bool colour = style.colour;
  const std::vector<std::size_t> widths = widths_of(lines, tokens);
  const std::vector<bool> shown = columns_that_fit(widths, kGap, style.width, kExpendable);
  const bool any_number = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.numbers; });
  std::string text;
  if (any_number) {
    const auto title = [&](std::size_t c) { return title_of(c, tokens); };
    text += paint(trimmed(laid_out(widths, shown, kColumns.size(), title)), "1", colour) + "\n";
  }
  for (const Line& line : lines) {
    const auto cell = [&](std::size_t c) { return line.cells[c]; };
    if (line.numbers)
      text += trimmed(laid_out(widths, shown, kColumns.size(), cell)) + "\n";
    else
      text += with_reason(laid_out(widths, shown, 2, cell), line.reason, colour);
  }
  return text;
}

std::string workload_text(const TableBlock& block) {
  for (const CaseResult& result : block.results)
    if (result.replay) return "replay of " + result.replay->heading;
  return one_line(*block.workload);
}

std::string heading(const TableBlock& block, const TableStyle& style) {
  const std::string title = one_row(block.scenario) + (block.variant.empty() ? "" : " · " + one_row(block.variant));
  std::vector<std::string> parts{workload_text(block), one_line(*block.cluster)};
  if (!block.objective.empty()) parts.push_back("objective: " + block.objective);
  std::size_t width = width_of(title);
  for (const std::string& part : parts) width += 3 + width_of(part);
  std::string text = paint(title, "1", style.colour);
  const std::size_t line = style.width > 0 ? std::min(style.width, kLine) : kLine;
  for (const std::string& part : parts) text += (width <= line ? "   " : "\n  ") + part;
  return text + "\n\n";
}

/// One of the other jobs: how fast it was beside the row's, and alone.
std::string job_text(const JobResult& job) {
  const bool tokens = job.step.tokens > 0;
  const double rate = (tokens ? job.step.tokens : job.step.samples) / job.step.step_time.value;
  return fmt::format("job {} ({}): {} a step, alone {}; {} {}/s; {}", job.name, job.strategy, to_text(job.step.step_time),
                     to_text(job.alone_step_time), three_digits(rate), tokens ? "tokens" : "samples", job.plan_line);
}

/// Candidates that a planner looked at and did not take.
std::string rejected_text(const CaseResult& result, const std::string& row_name) {
  std::string text;
  for (const RejectedPlan& plan : result.rejected) text += fmt::format("    {}: {}\n", plan.what, harmless(plan.why));
  if (text.empty()) return fmt::format("  {} rejected no candidate\n", row_name);
  return fmt::format("  {} rejected\n{}", row_name, text);
}

/// Where the time of a step went, for those who compare.
std::string explanation(const CaseResult& result) {
  std::string text = fmt::format("    time: {}\n", time_text(result));
  if (const std::string path = critical_path_text(result); !path.empty()) text += fmt::format("    critical path: {}\n", path);
  return text + sensitivity_text(result);
}

/// Everything below the table that concerns one row.
std::string notes_of(const CaseResult& result, std::size_t place, const std::string& row_name, const TableStyle& style, bool explained) {
  std::string text;
  const bool ok = result.status == CaseStatus::ok;
  if (result.job) text += job_notes(result, place, row_name);
  if (!result.plan_line.empty() && !result.job)
    text += fmt::format("  plan {}: {}\n", ok ? std::to_string(place) : "of " + row_name, harmless(result.plan_line));
  if (explained && ok && !result.job && !result.replay) text += explanation(result);
  if (style.why) text += rejected_text(result, row_name);
  for (const JobResult& job : result.jobs) text += fmt::format("  beside {}: {}\n", row_name, job_text(job));
  if (result.planner_truncated) text += fmt::format("  note on {}: its budget ended before its search did; this is the best that it had seen\n", row_name);
  for (const std::string& what : result.remarks) text += fmt::format("  note on {}: {}\n", row_name, harmless(what));
  for (const std::string& what : result.step.extrapolated) text += fmt::format("  note on {}: {}\n", row_name, harmless(what));
  if (style.timings)
    text += fmt::format("  wall time of {}: planned in {}, simulated in {}\n", row_name, to_text(result.planner_wall),
                        to_text(result.simulation_wall));
  return text;
}

/// Where the ± of the rates come from: each group once.
std::string bands_text(const TableBlock& block, const std::vector<std::size_t>& order) {
  std::vector<std::string> groups;
  for (const std::size_t i : order) {
    const auto& band = block.results[i].error_band_from;
    const std::string text = band ? fmt::format("{} measured runs of {} ({:.0f} %)", band->rows, band->group, 100 * band->eight_of_ten) : "";
    if (band && std::ranges::find(groups, text) == groups.end()) groups.push_back(text);
  }
  return groups.empty() ? "" : fmt::format("  ±: within it lay the error of 8 of 10 of {}\n", fmt::join(groups, "; "));
}

std::string notes_text(const TableBlock& block, const std::vector<std::size_t>& order, const TableStyle& style) {
  const std::vector<std::string> names = shown_names(block);
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i)
    text += notes_of(block.results[order[i]], i + 1, names[order[i]], style, block.ranking != Ranking::file_order);
  return text + bands_text(block, order);
}

/// Sentences that compare rows.
std::string sentences(const TableBlock& block, const std::vector<std::size_t>& order) {
  std::string text;
  if (const std::string first = comparison(block, order); !first.empty()) text += "  " + first + "\n";
  text += gaps_text(block, order);
  const int best_price = cheapest(block);
  for (std::size_t i = 0; i < block.results.size(); ++i)
    if (block.results[i].pareto_front.value_or(false) && int(i) != best_price) return text + "  front: nothing here is both faster and cheaper\n";
  return text;
}

std::string block_text(const TableBlock& block, const TableStyle& style) {
  const std::vector<std::size_t> order = ranked(block);
  const bool tokens = block.workload->data.sequence_length > 0, jobs = has_jobs(block);
  std::string text = heading(block, style);
  const bool replay = has_replay(block);
  text += replay ? replay_rows_text(block) : jobs ? job_rows_text(block, order, style) : rows_text(lines_of(block, order), tokens, style);
  const std::string below = (replay ? "" : sentences(block, order)) + notes_text(block, order, style);
  return text + (below.empty() ? "" : "\n") + wrapped(below, style.width);
}

}  // namespace

std::string to_table(const std::vector<TableBlock>& blocks, const TableStyle& style) {
  std::string text;
  for (const TableBlock& block : blocks) text += (text.empty() ? "" : "\n\n") + block_text(block, style);
  return text;
}

}  // namespace trainyard
