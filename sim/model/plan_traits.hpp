// What a sentence says of a Plan: the few numbers by which two Plans differ.
#pragma once

#include <string>

namespace trainyard {

/// Over all stages of the Plan; 0 and "" where there is no Plan.
struct PlanTraits {
  int stages = 0;                        ///< of the deepest pipeline
  int least_layers = 0, most_layers = 0; ///< numbered layers of a stage
  int least_tensor = 0, most_tensor = 0; ///< tensor axis of a stage
  int replicas = 0;                      ///< data ranks, of all pipelines
  double micro_batches = 0;              ///< of the pipeline that has most, a step
  double micro_batch = 0;                ///< samples that a data rank takes at once, at most
  int zero = 0;                          ///< of the first stage
  int kinds = 0;                         ///< kinds of devices
  std::string schedule, recompute;       ///< recompute: the kinds that occur, joined by "/"
};

}  // namespace trainyard
