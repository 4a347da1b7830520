// Timelines in the JSON format that Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// One document for all results that kept a trace: a process a node, a thread a stream, a complete event a task (twice
/// when it holds two streams), arrows from what made a transfer's bytes over both its ends to what needs them, a counter of
/// held bytes a processor, and a process `links` with a counter of bytes/s a link. In order of time, in microseconds with
/// whole nanoseconds. With several results the processes carry the strategy's name.
[[nodiscard]] std::string to_trace(const std::vector<CaseResult>& results);

}  // namespace trainyard
