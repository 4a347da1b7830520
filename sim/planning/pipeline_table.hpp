// Schedules of a pipeline as tables of operations F, B, W, O and R: what stages need, how long tables take, and a Plan that has them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/model/plan.hpp"
#include "sim/planning/strategy.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// What one micro-batch takes on a stage.
struct TableStage {
  Seconds forward{}, input{}, weight{};  ///< input: gradients of the input, with what is computed again before them
  Seconds transfer{};                    ///< one message to the next stage
  Seconds copy{};                        ///< of a pass's activations to the host or back, alone on its way
  int passes = 1;                        ///< whose activations fit on the device at once
  [[nodiscard]] Seconds work() const { return forward + input + weight; }
};

/// The stages of the only pipeline of a Plan of one chunk a stage, or why it is not such a Plan. `same_memory`: no device holds more than
/// the fullest does under the Plan's own schedule, by the closed form.
[[nodiscard]] std::variant<std::vector<TableStage>, std::string> table_stages(const Plan& plan, const PlanningContext& context, const Router& router,
                                                                              bool same_memory = false);

/// One stage's operations in order, and which passes leave the device between their forward and backward pass.
struct StageLanes {
  std::vector<Operation> compute;
  std::vector<Operation> offloads;
  std::vector<Entry> reloads;
};

struct PipelineTables {
  std::vector<StageLanes> stages;
  Seconds time{};                        ///< from the first forward pass to the last weight gradient
};

/// How a list scheduler fills a stage.
struct FillRule {
  int ahead = 0;                         ///< forward passes beyond 1f1b's that may be in flight
  bool offload = false;                  ///< passes may leave the device
  double patience = 0;                   ///< share of a W that a stage waits for an F or B rather than begin the W
};

/// Backward before forward before weight gradients, each as soon as what it needs is there and the device has room: AdaOffload as far as
/// its text goes (OptPipe, arXiv 2510.05186). Nothing where a stage has no room for one pass.
[[nodiscard]] std::optional<PipelineTables> fill_tables(const std::vector<TableStage>& stages, int micro_batches, const FillRule& rule);

/// The Plan with these tables in place of its schedule, and with activations at home on the host where any leave the device.
[[nodiscard]] Plan with_tables(const Plan& plan, const PipelineTables& tables);

}  // namespace trainyard
