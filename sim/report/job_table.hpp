// The table of jobs over a horizon: where the time and the money went.
#pragma once

#include <string>
#include <vector>

#include "sim/report/table.hpp"

namespace trainyard {

/// Whether any case of the block ran over a horizon.
[[nodiscard]] bool has_jobs(const TableBlock& block);

/// A row a case in the given order; those without a number with their reason.
[[nodiscard]] std::string job_rows_text(const TableBlock& block, const std::vector<std::size_t>& order, const TableStyle& style);

/// Below the table: the Plan that trained longest, what was simulated for it, the same job on demand.
[[nodiscard]] std::string job_notes(const CaseResult& result, std::size_t place, const std::string& row_name);

}  // namespace trainyard
