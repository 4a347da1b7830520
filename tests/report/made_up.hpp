// Values for tests of the output formats: round numbers, so that every figure can be checked by head.
#pragma once

#include "sim/model/case_result.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// 2 nodes of 2 "Fast" devices (100 TFLOPS, 16 GB) in group f, and 2 of 2 "Slow" ones (50 TFLOPS) in group s,
/// priced 7.20 and 3.60 USD/h a node.
[[nodiscard]] Cluster small_cluster();
/// "tiny", sequence 1,024, global batch 64, fp16.
[[nodiscard]] Workload small_workload();
/// 10,240 tokens in a step of `step_time`; all 300 x 2 TFLOPS unless `peak` says otherwise.
[[nodiscard]] CaseResult ran(const std::string& strategy, Seconds step_time, FlopsPerSecond peak,
                             DollarsPerSecond price);
[[nodiscard]] CaseResult did_not_fit(const std::string& strategy);
[[nodiscard]] CaseResult failed(const std::string& strategy, const std::string& why);

}  // namespace trainyard
