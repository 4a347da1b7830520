// The keys that a result gains over a horizon (design.md §3).
#pragma once

#include <nlohmann/json.hpp>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// Every key; null where the case did not run over a horizon or has no such figure.
void add_job_record(nlohmann::ordered_json& record, const CaseResult& result);

}  // namespace trainyard
