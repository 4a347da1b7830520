// A strategy whose Plan is one search with a budget.
#pragma once

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {

/// `Search(context, budget, simulate).search()`, with the options `budget` and `simulate` or their defaults.
template <class Search>
class SearchedStrategy final : public Strategy {
 public:
  SearchedStrategy(const StrategyOptions& options, std::int64_t budget, int simulate)
      : budget_(budget_of(options.values, budget)), simulate_(simulate_of(options.values, simulate)) {}
  PlanOrInfeasible plan(const PlanningContext& context) override { return Search(context, budget_, simulate_).search(); }

 private:
  Budget budget_;
  int simulate_;
};

}  // namespace trainyard
