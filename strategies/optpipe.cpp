// OptPipe: a pipeline's schedule as tables of forward passes, input gradients, weight gradients, offloads and reloads. A modifier: it takes
// the Plan that it is given (`plan`), or the pipelines that Megatron-LM's rules allow, and gives the fastest tables that fit.
// Paper: OptPipe: Memory- and Scheduling-Optimized Pipeline Parallelism for LLM Training, arXiv 2510.05186.
// A list scheduler fills tables under several rules; an integer program that starts from the best of them moves weight gradients and drops
// offloads; what is left is simulated.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/planning/budget.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/integer_program.hpp"
#include "sim/planning/pipeline_table.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/uniform_search.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 4000;
constexpr int kSimulate = 12, kNodesPerProgram = 20;
/// So many passes over all stages in tables count as one evaluation.
constexpr std::int64_t kPassesPerEvaluation = 256;
/// Pipelines whose tables are looked at, best first by the closed form.
constexpr std::size_t kBases = 6;
/// Passes over all stages; a larger program is not begun.
constexpr int kMostPassesInProgram = 24;
/// A weight gradient moves by so many places at most, which fixes the rest of its variables.
constexpr int kMostPlacesMoved = 2;
constexpr double kPatience[] = {0, 0.5};

/// Seconds in the program are counted in the heuristic's time.
class TableProgram {
 public:
  TableProgram(const std::vector<TableStage>& stages, const PipelineTables& tables, int micro_batches)
      : stages_(stages), tables_(tables), count_(micro_batches), unit_(tables.time) {
    end_ = program_.add_continuous(0, kHorizon, 1);
    for (std::size_t s = 0; s < stages.size(); ++s) add_stage(s);
    for (std::size_t s = 0; s < stages.size(); ++s) link(s);
  }

  std::optional<PipelineTables> solve() {
    const auto solution = program_.minimise(kNodesPerProgram);
    if (!solution) return std::nullopt;
    PipelineTables better;
    better.time = unit_ * (*solution)[end_];
    for (std::size_t s = 0; s < stages_.size(); ++s) better.stages.push_back(lanes_of(s, *solution));
    return better;
  }

 private:
  static constexpr double kHorizon = 2;  ///< times the heuristic's: later than any start, and the M of either-or rows

  struct Moving {
    VariableId start{};
    int earliest = 0;                    ///< the first operation of the chain that it may stand before
    std::vector<VariableId> before;      ///< [operation - earliest]: stands before it
  };
  struct StageVariables {
    std::vector<Operation> chain;        ///< F and B in the heuristic's order
    std::vector<VariableId> starts;      ///< [place in the chain]
    std::vector<Moving> weights;         ///< [micro-batch]
    std::map<int, VariableId> away;      ///< micro-batch -> stays on the host in between
    std::map<int, std::pair<int, int>> gone;   ///< micro-batch -> places of the chain [first, last) without it
  };

  double length(std::size_t s, char kind) const {
    return (kind == 'F' ? stages_[s].forward : kind == 'B' ? stages_[s].input : stages_[s].weight) / unit_;
  }
  static int place(const StageVariables& v, char kind, int micro_batch) {
    return int(std::ranges::find_if(v.chain, [&](const Operation& op) { return op.kind == kind && op.micro_batch == micro_batch; }) - v.chain.begin());
  }
  VariableId start_of(std::size_t s, char kind, int m) const { return variables_[s].starts[std::size_t(place(variables_[s], kind, m))]; }

  /// `later` begins at least `gap` after `earlier`.
  void follow(VariableId earlier, VariableId later, double gap) { program_.at_least({{later, 1}, {earlier, -1}}, gap); }

