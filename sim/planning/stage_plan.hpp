// Plans from what planners decide: runs of layers on devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Layers [first, last) of the workload's module on data x tensor devices (tensor neighbours first).
struct StageChoice {
  int first = 0, last = 0;
  std::vector<DeviceId> devices;
  int tensor = 1;
  Recompute recompute;
};

struct PipelineChoice {
  std::vector<StageChoice> stages;
  double batch = 0;                      ///< samples a step
  int micro_batches = 1;
};

/// One part with these pipelines under a named schedule; without `zero`, as the software has it. It still has to pass Plan::check.
[[nodiscard]] Plan plan_of(const std::vector<PipelineChoice>& pipelines, std::optional<int> zero = std::nullopt,
                           const std::string& schedule = "1f1b");

}  // namespace trainyard
