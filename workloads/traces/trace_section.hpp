// `workload.trace`: which files, whose ranks, and what they leave open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/execution_trace.hpp"

namespace trainyard {

/// Keys of `workload` beside `trace`.
[[nodiscard]] std::vector<SchemaField> trace_fields();

/// Reads every file of the section; nothing, with the mistakes in `diagnostics`, where they cannot be replayed.
/// `recorded_type` stays empty.
[[nodiscard]] std::shared_ptr<TraceReplay> read_trace_section(const View& workload, const std::string& directory,
                                                              Diagnostics& diagnostics);

/// A trace by itself, as `--against` names it: `format` "" is told by the files. UserError in one line.
[[nodiscard]] ExecutionTrace read_trace(const std::string& path, const std::string& format);

}  // namespace trainyard