  void add_stage(std::size_t s) {
    StageVariables& v = variables_.emplace_back();
    std::map<int, int> heuristic;        // micro-batch -> chain operations before its W
    for (const Operation& op : tables_.stages[s].compute) op.kind == 'W' ? void(heuristic[op.micro_batch] = int(v.chain.size())) : v.chain.push_back(op);
    for (std::size_t i = 0; i < v.chain.size(); ++i) {
      v.starts.push_back(program_.add_continuous(0, kHorizon));
      if (i > 0) follow(v.starts[i - 1], v.starts[i], length(s, v.chain[i - 1].kind));
    }
    program_.at_least({{end_, 1}, {v.starts.back(), -1}}, length(s, v.chain.back().kind));
    for (int m = 0; m < count_; ++m) add_weight(s, m, heuristic.at(m));
    for (const Entry& entry : tables_.stages[s].reloads) add_offload(s, entry);
    add_memory(s);
  }

  void add_weight(std::size_t s, int m, int heuristic) {
    StageVariables& v = variables_[s];
    Moving moving{program_.add_continuous(0, kHorizon), std::max(place(v, 'B', m) + 1, heuristic - kMostPlacesMoved), {}};
    follow(start_of(s, 'B', m), moving.start, length(s, 'B'));
    program_.at_least({{end_, 1}, {moving.start, -1}}, length(s, 'W'));
    if (m > 0) follow(v.weights.back().start, moving.start, length(s, 'W'));
    const int latest = std::min(int(v.chain.size()), heuristic + kMostPlacesMoved);
    if (moving.earliest > 0) follow(v.starts[std::size_t(moving.earliest) - 1], moving.start, length(s, v.chain[std::size_t(moving.earliest) - 1].kind));
    for (int at = moving.earliest; at < latest; ++at) {
      const VariableId before = program_.add_binary(), other = v.starts[std::size_t(at)];
      program_.start_at(before, at >= heuristic);
      program_.at_least({{other, 1}, {moving.start, -1}, {before, -kHorizon}}, length(s, 'W') - kHorizon);
      program_.at_least({{moving.start, 1}, {other, -1}, {before, kHorizon}}, length(s, v.chain[std::size_t(at)].kind));
      if (!moving.before.empty()) program_.at_least({{before, 1}, {moving.before.back(), -1}}, 0);
      moving.before.push_back(before);
    }
    if (latest < int(v.chain.size())) follow(moving.start, v.starts[std::size_t(latest)], length(s, 'W'));
    v.weights.push_back(std::move(moving));
  }

  void add_offload(std::size_t s, const Entry& reload) {
    StageVariables& v = variables_[s];
    const int m = reload.operation.micro_batch;
    const VariableId away = program_.add_binary(1e-6);
    program_.start_at(away, 1);
    v.away.emplace(m, away);
    // The copy out takes as many places as run beside it; the copy back begins behind the operation that it names.
    const int out = place(v, 'F', m) + 1 + int(std::ceil(stages_[s].copy / std::max(Seconds(1e-12), std::min(stages_[s].forward, stages_[s].input))));
    int back = int(v.chain.size());
    VariableId after = v.starts.front();
    double gap = 0;
    if (reload.not_before && reload.not_before->kind != 'W') {
      back = place(v, reload.not_before->kind, reload.not_before->micro_batch) + 1;
      after = v.starts[std::size_t(back) - 1];
      gap = length(s, reload.not_before->kind);
    } else if (reload.not_before) {
      after = v.weights[std::size_t(reload.not_before->micro_batch)].start;
      gap = length(s, 'W');
      back = v.weights[std::size_t(reload.not_before->micro_batch)].earliest;
    }
    v.gone[m] = {out, back};
    const VariableId user = start_of(s, 'B', m);
    program_.at_least({{user, 1}, {after, -1}, {away, -kHorizon}}, gap + stages_[s].copy / unit_ - kHorizon);
  }

  /// At each forward pass: begun, less done with their weight gradients, less away, is at most what fits.
  void add_memory(std::size_t s) {
    const StageVariables& v = variables_[s];
    int begun = 0;
    for (int at = 0; at < int(v.chain.size()); ++at) {
      if (v.chain[std::size_t(at)].kind != 'F' || ++begun <= stages_[s].passes) continue;
      LinearSum freed;
      int certain = 0;
      for (const Moving& w : v.weights) {
        const int i = at - w.earliest;
        if (i < 0) continue;
        if (i < int(w.before.size()))
          freed.push_back({w.before[std::size_t(i)], 1});
        else
          ++certain;
      }
      for (const auto& [m, range] : v.gone)
        if (range.first <= at && at < range.second) freed.push_back({v.away.at(m), 1});
      program_.at_least(freed, begun - stages_[s].passes - certain);
    }
  }

