// Counted work.
#include <catch2/catch.hpp>

#include "sim/planning/budget.hpp"

using namespace trainyard;

namespace {

class Counting final : public Simulator {
 public:
  std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override {
    simulated += plans.size();
    return std::vector<SimulationOutcome>(plans.size(), SimulationError{"not simulated"});
  }
  std::size_t simulated = 0;
};

}  // namespace

TEST_CASE("a budget gives what it has and nothing of what it has not") {
  Budget budget(10);
  CHECK(budget.take(7));
  CHECK_FALSE(budget.take(4));
  CHECK(budget.ran_out());
  CHECK(budget.left() == 3);
  CHECK(budget.take(3));
  CHECK_FALSE(budget.take());
}

TEST_CASE("steps are simulated as long as the budget pays for them") {
  Counting simulator;
  const std::vector<Plan> plans(5);
  Budget budget(2 * Budget::kSimulation + 999);
  CHECK(simulate_within(budget, simulator, plans).size() == 2);
  CHECK(simulator.simulated == 2);
  CHECK(budget.left() == 999);
  CHECK(budget.ran_out());
}
