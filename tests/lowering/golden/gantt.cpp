#include "tests/lowering/golden/gantt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "sim/units/error.hpp"

namespace trainyard::golden {
namespace {

constexpr double kTolerance = 1e-7;  ///< of the makespan
constexpr std::size_t kWidth = 120;

/// A task on a stream.
struct Bar {
  Seconds start{}, end{};
  std::string mark;
};
struct Row {
  std::string device, stream;
  std::vector<Bar> bars;
};

/// What a task mostly is: an operator of full detail carries the pass in its label and its own kind as its only part.
TaskKind kind_of(const TaskLabel& label) { return label.parts.size() == 1 ? label.parts.front().kind : label.kind; }

char letter_of(const TaskLabel& label) {
  switch (kind_of(label)) {
    case TaskKind::forward:
      return 'F';
    case TaskKind::backward:
      return 'B';
    case TaskKind::recompute:
      return 'R';
    case TaskKind::weight_gradient:
      return 'W';
    case TaskKind::tensor:
      return 'T';
    case TaskKind::context:
      return 'C';
    case TaskKind::expert:
      return 'E';
    case TaskKind::pipeline:
      return 'P';
    case TaskKind::optimizer:
      return 'U';
    case TaskKind::offload:
      return 'M';
    case TaskKind::data:
      return label.detail.find("gather") != std::string::npos ? 'G' : label.detail == "reduce-scatter" ? 'S' : 'A';
    case TaskKind::other:
      return 'X';
  }
  return '?';
}

std::string mark_of(const TaskLabel& label) {
  const int number = label.micro_batch >= 0 ? label.micro_batch : label.layer;
  const char letter = letter_of(label);
  const char digit = number < 0 ? '-' : "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
  return {label.chunk == 1 ? char(std::tolower(letter)) : letter, digit};
}

std::string device_name(const Processor& processor) {
  return processor.devices == 1 ? processor.name : fmt::format("{} x{}", processor.name, processor.devices);
}

std::vector<Row> rows_of(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<Row> rows;
  for (const Stream& stream : graph.streams)
    rows.push_back({device_name(graph.processors[index(stream.processor)]), stream.name, {}});
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    require(timeline.status[i] == TaskStatus::done, "a picture needs every task done");
    if (timeline.end[i] - timeline.start[i] <= timeline.makespan * kTolerance) continue;
    for (const Slot& slot : graph.tasks[i].slots)
      rows[index(slot.stream)].bars.push_back({timeline.start[i], timeline.end[i], mark_of(graph.tasks[i].label)});
  }
  std::erase_if(rows, [](const Row& row) { return row.bars.empty(); });
  for (Row& row : rows) std::ranges::sort(row.bars, {}, &Bar::start);
  return rows;
}

/// Euclid's algorithm; what is below `zero` counts as nothing.
double common_divisor(double a, double b, double zero) {
  while (b > zero) {
    const double rest = std::abs(std::remainder(a, b));
    a = b;
    b = rest;
  }
  return a;
}

Seconds unit_of(const std::vector<Row>& rows, Seconds makespan) {
  double unit = makespan.value;
  for (const Row& row : rows)
    for (const Bar& bar : row.bars)
      for (const Seconds edge : {bar.start, bar.end})
        unit = common_divisor(unit, edge.value, makespan.value * kTolerance);
  return Seconds(unit);
}

std::string draw(const Row& row, Seconds unit, std::size_t columns) {
  std::string cells(2 * columns, '.');
  std::size_t free_from = 0;
  for (const Bar& bar : row.bars) {
    const auto from = std::size_t(std::lround(bar.start / unit)), to = std::size_t(std::lround(bar.end / unit));
    require(from >= free_from, "two tasks hold stream " + row.stream + " of " + row.device + " at once");
    cells.replace(2 * from, 2 * (to - from), 2 * (to - from), '-');
    cells.replace(2 * from, 2, bar.mark);
    free_from = to;
  }
  return cells;
}

/// The number of every fifth column above its place.
std::string ruler(std::size_t columns) {
  std::string line;
  for (std::size_t at = 0; at <= columns; at += 5) line += fmt::format("{:<10}", at);
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string gantt(const TaskGraph& graph, const Timeline& timeline) {
  const std::vector<Row> rows = rows_of(graph, timeline);
  const Seconds unit = unit_of(rows, timeline.makespan);
  const auto columns = std::size_t(std::lround(timeline.makespan / unit));
  std::size_t device = 0, stream = 0;
  for (const Row& row : rows)
    device = std::max(device, row.device.size()), stream = std::max(stream, row.stream.size());
  const std::size_t margin = device + stream + 3;
  require(margin + 2 * columns <= kWidth,
          fmt::format("a picture of {} columns is too wide: choose times with a common divisor", columns));
  std::string text = fmt::format("one column: {:.6g} ms\n{:{}}{}\n", unit.value * 1e3, "", margin, ruler(columns));
  const Row* above = nullptr;
  for (const Row& row : rows) {
    const bool same = above && above->device == row.device;
    text +=
        fmt::format("{:{}} {:{}}  {}\n", same ? "" : row.device, device, row.stream, stream, draw(row, unit, columns));
    above = &row;
  }
  return text;
}

}  // namespace trainyard::golden
