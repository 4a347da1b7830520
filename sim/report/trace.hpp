// Timelines in the JSON format that Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// One document for all results that kept a trace: a process a node, a thread a stream, a complete event a task (twice
/// when it holds two streams), a counter of held bytes a processor. Times in microseconds. With several results the
/// processes carry the strategy's name.
[[nodiscard]] std::string to_trace(const std::vector<CaseResult>& results);

}  // namespace trainyard
