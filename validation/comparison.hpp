// Predicted beside measured: the rows and their errors by group.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validation/measurement.hpp"
#include "validation/prediction.hpp"

namespace trainyard {

struct ComparedRow {
  Measurement measured;
  Prediction predicted;
};

/// predicted / measured - 1, where both are there.
[[nodiscard]] std::optional<double> time_error(const ComparedRow& row);
[[nodiscard]] std::optional<double> memory_error(const ComparedRow& row);

/// Of the absolute errors; `bias` is the median of the signed ones. Nothing without rows.
struct ErrorSummary {
  std::size_t count = 0;
  double median = 0, p90 = 0, maximum = 0, bias = 0;
};
[[nodiscard]] std::optional<ErrorSummary> summarise(std::vector<double> errors);

/// The value below which a share of sorted values lies, between neighbours by their distance. Of at least one value.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double share);
/// Of at least one value, in any order.
[[nodiscard]] double median(std::vector<double> values);

/// Verdicts on rows of which it is known whether they ran out of memory.
struct MemoryVerdicts {
  std::size_t right_out = 0, wrong_out = 0, right_fit = 0, wrong_fit = 0;
  [[nodiscard]] std::size_t all() const { return right_out + wrong_out + right_fit + wrong_fit; }
};

struct GroupErrors {
  std::string kind, name;  ///< "source", "gpu", "model class", "architecture", "architecture and split" or "split"; "all"
  std::size_t rows = 0, predicted = 0;
  std::optional<ErrorSummary> time, memory;
  MemoryVerdicts verdicts;
};

/// "under 3 B", "3 to 15 B", "15 to 80 B", "80 B and more" parameters; "not built" where no model was.
[[nodiscard]] std::string model_class(const ComparedRow& row);

/// "dense", "mixture of experts", ..; "not built" where no model was.
[[nodiscard]] std::string architecture(const ComparedRow& row);

/// All rows; by source, GPU, model class, architecture and split, by name.
[[nodiscard]] std::vector<GroupErrors> group_errors(const std::vector<ComparedRow>& rows);

/// Reasons of rows without a prediction with their counts, most frequent first.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> counted_reasons(const std::vector<ComparedRow>& rows);

}  // namespace trainyard
