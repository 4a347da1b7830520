#include "sim/planning/finalists.hpp"

#include <algorithm>

#include "sim/cost/memory.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Reasons kept for candidates that were not taken; more help nobody.
constexpr std::size_t kRejectedKept = 50;
/// Candidates that are looked at in search of those that fit.
constexpr std::size_t kMostLookedAt = 1000;
/// Rounds of simulation: in each but the last, nothing fitted.
constexpr int kMostRounds = 3;

}  // namespace

Finalists::Finalists(const PlanningContext& context, const Router& router, int simulate)
    : context_(context), router_(router), simulate_(simulate) {}

void Finalists::add(Plan plan, Seconds estimate) {
  const bool known = std::ranges::any_of(candidates_, [&](const Candidate& c) { return c.estimate == estimate && c.plan == plan; });
  if (!known) candidates_.push_back({std::move(plan), estimate});
}

std::optional<std::string> Finalists::check_and_add(Plan plan) {
  if (auto problems = plan.check(context_.cluster, context_.workload); !problems.empty()) return std::move(problems.front());
  const Seconds time = estimate_step(plan, context_.cluster, context_.workload, router_).step_time;
  add(std::move(plan), time);
  return std::nullopt;
}

std::optional<Seconds> Finalists::best_estimate() const {
  const auto best = std::ranges::min_element(candidates_, {}, &Candidate::estimate);
  return best == candidates_.end() ? std::nullopt : std::optional(best->estimate);
}

void Finalists::reject(const Plan& plan, std::string why) {
  if (rejected_.size() < kRejectedKept) rejected_.push_back({one_line(plan, context_.cluster, context_.workload), std::move(why)});
}

void Finalists::miss(const Plan& plan, const MemoryReport& memory) {
  reject(plan, shortfall_text(memory));
  if (!nearest_miss_ || memory.missing() < nearest_miss_->missing()) nearest_miss_ = memory;
}

/// The next candidates that may be simulated.
std::vector<Finalists::Candidate> Finalists::fitting() {
  std::vector<Candidate> chosen;
  for (; next_ < std::min(candidates_.size(), kMostLookedAt) && int(chosen.size()) < simulate_; ++next_) {
    const Candidate& candidate = candidates_[next_];
    if (auto wrong = candidate.plan.check(context_.cluster, context_.workload); !wrong.empty()) {
      reject(candidate.plan, std::move(wrong.front()));
      continue;
    }
    const StepEstimate estimate = estimate_step(candidate.plan, context_.cluster, context_.workload, router_);
    if (estimate.memory.fits())
      chosen.push_back(candidate);
    else
      miss(candidate.plan, estimate.memory);
  }
  return chosen;
}

std::optional<Planned> Finalists::fastest(const std::vector<Candidate>& chosen) {
  std::vector<Plan> plans;
  for (const Candidate& candidate : chosen) plans.push_back(candidate.plan);
  const std::vector<SimulationOutcome> outcomes = context_.simulator.simulate(plans);
  const Candidate* best = nullptr;
  Seconds best_time{};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto* report = std::get_if<StepReport>(&outcomes[i]);
    if (!report) {
      reject(plans[i], std::get<SimulationError>(outcomes[i]).why);
    } else if (!report->memory.fits()) {
      miss(plans[i], report->memory);
    } else if (!best || report->step_time < best_time) {
      if (best) reject(best->plan, "slower: " + to_text(best_time));
      best = &chosen[i];
      best_time = report->step_time;
    } else {
      reject(plans[i], "slower: " + to_text(report->step_time));
    }
  }
  if (!best) return std::nullopt;
  return Planned{best->plan, best->estimate, {}, false};
}

PlanOrInfeasible Finalists::choose(const std::string& nothing, bool truncated) {
  std::ranges::stable_sort(candidates_, {}, &Candidate::estimate);
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<Candidate> chosen = fitting();
    if (chosen.empty()) break;
    std::optional<Planned> planned = fastest(chosen);
    if (!planned) continue;
    planned->rejected = std::move(rejected_);
    planned->truncated = truncated;
    return std::move(*planned);
  }
  if (truncated && candidates_.empty()) return Infeasible{"its budget ended before it had seen a Plan", std::nullopt, {}};
  if (nearest_miss_) return Infeasible{shortfall_text(*nearest_miss_), nearest_miss_, std::move(rejected_)};
  return Infeasible{rejected_.empty() ? nothing : rejected_.front().why, std::nullopt, std::move(rejected_)};
}

SchemaField simulate_option(int candidates) {
  return schema::optional("simulate", schema::integer(between(1, 10000), "candidates, the best by its own model, that are simulated"),
                          std::to_string(candidates));
}

int simulate_of(const View& options, int candidates) { return int(options["simulate"].integer_or(candidates)); }

}  // namespace trainyard
