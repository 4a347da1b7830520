#include <algorithm>

#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/scenarios.hpp"
#include "sim/cli/selection.hpp"
#include "sim/config/text_file.hpp"
#include "sim/job/case.hpp"
#include "sim/model/execution_trace.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/page/page.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/result_text.hpp"
#include "sim/report/seed_spread.hpp"
#include "sim/report/table.hpp"
#include "sim/report/trace.hpp"
#include "sim/units/error.hpp"
#include "validation/scenario_cases.hpp"
#include "workloads/traces/trace_section.hpp"

namespace trainyard {
namespace {

/// One scenario with what the command line makes of it.
struct Selected {
  Scenario scenario;
  std::vector<StrategyChoice> strategies;
  Ranking ranking = Ranking::file_order;
  std::string objective;
};

void check_sensitivity(const Scenario& scenario) {
  if (scenario.long_run) throw UserError("--sensitivity: " + scenario.file + " simulates jobs over a horizon; sensitivity is of steps");
  for (const Variant& variant : scenario.variants)
    if (!variant.jobs.empty()) throw UserError("--sensitivity: " + scenario.file + " has other jobs beside; sensitivity is of one job's steps");
}

/// A trace has no strategy, and is what it is.
void check_replay(const Arguments& arguments, const Scenario& scenario) {
  const bool replays = scenario.variants.front().replay != nullptr;
  if (!replays && !arguments.against.empty()) throw UserError("--against: " + scenario.file + " trains a model; a recorded timeline is compared with a replayed trace (`workload: {trace: ..}`)");
  if (!replays) return;
  if (!arguments.strategies.empty()) throw UserError("--strategies: " + scenario.file + " replays a trace, which has none");
  if (arguments.sensitivity) throw UserError("--sensitivity: " + scenario.file + " replays a trace; sensitivity is of a strategy's steps");
}

Selected select(const Arguments& arguments, Scenario scenario) {
  check_replay(arguments, scenario);
  Selected selected;
  selected.strategies = select_strategies(scenario, arguments.strategies);
  if (arguments.verb == Verb::compare) {
    selected.objective = arguments.objective.empty() ? std::string(name(scenario.objective)) : arguments.objective;
    selected.ranking = selected.objective == "cost"                  ? Ranking::cost
                       : selected.objective == "cost_under_deadline" ? Ranking::cost_under_deadline
                                                                     : Ranking::throughput;
  }
  if (arguments.seeds > 1 && !scenario.long_run) throw UserError("--seeds: " + scenario.file + " simulates steps; seeds are for jobs over a horizon (`run: {horizon: 24 h}`)");
  if (arguments.sensitivity) check_sensitivity(scenario);
  selected.scenario = std::move(scenario);
  return selected;
}

std::vector<Selected> select_all(const Arguments& arguments) {
  std::vector<Selected> all;
  for (Scenario& scenario : load_scenarios(arguments.scenarios)) all.push_back(select(arguments, std::move(scenario)));
  return all;
}

/// Variant by variant, its strategies in file order, each under one seed after the other.
std::vector<Case> cases_of(const std::vector<Selected>& all, int seeds) {
  std::vector<Case> cases;
  for (const Selected& one : all)
    for (const Variant& variant : one.scenario.variants)
      for (const StrategyChoice& choice : one.strategies)
        for (int seed = 0; seed < seeds; ++seed) {
          cases.push_back(case_of(one.scenario, variant, choice));
          cases.back().seed += std::uint64_t(seed);
          cases.back().jitter.seed += std::uint64_t(seed);
        }
  return cases;
}

/// Of each case the results under all seeds as one.
std::vector<CaseResult> over_seeds(std::vector<CaseResult> results, int seeds) {
  if (seeds == 1) return results;
  std::vector<CaseResult> merged;
  for (auto first = results.begin(); first != results.end(); first += seeds)
    merged.push_back(trainyard::over_seeds({std::make_move_iterator(first), std::make_move_iterator(first + seeds)}));
  return merged;
}

std::vector<CaseResult> run_all(const Arguments& arguments, const std::vector<Case>& cases,
                                const ExecutionTrace* against, const WorkerNursery& nursery) {
  CaseOptions options;
  options.against = against;
  options.against_name = arguments.against;
  const int at_a_time = std::clamp(arguments.jobs, 1, std::max(1, static_cast<int>(cases.size())));
  options.jobs = std::max(1, arguments.jobs / at_a_time);
  options.symmetry = arguments.symmetry;
  options.full_detail = arguments.full_detail;
  options.sensitivity = arguments.sensitivity;
  options.keep_trace = !arguments.trace.empty() || !arguments.report.empty();
  Progress progress(!arguments.quiet);
  progress.show(0, cases.size());
  return run_cases(cases, options, at_a_time, nursery,
                   [&](std::size_t done, std::size_t count) { progress.show(done, count); });
}

/// Results back to their scenarios and variants. The Clusters and Workloads stay with `all`.
std::vector<TableBlock> blocks_of(const std::vector<Selected>& all, std::vector<CaseResult> results) {
  std::vector<TableBlock> blocks;
  auto next = std::make_move_iterator(results.begin());
  for (const Selected& one : all)
    for (const Variant& variant : one.scenario.variants) {
      const auto last = next + static_cast<std::ptrdiff_t>(one.strategies.size());
      blocks.push_back({one.scenario.name, variant.name, one.objective, &variant.cluster, &variant.workload,
                        one.ranking, std::vector<CaseResult>(next, last), one.scenario.deadline.value_or(Seconds(0))});
      next = last;
    }
  return blocks;
}

void compare_rows(const Arguments& arguments, std::vector<TableBlock>& blocks) {
  if (arguments.verb != Verb::compare) return;
  for (TableBlock& block : blocks) mark_pareto_front(block);
}

/// In the order in which the table shows them.
std::vector<CaseResult> in_order(std::vector<TableBlock>& blocks) {
  std::vector<CaseResult> results;
  for (TableBlock& block : blocks)
    for (const std::size_t i : ranked(block)) results.push_back(std::move(block.results[i]));
  return results;
}

std::string text_of(const Arguments& arguments, const std::vector<TableBlock>& blocks,
                    const std::vector<CaseResult>& results) {
  const ResultHead head{version(), catalogue_hash(), arguments.timings};
  switch (arguments.format) {
    case Format::table:
      return to_table(blocks, {may_colour(arguments), arguments.timings, arguments.why, terminal_width(arguments)});
    case Format::json:
      return to_json(results, head);
    case Format::csv:
      return to_csv(results, head);
  }
  return "";
}

/// The text that `fixed` and `export` read.
std::string plan_yaml(const std::string& plan_json) {
  Diagnostics diagnostics;
  const SymbolicPlan plan = read_plan(read_yaml_text(plan_json, "plan", diagnostics), diagnostics);
  require(diagnostics.empty(), "a Plan reads back");
  return to_yaml(plan);
}

std::string page_text(const Arguments& arguments, const std::vector<Selected>& all, const std::vector<TableBlock>& blocks) {
  std::vector<PageSource> sources;
  for (const Selected& one : all) sources.push_back({one.scenario.name, read_text_file(one.scenario.file).text});
  return results_page({blocks, std::move(sources), {version(), catalogue_hash(), arguments.timings}, plan_yaml});
}

/// What only shows when the ranks are brought together is a mistake of the input, too: one line, and nothing else.
void refuse_bad_traces(const std::vector<CaseResult>& results) {
  for (const CaseResult& result : results)
    if (result.user_error && result.strategy == "replay") throw UserError(result.scenario + ": " + result.reason);
}

}  // namespace

int simulate(const Arguments& arguments, const WorkerNursery& nursery) {
  const std::vector<Selected> all = select_all(arguments);
  const std::optional<ExecutionTrace> against = arguments.against.empty() ? std::nullopt : std::optional(read_trace(arguments.against, ""));
  std::vector<CaseResult> cases = run_all(arguments, cases_of(all, arguments.seeds), against ? &*against : nullptr, nursery);
  refuse_bad_traces(cases);
  std::vector<TableBlock> blocks = blocks_of(all, over_seeds(std::move(cases), arguments.seeds));
  compare_rows(arguments, blocks);
  const std::string table = arguments.format == Format::table ? text_of(arguments, blocks, {}) : "";
  const std::string page = arguments.report.empty() ? "" : page_text(arguments, all, blocks);
  const std::vector<CaseResult> results = in_order(blocks);
  deliver(arguments, arguments.format == Format::table ? table : text_of(arguments, {}, results));
  if (!arguments.trace.empty()) write_file(arguments.trace, to_trace(results));
  if (!arguments.report.empty()) write_file(arguments.report, page);
  return status_of(results);
}

}  // namespace trainyard