  void link(std::size_t s) {
    for (int m = 0; m < count_; ++m) {
      if (s + 1 < stages_.size()) {
        follow(start_of(s, 'F', m), start_of(s + 1, 'F', m), length(s, 'F') + stages_[s].transfer / unit_);
        follow(start_of(s + 1, 'B', m), start_of(s, 'B', m), length(s + 1, 'B') + stages_[s].transfer / unit_);
      }
    }
  }

  StageLanes lanes_of(std::size_t s, const ProgramSolution& solution) const {
    const StageVariables& v = variables_[s];
    const StageLanes& old = tables_.stages[s];
    StageLanes lanes;
    std::vector<std::vector<Operation>> before(v.chain.size() + 1);
    for (int m = 0; m < count_; ++m) {
      const Moving& w = v.weights[std::size_t(m)];
      std::size_t at = 0;
      while (at < w.before.size() && solution.whole(w.before[at]) == 0) ++at;
      before[std::size_t(w.earliest) + at].push_back({'W', {}, m, 0});
    }
    for (std::size_t i = 0; i <= v.chain.size(); ++i) {
      lanes.compute.insert(lanes.compute.end(), before[i].begin(), before[i].end());
      if (i < v.chain.size()) lanes.compute.push_back(v.chain[i]);
    }
    const auto stays = [&](const Operation& op) { return solution.whole(v.away.at(op.micro_batch)) == 0; };
    for (const Operation& op : old.offloads)
      if (!stays(op)) lanes.offloads.push_back(op);
    for (const Entry& entry : old.reloads)
      if (!stays(entry.operation)) lanes.reloads.push_back(entry);
    return lanes;
  }

  const std::vector<TableStage>& stages_;
  const PipelineTables& tables_;
  int count_;
  Seconds unit_;
  IntegerProgram program_;
  VariableId end_{};
  std::vector<StageVariables> variables_;
};

struct Scheduled {
  Plan plan;
  Seconds estimate{};
};

class OptPipeSearch {
 public:
  OptPipeSearch(const PlanningContext& context, Budget budget, int simulate, bool same_memory)
      : context_(context), router_(context.cluster), budget_(budget), simulate_(simulate), same_memory_(same_memory) {}

  /// Of one Plan.
  PlanOrInfeasible modify(const Plan& plan) {
    if (auto why = add_tables(plan)) return Infeasible{"optpipe: " + *why, std::nullopt, {}};
    return choose(Scheduled{plan, Seconds(0)});
  }

