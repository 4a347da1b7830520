// One result as a JSON object: the one list of keys that the formats share.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// Every key is present in every record; values that a case does not have are null.
[[nodiscard]] nlohmann::ordered_json to_record(const CaseResult& result, bool timings);

}  // namespace trainyard
