// How wrong predictions of such runs were where they could be compared with measurements.
#pragma once

#include <string>

namespace trainyard {

/// What a prediction's error depends on; `name`s of the groups that errors are drawn for. "mixed": of GPUs of several generations.
struct Ground {
  std::string generation;        ///< of the GPUs, e.g. "Ampere"
  std::string model;             ///< by parameters, e.g. "3 to 15 B", or "mixture of experts"
  std::string nodes;             ///< "1 node", "2 to 8 nodes", ..
  friend bool operator==(const Ground&, const Ground&) = default;
};

/// Errors of the step time, predicted / measured - 1, of the nearest group with enough rows.
struct ErrorBand {
  std::string group;             ///< e.g. "Ampere, 3 to 15 B, 1 node"
  int rows = 0;
  double median = 0;             ///< of the absolute errors
  double low = 0, high = 0;      ///< 10th and 90th percentile
  double eight_of_ten = 0;       ///< 80th percentile of the absolute errors
};

}  // namespace trainyard