  /// Of the pipelines that Megatron-LM's rules allow, and its own answer where that is faster still.
  PlanOrInfeasible search() {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < context_.cluster.nodes.size(); ++i) nodes.push_back(id_at<NodeId>(i));
    std::vector<Plan> bases = pipelines();
    for (std::size_t i = 0; i < std::min(kBases, bases.size()); ++i) (void)add_tables(bases[i]);
    UniformOrInfeasible uniform = search_uniform(context_, nodes, {});
    if (auto* found = std::get_if<UniformPlan>(&uniform)) {
      (void)add_tables(found->planned.plan);
      return choose(Scheduled{std::move(found->planned.plan), found->step_time});
    }
    if (tables_.empty()) return std::move(std::get<Infeasible>(uniform));
    return choose(std::nullopt);
  }

 private:
  /// All sizes that expand() accepts, of at least two stages, fastest first by the closed form, whether they fit or not: tables and
  /// offloads change what is held.
  std::vector<Plan> pipelines() {
    std::vector<std::pair<Seconds, Plan>> all;
    const int gpus = int(context_.cluster.gpus().size());
    for (int tensor = 1; tensor <= 8; tensor *= 2)
      for (int pipeline = 2; pipeline * tensor <= gpus; ++pipeline)
        for (int micro_batch = 1; micro_batch <= 4 && gpus % (tensor * pipeline) == 0; micro_batch *= 2) {
          if (!budget_.take()) break;
          ShortPlan shape;
          shape.tensor = tensor;
          shape.pipeline = pipeline;
          shape.data = gpus / tensor / pipeline;
          shape.micro_batch = micro_batch;
          Expanded expanded = expand(shape, context_.cluster, context_.workload);
          if (!expanded.why_not.empty() || !expanded.plan.check(context_.cluster, context_.workload).empty()) continue;
          all.emplace_back(estimate_step(expanded.plan, context_.cluster, context_.workload, router_).step_time, std::move(expanded.plan));
        }
    std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
    std::vector<Plan> plans;
    for (auto& [time, plan] : all) plans.push_back(std::move(plan));
    return plans;
  }

  /// Why there are none, if it is the Plan's shape.
  std::optional<std::string> add_tables(const Plan& plan) {
    const auto measured = table_stages(plan, context_, router_, same_memory_);
    if (const auto* why = std::get_if<std::string>(&measured)) return *why;
    const auto& stages = std::get<std::vector<TableStage>>(measured);
    const int micro_batches = plan.phases[0].parts[0].pipelines[0].micro_batches;
    std::optional<PipelineTables> best;
    for (int ahead = 0; ahead <= 2 * int(stages.size()); ++ahead)
      for (const bool offload : {false, true})
        for (const double patience : kPatience) {
          if (!budget_.take(1 + std::int64_t(stages.size()) * micro_batches / kPassesPerEvaluation)) return std::nullopt;
          auto tables = fill_tables(stages, micro_batches, {ahead, offload, patience});
          if (!tables) continue;
          add(plan, *tables);
          if (!best || tables->time < best->time) best = std::move(tables);
        }
    if (best && int(stages.size()) * micro_batches <= kMostPassesInProgram && budget_.take(kNodesPerProgram))
      if (const auto better = TableProgram(stages, *best, micro_batches).solve()) add(plan, *better);
    return std::nullopt;
  }

  /// Only the best are kept: tables are long.
  void add(const Plan& base, const PipelineTables& tables) {
    const std::size_t kept = 2 * std::size_t(simulate_);
    if (tables_.size() >= kept && tables.time >= tables_.back().estimate) return;
    Plan plan = with_tables(base, tables);
    if (std::ranges::any_of(tables_, [&](const Scheduled& other) { return other.estimate == tables.time && other.plan == plan; })) return;
    const auto behind = std::ranges::upper_bound(tables_, tables.time, {}, &Scheduled::estimate);
    tables_.insert(behind, {std::move(plan), tables.time});
    if (tables_.size() > kept) tables_.pop_back();
  }

  /// The best by the tables' own times are simulated, with the Plan whose schedule they replace.
  PlanOrInfeasible choose(std::optional<Scheduled> base) {
    std::vector<Scheduled> chosen;
    std::vector<Rejected> rejected;
    for (Scheduled& tables : tables_) {
      if (int(chosen.size()) == simulate_) break;
      if (const auto wrong = tables.plan.check(context_.cluster, context_.workload); !wrong.empty())
        rejected.push_back({one_line(tables.plan, context_.cluster, context_.workload), wrong.front()});
      else
        chosen.push_back(std::move(tables));
    }
    const std::size_t own = chosen.size();
    if (base) chosen.push_back(std::move(*base));
    std::vector<Plan> plans;
    for (const Scheduled& one : chosen) plans.push_back(one.plan);
    const std::vector<SimulationOutcome> outcomes = context_.simulator.simulate(plans);
    const StepReport* before = own < outcomes.size() ? std::get_if<StepReport>(&outcomes[own]) : nullptr;
    std::optional<std::size_t> best;
    const StepReport* best_report = nullptr;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto* report = std::get_if<StepReport>(&outcomes[i]);
      if (!report || !report->memory.fits() || (same_memory_ && before && report->memory.peak > before->memory.peak) || (best_report && report->step_time >= best_report->step_time)) continue;
      best = i;
      best_report = report;
    }
    if (!best && budget_.ran_out() && chosen.empty()) return Infeasible{"its budget ended before it had seen a Plan", std::nullopt, {}};
    if (!best) return Infeasible{"no schedule of the pipelines fits the GPUs' memory", std::nullopt, std::move(rejected)};
    Planned planned{plans[*best], std::nullopt, std::move(rejected), budget_.ran_out()};
    if (chosen[*best].estimate > Seconds(0)) planned.estimated_step_time = chosen[*best].estimate;
    planned.remarks.push_back(remark(*best < own, *best_report, before));
    return planned;
  }

  static std::string remark(bool is_table, const StepReport& best, const StepReport* base) {
    if (!is_table) return "no table of operations is faster than the Plan's own schedule";
    if (!base) return fmt::format("idle {:.1f} % of the step", 100 * best.bubble_fraction);
    return fmt::format("idle {:.1f} % of the step; with the schedule of the Plan before {:.1f} %{}", 100 * best.bubble_fraction,
                       100 * base->bubble_fraction, base->memory.fits() ? "" : ", which does not fit");
  }

  const PlanningContext& context_;
  Router router_;
  Budget budget_;
  int simulate_;
  bool same_memory_;
  std::vector<Scheduled> tables_;
};

