// A Timeline as a picture in letters.
#pragma once

#include <string>

#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard::golden {

/// One row a device and stream that has work, two characters a time unit: the mark of the task that begins there
/// (letter of its kind, digit of its micro-batch, else of its first layer; small letters: second chunk), `--` while it
/// goes on, `..` idle. The unit is the greatest time that divides every start and end, so nothing is rounded.
/// InternalError if the times have no such unit within 120 characters a row, or if two tasks hold one stream at once.
/// The letters are in the README.
[[nodiscard]] std::string gantt(const TaskGraph& graph, const Timeline& timeline);

}  // namespace trainyard::golden
