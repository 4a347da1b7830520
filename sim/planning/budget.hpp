// The counted work that a search may do: never the clock, so that the same input gives the same Plan on any machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

/// Evaluations of candidates by a strategy's cost model; a step that is simulated counts kSimulation of them. A planner whose budget
/// is spent returns the best it has seen and sets Planned::truncated.
class Budget {
 public:
  /// What simulating one step counts: about what a thousand closed-form estimates take.
  static constexpr std::int64_t kSimulation = 1000;

  explicit Budget(std::int64_t evaluations) : left_(evaluations) {}

  /// Takes `count` evaluations; false, with nothing taken, where fewer are left.
  [[nodiscard]] bool take(std::int64_t count = 1) {
    if (count > left_) {
      ran_out_ = true;
      return false;
    }
    left_ -= count;
    return true;
  }
  [[nodiscard]] std::int64_t left() const { return left_; }
  [[nodiscard]] bool ran_out() const { return ran_out_; }   ///< whether something was refused

 private:
  std::int64_t left_;
  bool ran_out_ = false;
};

/// The first of `plans`, as many as the budget pays for, simulated. Shorter than `plans` where it ran out.
[[nodiscard]] std::vector<SimulationOutcome> simulate_within(Budget& budget, Simulator& simulator, std::span<const Plan> plans);

/// The option `budget` of a strategy, and what it was set to.
[[nodiscard]] SchemaField budget_option(std::int64_t evaluations);
[[nodiscard]] Budget budget_of(const View& options, std::int64_t evaluations);

}  // namespace trainyard
