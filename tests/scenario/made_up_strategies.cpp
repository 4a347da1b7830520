// Two strategies that plan nothing: the section `strategies:` is checked without the real ones.
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

class Nothing final : public Strategy {
 public:
  PlanOrInfeasible plan(const PlanningContext&) override { return Infeasible{"plans nothing", {}, {}}; }
};

const StrategyRegistrar registered_plain(StrategyInfo{
    "plain_planner",
    "plans nothing",
    "",
    schema::object({}, "no options"),
    {},
    {},
    [](const StrategyOptions&, Diagnostics&) { return std::make_unique<Nothing>(); }});

/// Refuses odd budgets, which no schema can say.
std::unique_ptr<Strategy> make_even(const StrategyOptions& options, Diagnostics& diagnostics) {
  if (const View budget = options.values["budget"]; budget && budget.integer() % 2 != 0)
    diagnostics.add(budget.place(), "an even number is needed");
  return std::make_unique<Nothing>();
}

const StrategyRegistrar registered_even(StrategyInfo{
    "even_planner",
    "plans nothing within a budget",
    "",
    schema::object({schema::optional("budget", schema::integer(between(0, 1000), "evaluations"), "100")}, "options"),
    {},
    {},
    make_even});

}  // namespace
}  // namespace trainyard
