// One result as a JSON object: the one list of keys that the formats share.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// Every key is present in every record; values that a case does not have are null. Keys of a job over a horizon stand in records of
/// such jobs and, with `over_horizon`, in those beside them.
[[nodiscard]] nlohmann::ordered_json to_record(const CaseResult& result, bool timings, bool over_horizon = false);

/// Whether any of them ran over a horizon.
[[nodiscard]] bool any_over_horizon(const std::vector<CaseResult>& results);

}  // namespace trainyard
