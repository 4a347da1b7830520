// The grid of a sweep: which values which keys of the scenario take.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// One key of the scenario and the YAML texts that stand there in turn.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  ///< at least one
};

/// `KEY=V1,V2,..`: commas inside brackets, braces and quotes belong to a value. A value `LO..HI` or `LO..HI..STEP` is a
/// range of numbers, step 1 unless given; a unit after the last number holds for all: `100..400..100 Gbps`. Throws
/// UserError.
[[nodiscard]] SweepAxis parse_axis(const std::string& text);

/// How many points the grid has. Throws UserError for a key that stands twice and beyond 1,000,000 points.
[[nodiscard]] std::size_t count_points(const std::vector<SweepAxis>& axes);

/// Key and value of each axis at a point; the last axis turns fastest.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> settings_at(const std::vector<SweepAxis>& axes,
                                                                           std::size_t point);

}  // namespace trainyard
