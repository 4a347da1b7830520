// Predicted beside measured as text.
#pragma once

#include <string>
#include <vector>

#include "validation/comparison.hpp"

namespace trainyard {

/// Tables of errors by group, counted reasons of rows that were not predicted, and the `worst` rows by time error.
[[nodiscard]] std::string comparison_table(const std::vector<ComparedRow>& rows, std::size_t worst);
/// `schema: trainyard/validation/1`; one object a measurement under `rows`, errors under `groups`. Absent numbers are
/// null.
[[nodiscard]] std::string comparison_json(const std::vector<ComparedRow>& rows, const std::string& version);
/// The rows alone; absent numbers are empty.
[[nodiscard]] std::string comparison_csv(const std::vector<ComparedRow>& rows);

}  // namespace trainyard
