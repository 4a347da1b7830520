// Courses of jobs over a horizon as events for Perfetto.
#pragma once

#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// For every result that kept one, two processes from `first_process` on, without a comma at either end; "": none kept one. The job: a thread
/// with what it was busy with (steps, lost work, saving, changing, waiting, idle), one with its Plans, and counters of nodes, speed, tokens
/// and dollars. Its nodes: a thread each with the time for which it was had, and one with what it fetched from whom.
[[nodiscard]] std::string job_trace_events(const std::vector<CaseResult>& results, int first_process);

}  // namespace trainyard
