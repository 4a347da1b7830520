// What one simulated training step amounts to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/task_graph.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// Exclusive exposed time by kind, the mean over devices; sums to the step time.
struct TimeBreakdown {
  Seconds forward{}, backward{}, recompute{}, tensor{}, pipeline{}, data{}, expert{}, context{}, optimizer{}, offload{}, bubble{}, other{};
  [[nodiscard]] Seconds total() const;
  TimeBreakdown& operator+=(const TimeBreakdown& added);
  TimeBreakdown& operator*=(double factor);
};

/// The kinds by name, in the order in which results list them.
struct TimePartName {
  const char* name;
  Seconds TimeBreakdown::*part;
};
inline constexpr std::array<TimePartName, 12> kTimeParts{{{"forward", &TimeBreakdown::forward},
                                                          {"backward", &TimeBreakdown::backward},
                                                          {"recompute", &TimeBreakdown::recompute},
                                                          {"tensor", &TimeBreakdown::tensor},
                                                          {"pipeline", &TimeBreakdown::pipeline},
                                                          {"data", &TimeBreakdown::data},
                                                          {"expert", &TimeBreakdown::expert},
                                                          {"context", &TimeBreakdown::context},
                                                          {"optimizer", &TimeBreakdown::optimizer},
                                                          {"offload", &TimeBreakdown::offload},
                                                          {"bubble", &TimeBreakdown::bubble},
                                                          {"other", &TimeBreakdown::other}}};

/// Bytes by class, in the order of MemoryClass.
using MemoryBreakdown = std::array<Bytes, kMemoryClasses>;

/// Memory of the device that is fullest relative to its capacity.
struct MemoryReport {
  std::string device;
  Bytes peak{}, capacity{};
  MemoryBreakdown at_peak{};
  Seconds when{};
  [[nodiscard]] bool fits() const { return peak <= capacity; }
  [[nodiscard]] Bytes missing() const { return fits() ? Bytes{} : peak - capacity; }
};

struct StepReport {
  Seconds step_time{}, first_step_time{};
  TimeBreakdown time;
  double bubble_fraction = 0;                  ///< time_breakdown.bubble / step time
  double exposed_communication_fraction = 0;
  Flops model_flops{}, hardware_flops{};       ///< a step, all devices
  bool flops_known = true;                     ///< else both say nothing
  FlopsPerSecond peak{};                       ///< sum of the devices' dense peaks of the data type
  double tokens = 0, samples = 0;              ///< a step; 0 tokens: samples have none
  std::int64_t gpus = 0;
  MemoryReport memory;
  Bytes last_stage_memory{};                   ///< allocated on the fullest device of the last stages, without what is reserved
  Bytes peak_host_memory{};
  DollarsPerSecond price{};                    ///< of all nodes that hold a device of the Plan
  bool price_known = true;
  double expert_imbalance = 0;                 ///< tokens of the busiest rank of an expert axis over the mean, worst layer; 0: no experts
  std::int64_t simulated_tasks = 0, device_classes = 0;
  std::vector<std::string> extrapolated;       ///< what lies outside measured ground
  [[nodiscard]] double tokens_per_s() const { return tokens / step_time.value; }
};

}  // namespace trainyard