class OptPipe final : public Strategy {
 public:
  OptPipe(const StrategyOptions& options, Diagnostics& diagnostics)
      : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)),
        same_memory_(options.values["same_memory"].boolean_or(false)) {
    if (const View plan = options.values["plan"]) plan_ = read_plan(plan.value(), diagnostics);
  }

  void check(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) const override {
    if (plan_) (void)resolve(*plan_, cluster, workload, diagnostics);
  }

  PlanOrInfeasible plan(const PlanningContext& context) override {
    OptPipeSearch search(context, budget_, simulate_, same_memory_);
    if (!plan_) return search.search();
    Diagnostics diagnostics;
    const Plan plan = resolve(*plan_, context.cluster, context.workload, diagnostics);
    if (!diagnostics.empty()) return Infeasible{diagnostics.all().front().message, std::nullopt, {}};
    if (const auto wrong = plan.check(context.cluster, context.workload); !wrong.empty()) return Infeasible{wrong.front(), std::nullopt, {}};
    return search.modify(plan);
  }

 private:
  Budget budget_;
  int simulate_;
  bool same_memory_;
  std::optional<SymbolicPlan> plan_;
};

const StrategyRegistrar registrar({
    .name = "optpipe",
    .summary = "tables of split backward passes and offloads for a pipeline, by list scheduling and an integer program",
    .paper = "OptPipe: Memory- and Scheduling-Optimized Pipeline Parallelism for LLM Training, arXiv 2510.05186",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate),
                               schema::optional("plan", schema::any("a Plan, as for fixed: the pipeline whose schedule is replaced"), "searched"),
                               schema::optional("same_memory", schema::boolean("no device may hold more than the fullest does with the Plan's own schedule"), "false")},
                              "options of optpipe"),
    .simplified = {"CBC with a limit on nodes instead of Gurobi with a limit on time; programs of more than 24 passes over all stages are not begun",
                   "the program keeps the order of forward and backward passes, moves weight gradients by two places at most and drops offloads",
                   "schedules are not refined while training runs; there is no cache of schedules"},
    .reconstructed = {"AdaOffload: a list scheduler, backward before forward before weight gradients; a pass leaves where the way there and back is shorter than "
                      "what runs before its turn",
                      "without `plan`: pipelines of Megatron-LM's rules, the six best by the closed form"},
    .make = [](const StrategyOptions& options, Diagnostics& diagnostics) { return std::make_unique<OptPipe>(options, diagnostics); },
});

}  // namespace
}  // namespace trainyard
