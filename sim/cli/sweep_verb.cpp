#include "sim/cli/sweep_verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/selection.hpp"
#include "sim/config/text_file.hpp"
#include "sim/engine/binary.hpp"
#include "sim/engine/nursery.hpp"
#include "sim/job/case.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/page/page.hpp"
#include "sim/report/result_text.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/sweep/axis.hpp"
#include "sim/sweep/store.hpp"
#include "sim/units/error.hpp"
#include "validation/scenario_cases.hpp"

namespace trainyard {
namespace {

struct Grid {
  std::string scenario;  ///< file
  std::vector<SweepAxis> axes;
  std::size_t points = 1;
};

Grid grid_of(const Arguments& arguments) {
  Grid grid{arguments.scenarios.front(), {}, 1};
  for (const std::string& text : arguments.set) grid.axes.push_back(parse_axis(text));
  grid.points = count_points(grid.axes);
  return grid;
}

std::string text_of(const std::vector<SweepAxis>& axes) {
  std::string text;
  for (const SweepAxis& axis : axes) text += fmt::format("{}={}\n", axis.key, fmt::join(axis.values, ","));
  return text;
}

/// Files that the scenario names are not part of it: who changes one starts a new store.
SweepIdentity identity_of(const Arguments& arguments, const Grid& grid) {
  return {{"version", version()},
          {"catalogues", catalogue_hash()},
          {"scenario", read_text_file(grid.scenario).text},
          {"grid", text_of(grid.axes)},
          {"strategies", fmt::format("{}", fmt::join(arguments.strategies, ","))},
          {"detail",
           fmt::format("{}{}", arguments.full_detail ? "full" : "merged", arguments.symmetry ? "" : ", no symmetry")}};
}

/// The mistake of one point, unless it lies in how the values go together: that is a result of the grid.
void check_point(const Arguments& arguments, const Grid& grid,
                 const std::vector<std::pair<std::string, std::string>>& settings) {
  try {
    static_cast<void>(select_strategies(load_scenario_with(grid.scenario, settings), arguments.strategies));
  } catch (const UserError& error) {
    if (settings.empty() || std::string_view(error.what()).find("--set ") != std::string_view::npos) throw;
  }
}

/// The scenario as it is, then every value of every axis: a wrong key or value ends the sweep before it starts.
void check_values(const Arguments& arguments, const Grid& grid) {
  check_point(arguments, grid, {});
  for (const SweepAxis& axis : grid.axes)
    for (const std::string& value : axis.values) check_point(arguments, grid, {{axis.key, value}});
}

/// A combination that makes no scenario, or no Plan on it, is a point at which nothing fits.
CaseResult refused(const Grid& grid, CaseStatus status, const std::string& why) {
  CaseResult result;
  result.scenario = std::filesystem::path(grid.scenario).stem().string();
  result.status = status;
  result.reason = why;
  return result;
}

std::vector<std::string> simulate_point(const Arguments& arguments, const Grid& grid, std::size_t point,
                                        const WorkerNursery& nursery) {
  std::vector<std::string> records;
  const CaseOptions options{1, arguments.symmetry, arguments.full_detail, false};
  try {
    const Scenario scenario = load_scenario_with(grid.scenario, settings_at(grid.axes, point));
    for (const Variant& variant : scenario.variants)
      for (const StrategyChoice& choice : select_strategies(scenario, arguments.strategies)) {
        CaseResult result = run_case(case_of(scenario, variant, choice), options, nursery);
        if (result.user_error) result.status = CaseStatus::infeasible;
        result.rejected.clear();         // the grid says what became of each point, not how it was found
        result.critical_path.clear();
        records.push_back(to_json_line(result));
      }
  } catch (const UserError& error) {
    records.assign(1, to_json_line(refused(grid, CaseStatus::infeasible, error.what())));
  }
  return records;
}

std::vector<std::size_t> missing_points(const Arguments& arguments, const Grid& grid, const SweepStore& store) {
  const std::set<std::size_t> done = store.points();
  std::vector<std::size_t> missing;
  for (std::size_t point = 0; point < grid.points; ++point)
    if (static_cast<int>(point % static_cast<std::size_t>(arguments.shards)) + 1 == arguments.shard &&
        !done.contains(point))
      missing.push_back(point);
  return missing;
}

/// A point is a process; one that dies is a record with its last words.
void simulate_points(const Arguments& arguments, const Grid& grid, SweepStore& store, const WorkerNursery& nursery) {
  const std::vector<std::size_t> missing = missing_points(arguments, grid, store);
  const NurseryProcess processes = start_nursery([&](std::string_view request) {
    return binary::encoded(simulate_point(arguments, grid, binary::decoded<std::size_t>(request), nursery));
  });
  Progress progress(!arguments.quiet, "points");
  std::size_t done = grid.points - missing.size();
  progress.show(done, grid.points);
  ask_workers(
      processes.socket, missing.size(), [&](std::size_t i) { return binary::encoded(missing[i]); }, arguments.jobs,
      [&](std::size_t i, const WorkerAnswer& answer) {
        std::vector<SweepRow> rows;
        if (const auto* failure = std::get_if<WorkerFailure>(&answer))
          rows.push_back({missing[i], 0,
                          to_json_line(refused(grid, CaseStatus::error, failure->why + ": " + failure->last_words))});
        else
          for (std::string& record : binary::decoded<std::vector<std::string>>(std::get<std::string>(answer)))
            rows.push_back({missing[i], rows.size(), std::move(record)});
        store.add(rows);
        progress.show(++done, grid.points);
      });
  end_nursery(processes);
}

std::vector<SavedRecord> records_of(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows) {
  std::vector<SavedRecord> records;
  for (const SweepRow& row : rows) records.push_back({settings_at(axes, row.point), row.record});
  return records;
}

std::string text_of(Format format, const std::vector<SavedRecord>& records) {
  switch (format) {
    case Format::table:
      return to_table(records);
    case Format::json:
      return to_json_lines(records);
    case Format::csv:
      return to_csv(records);
  }
  return "";
}

bool has_error(const std::vector<SweepRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const SweepRow& row) { return row.record.find("\"status\":\"error\"") != std::string::npos; });
}

