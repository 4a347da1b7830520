// The end of most searches: candidates that a planner's own model ranks best are simulated, and the fastest that fits is taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/strategy.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

class Finalists {
 public:
  /// `simulate`: how many candidates are simulated at most; the first that fit in closed form, by estimate.
  Finalists(const PlanningContext& context, const Router& router, int simulate);

  /// Equal Plans count once; ties go to the one that was added first.
  void add(Plan plan, Seconds estimate);
  /// A Plan of which the search itself knows no time: added with the closed form's, or, where Plan::check refuses it, its first problem.
  [[nodiscard]] std::optional<std::string> check_and_add(Plan plan);
  [[nodiscard]] bool empty() const { return candidates_.empty(); }
  /// Fastest, by estimate, of what was added; nothing yet where nothing was.
  [[nodiscard]] std::optional<Seconds> best_estimate() const;

  /// Every Plan that Plan::check refuses or that does not fit is put aside with its reason. `nothing`: the reason where no candidate
  /// was added by a search that was not `truncated` (as in Planned).
  [[nodiscard]] PlanOrInfeasible choose(const std::string& nothing, bool truncated = false);

 private:
  struct Candidate {
    Plan plan;
    Seconds estimate{};
  };

  [[nodiscard]] std::vector<Candidate> fitting();
  [[nodiscard]] std::optional<Planned> fastest(const std::vector<Candidate>& chosen);
  void reject(const Plan& plan, std::string why);
  void miss(const Plan& plan, const MemoryReport& memory);

  const PlanningContext& context_;
  const Router& router_;
  int simulate_ = 1;
  std::vector<Candidate> candidates_;
  std::size_t next_ = 0;                 ///< of the sorted candidates, the first that was not looked at
  std::vector<Rejected> rejected_;
  std::optional<MemoryReport> nearest_miss_;
};

/// The option `simulate` of a strategy, and what it was set to.
[[nodiscard]] SchemaField simulate_option(int candidates);
[[nodiscard]] int simulate_of(const View& options, int candidates);

}  // namespace trainyard
