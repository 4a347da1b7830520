#include "sim/cli/explain_memory.hpp"

#include <fmt/format.h>

#include "sim/planning/estimate.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// A written Plan needs no simulation to be known.
class NoSimulator final : public Simulator {
 public:
  std::vector<SimulationOutcome> simulate(std::span<const Plan>) override { throw InternalError("a written Plan was to be simulated"); }
};

std::string stage_line(const StageMemory& stage, bool many_pipelines) {
  std::string parts;
  for (int i = 0; i < kMemoryClasses; ++i)
    if (const Bytes bytes = stage.memory.at_peak[i]; bytes > Bytes(0))
      parts += fmt::format("{}{} {}", parts.empty() ? "" : " · ", name(static_cast<MemoryClass>(i)), to_text(bytes));
  const std::string pipeline = many_pipelines ? fmt::format("pipeline {}, ", stage.pipeline) : "";
  return fmt::format("    {}stage {}: {} of {} ({}) {}{}\n", pipeline, stage.stage, to_text(stage.memory.peak), to_text(stage.memory.capacity), parts,
                     stage.memory.device, stage.memory.fits() ? "" : ", does not fit");
}

std::string plan_text(const Plan& plan, const Variant& variant) {
  const Router router(variant.cluster);
  const std::vector<StageMemory> stages = memory_by_stage(plan, variant.cluster, variant.workload, router);
  std::string text = "  " + one_line(plan, variant.cluster, variant.workload) + "\n";
  for (const StageMemory& stage : stages) text += stage_line(stage, stages.back().pipeline > 0);
  return text;
}

std::string choice_text(const StrategyChoice& choice, const Scenario& scenario, const Variant& variant) {
  Diagnostics diagnostics;
  NoSimulator simulator;
  try {
    const auto strategy = StrategyRegistry::instance().find(choice.name)->make({View(choice.options), scenario.directory}, diagnostics);
    diagnostics.throw_if_any();
    const PlanOrInfeasible answer = strategy->plan({variant.cluster, variant.workload, simulator, scenario.seed});
    if (const auto* infeasible = std::get_if<Infeasible>(&answer)) return fmt::format("  does not fit: {}\n", infeasible->why);
    return plan_text(std::get<Planned>(answer).plan, variant);
  } catch (const UserError& error) {
    return fmt::format("  {}\n", error.what());
  }
}

}  // namespace

std::string memory_text(const Scenario& scenario, const Variant& variant) {
  std::string text;
  for (const StrategyChoice& choice : scenario.strategies)
    if (choice.name == "fixed") text += choice_text(choice, scenario, variant);
  return text.empty() ? "" : "memory of the fullest device of each stage, in closed form\n" + text;
}

}  // namespace trainyard