int deliver_rows(const Arguments& arguments, const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows) {
  const std::vector<SavedRecord> records = records_of(axes, rows);
  deliver(arguments, text_of(arguments.format, records));
  if (!arguments.report.empty()) write_file(arguments.report, sweep_page(records, {version(), catalogue_hash()}));
  return has_error(rows) ? exit_status::kCaseFailed : exit_status::kDone;
}

std::string store_of(const Arguments& arguments, const Grid& grid) {
  if (!arguments.store.empty()) return arguments.store;
  const std::string name = std::filesystem::path(grid.scenario).stem().string();
  const std::string part = arguments.shards > 1 ? fmt::format("-{}-of-{}", arguments.shard, arguments.shards) : "";
  return fmt::format("{}{}.sweep", name, part);
}

std::vector<SweepAxis> axes_of(const SweepStore& store) {
  std::vector<SweepAxis> axes;
  const std::string& text = store.identity().at("grid");
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    axes.push_back(parse_axis(text.substr(from, end - from)));
    from = end + 1;
  }
  return axes;
}

/// One row of each point and number; rows that two stores have must be equal.
std::vector<SweepRow> united(const std::vector<std::string>& files, const SweepIdentity& identity) {
  std::map<std::pair<std::size_t, std::size_t>, SweepRow> all;
  for (const std::string& file : files)
    for (SweepRow& row : SweepStore::open(file, identity).rows()) {
      const auto [found, fresh] = all.try_emplace({row.point, row.row}, row);
      if (!fresh && !(found->second == row))
        throw UserError(fmt::format("{}: point {} has another result than in the files before it", file, row.point));
    }
  std::vector<SweepRow> rows;
  for (auto& [key, row] : all) rows.push_back(std::move(row));
  return rows;
}

void check_complete(const std::vector<SweepRow>& rows, std::size_t points) {
  std::set<std::size_t> there;
  for (const SweepRow& row : rows) there.insert(row.point);
  for (std::size_t point = 0; point < points; ++point)
    if (!there.contains(point))
      throw UserError(fmt::format("{} of {} points are in none of the files; the first is point {}",
                                  points - there.size(), points, point));
}

}  // namespace

int sweep(const Arguments& arguments, const WorkerNursery& nursery) {
  const Grid grid = grid_of(arguments);
  check_values(arguments, grid);
  SweepStore store = SweepStore::open(store_of(arguments, grid), identity_of(arguments, grid));
  simulate_points(arguments, grid, store, nursery);
  return deliver_rows(arguments, grid.axes, store.rows());
}

int merge_sweeps(const Arguments& arguments) {
  const SweepStore first = SweepStore::open_to_read(arguments.stores.front());
  const std::vector<SweepRow> rows = united(arguments.stores, first.identity());
  const std::vector<SweepAxis> axes = axes_of(first);
  check_complete(rows, count_points(axes));
  if (!arguments.store.empty()) SweepStore::open(arguments.store, first.identity()).add(rows);
  return deliver_rows(arguments, axes, rows);
}

}  // namespace trainyard
