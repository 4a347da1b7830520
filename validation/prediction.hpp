// Measurements simulated: what Trainyard says beside what was measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/workers.hpp"
#include "sim/model/error_band.hpp"
#include "validation/measurement.hpp"

namespace trainyard {

enum class Ablation;

enum class PredictionStatus {
  ok,       ///< predicted, perhaps that it runs out of memory
  skipped,  ///< a construct or workload that is not simulated yet, or a row that is no scenario; `reason`
  error     ///< the simulation failed; `reason`
};

struct Prediction {
  PredictionStatus status = PredictionStatus::ok;
  std::string reason;
  double parameters = 0;  ///< of the model; 0 when it was not built
  std::string architecture;  ///< as `architecture_of` (sim/job); empty when it was not built
  double sequence_length = 0, global_batch = 0;
  std::optional<double> step_time_s, peak_memory_bytes;
  std::optional<double> ideal_time_s;  ///< model FLOPs of the step over the devices' peak
  std::optional<double> fill;          ///< peak memory over the capacity of the fullest device
  std::optional<bool> out_of_memory;
  Ground ground;
};

/// In the order of `measurements`. A step that does not fit the memory still has its time. Each row is a process of its
/// own, `jobs` at a time; one that dies costs itself only. `without`: a part of the model that is switched off.
[[nodiscard]] std::vector<Prediction> predict(const std::vector<Measurement>& measurements, int jobs,
                                              const WorkerNursery& nursery,
                                              const std::function<void(std::size_t done, std::size_t all)>& progress,
                                              Ablation without = Ablation{});

}  // namespace trainyard
