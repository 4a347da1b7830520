#include "sim/planning/budget.hpp"

#include <string>

namespace trainyard {

std::vector<SimulationOutcome> simulate_within(Budget& budget, Simulator& simulator, std::span<const Plan> plans) {
  std::size_t paid = 0;
  while (paid < plans.size() && budget.take(Budget::kSimulation)) ++paid;
  return paid == 0 ? std::vector<SimulationOutcome>{} : simulator.simulate(plans.first(paid));
}

SchemaField budget_option(std::int64_t evaluations) {
  return schema::optional("budget", schema::integer(between(1, 1e12), "evaluations of candidates; a simulated step counts 1000"),
                          std::to_string(evaluations));
}

Budget budget_of(const View& options, std::int64_t evaluations) { return Budget(options["budget"].integer_or(evaluations)); }

}  // namespace trainyard
