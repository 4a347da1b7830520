// Steps that were simulated, found again by their graphs, in which names do not count: two clusters that lose different but alike
// nodes share the answer.
#pragma once

#include <cstdint>
#include <map>

#include "sim/model/task_graph.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

class StepMemory {
 public:
  /// Null: not simulated yet.
  [[nodiscard]] const SimulationOutcome* find(std::uint64_t graph) const {
    const auto known = known_.find(graph);
    return known == known_.end() ? nullptr : &known->second;
  }
  void keep(std::uint64_t graph, const SimulationOutcome& outcome) {
    ++simulated_;
    known_.emplace(graph, outcome);
  }
  void count(std::int64_t more) { simulated_ += more; }
  [[nodiscard]] std::int64_t simulated() const { return simulated_; }  ///< in full

 private:
  std::map<std::uint64_t, SimulationOutcome> known_;
  std::int64_t simulated_ = 0;
};

}  // namespace trainyard
