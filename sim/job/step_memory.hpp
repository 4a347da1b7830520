// What was simulated, found again by its graph, in which names do not count: two clusters that lose different but alike nodes share the
// answer, and so do cases that differ in their recovery only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "sim/job/step_beside_upload.hpp"
#include "sim/lowering/scramble.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

class StepMemory {
 public:
  /// Null: not simulated yet. Each is counted once for whoever needs it.
  [[nodiscard]] const SimulationOutcome* find(std::uint64_t graph) { return find_in(steps_, graph); }
  void keep(std::uint64_t graph, const SimulationOutcome& outcome) { keep_in(steps_, graph, outcome); }
  /// Moves of state, and steps beside an upload: under a key of their own.
  [[nodiscard]] const Timeline* find_moves(std::uint64_t graph) { return find_in(moves_, scramble(graph + 1)); }
  const Timeline& keep_moves(std::uint64_t graph, Timeline timeline) { return keep_in(moves_, scramble(graph + 1), std::move(timeline)); }
  [[nodiscard]] const StepBesideUpload* find_beside(std::uint64_t graph) { return find_in(beside_, scramble(graph + 2)); }
  const StepBesideUpload& keep_beside(std::uint64_t graph, StepBesideUpload beside) { return keep_in(beside_, scramble(graph + 2), beside); }

  /// The simulations that were needed since the last exchange, whoever made them; `other` takes their place.
  using Needed = std::set<std::uint64_t>;
  [[nodiscard]] Needed exchange_needed(Needed other) { return std::exchange(needed_, std::move(other)); }
  void need(const Needed& more) { needed_.insert(more.begin(), more.end()); }
  [[nodiscard]] std::int64_t needed() const { return std::int64_t(needed_.size()); }

 private:
  template <class T>
  const T* find_in(std::map<std::uint64_t, T>& all, std::uint64_t key) {
    const auto known = all.find(key);
    if (known == all.end()) return nullptr;
    needed_.insert(key);
    return &known->second;
  }
  template <class T>
  const T& keep_in(std::map<std::uint64_t, T>& all, std::uint64_t key, T value) {
    needed_.insert(key);
    return all.emplace(key, std::move(value)).first->second;
  }

  std::map<std::uint64_t, SimulationOutcome> steps_;
  std::map<std::uint64_t, Timeline> moves_;
  std::map<std::uint64_t, StepBesideUpload> beside_;
  Needed needed_;
};

/// The strategy's answer for an arrangement of nodes, and what it simulated for it.
struct KnownAnswer {
  PlanOrInfeasible plan;
  StepMemory::Needed needed;
};

/// Of cases over a horizon that are one strategy on one cluster under one seed, so that only their recoveries differ.
struct JobMemory {
  StepMemory steps;
  std::map<std::uint64_t, KnownAnswer> answers;  ///< by arrangement
};

}  // namespace trainyard
