// A replayed trace for people, and as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

struct TableBlock;

/// Whether the rows of a block are replays: all are, or none.
[[nodiscard]] bool has_replay(const TableBlock& block);

/// A line a result (step time, the recorded one beside it), then one a rank (the slowest few of many), then what a recorded timeline says.
[[nodiscard]] std::string replay_rows_text(const TableBlock& block);

/// Under the key `replay` of a record.
[[nodiscard]] nlohmann::ordered_json replay_record(const ReplayReport& replay);

}  // namespace trainyard
