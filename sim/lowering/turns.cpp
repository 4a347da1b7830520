#include "sim/lowering/turns.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace trainyard {
namespace {

using WriterOf = std::function<std::unique_ptr<OperationWriter>(int)>;

/// Cell classes whose devices work for them in turn, or exchange between turns.
std::vector<std::vector<int>> classes_in_turn(const Emission& emission) {
  std::vector<int> group(emission.symmetry.cells.classes());
  std::iota(group.begin(), group.end(), 0);
  const auto join = [&](int a, int b) {
    if (group[a] != group[b]) std::ranges::replace(group, std::max(group[a], group[b]), std::min(group[a], group[b]));
  };
  std::map<int, int> first_on;
  for (int c = 0; c < int(group.size()); ++c)
    for (const int device : emission.resources.cell_devices[c]) join(c, first_on.try_emplace(device, c).first->second);
  for (const CommunicatorClass& exchange : emission.resources.communicators)
    if (exchange.first->kind == CommunicatorKind::reshard_forward || exchange.first->kind == CommunicatorKind::reshard_backward)
      for (const int cell : exchange.first->cells) join(emission.cell_class(cell), emission.cell_class(exchange.first->cells.front()));
  std::map<int, std::vector<int>> groups;
  for (int c = 0; c < int(group.size()); ++c) groups[group[c]].push_back(c);
  std::vector<std::vector<int>> in_order;
  for (auto& [first, classes] : groups) in_order.push_back(std::move(classes));
  return in_order;
}

/// Writes operations turn by turn: the compute stream's order is that of the tasks in the graph.
class TurnWriter {
 public:
  TurnWriter(Emission& emission, const std::vector<int>& classes, const WriterOf& writer_of) : emission_(emission) {
    for (const int c : classes) {
      writers_[c] = writer_of(c);
      for (const ScheduledOperation& op : emission.placement.role(emission.symmetry.cells.first[c]).order) turns_.push_back({&op, c});
    }
    std::ranges::stable_sort(turns_, {}, [](const Turn& turn) { return turn.op->turn; });
  }

  void write() {
    for (auto at = turns_.begin(); at != turns_.end();) {
      const auto end = std::find_if(at, turns_.end(), [&](const Turn& other) { return other.op->turn != at->op->turn; });
      reshard({at, end});
      while (at != end) {
        const std::size_t count = end - at == 1 && end != turns_.end() && are_pair(*at, *end) ? 2 : 1;
        write({at, count});
        at += std::ptrdiff_t(count);
        if (count == 2) break;
      }
    }
    for (const auto& [c, writer] : writers_) writer->finish();
    add_buffers();
    for (const auto& [before, writer] : writers_)
      for (const auto& [after, other] : writers_) {
        if (std::ranges::find_first_of(devices(before), devices(after)) == devices(before).end()) continue;
        emission_.cells[before].beside.push_back(after);
        // A first collective is ordered by no compute stream.
        emission_.edge(emission_.cells[before].optimizer, emission_.cells[after].first, 1);
      }
  }

 private:
  struct Turn {
    const ScheduledOperation* op;
    int cell_class;
  };

  const std::vector<int>& devices(int cell_class) const { return emission_.resources.cell_devices[cell_class]; }

  void reshard(std::span<const Turn> turns) {
    std::vector<int> classes;
    for (const Turn& turn : turns) classes.push_back(turn.cell_class);
    arrived_ = emit_resharding(emission_, *turns.front().op, classes);
  }

  /// A forward and a backward pass next to each other, of which none needs the other.
  bool are_pair(const Turn& first, const Turn& second) const {
    const StageRole &one = role(first.cell_class), &other = role(second.cell_class);
    const bool hide = one.hides_exchanges && other.hides_exchanges && one.sections == 1 && other.sections == 1;
    const bool apart = first.op->micro_batch != second.op->micro_batch || one.pipeline != other.pipeline;
    return hide && apart && first.op->kind == 'F' && second.op->kind == 'B' && devices(first.cell_class) == devices(second.cell_class);
  }

  const StageRole& role(int cell_class) const { return emission_.placement.role(emission_.symmetry.cells.first[cell_class]); }

  /// One operation, or a pair that runs together.
  void write(std::span<const Turn> together) {
    const std::vector<int>& on = devices(together.front().cell_class);
    std::vector<TaskId> before, starts, ends;
    for (const int device : on)
      for (const TaskId last : last_[device]) add(last, before);
    for (const Turn& turn : together) {
      const Turn& partner = &turn == &together.front() ? together.back() : together.front();
      const std::optional<Bytes> beside = together.size() > 1 ? std::optional(writers_.at(partner.cell_class)->transient(*partner.op)) : std::nullopt;
      const TaskSpan span = writers_.at(turn.cell_class)->write(*turn.op, before, beside);
      for (const auto& [task, receivers] : arrived_)
        if (std::ranges::find(receivers, turn.cell_class) != receivers.end()) emission_.edge(task, span.first);
      starts.push_back(span.first);
      ends.push_back(span.last);
    }
    for (const int device : on) {
      for (std::vector<TaskId>* waiting : waiting_[device])
        for (const TaskId start : starts) add(start, *waiting);
      waiting_[device].clear();
      for (const Turn& turn : together)
        if (turn.op->kind != 'W') waiting_[device].push_back(&emission_.cells[turn.cell_class].pass(*turn.op).after);
      last_[device] = ends;
    }
  }

  static void add(TaskId task, std::vector<TaskId>& tasks) {
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }

  void add_buffers() {
    std::map<int, Bytes> most;
    for (const auto& [c, writer] : writers_)
      for (const int device : devices(c)) most[device] = std::max(most[device], writer->buffers());
    for (const auto& [device, bytes] : most)
      if (bytes > Bytes(0)) emission_.lowered.graph.residents.push_back({id_at<ProcessorId>(device), MemoryClass::buffers, bytes});
  }

  Emission& emission_;
  std::map<int, std::unique_ptr<OperationWriter>> writers_;    ///< by cell class
  std::vector<Turn> turns_;
  std::vector<std::pair<TaskId, std::vector<int>>> arrived_;   ///< exchanges before this turn, and who waits for them
  std::map<int, std::vector<TaskId>> last_;                    ///< [device class]
  std::map<int, std::vector<std::vector<TaskId>*>> waiting_;   ///< [device class]: where its next operation's first tasks are to be noted
};

}  // namespace

void write_by_turns(Emission& emission, const WriterOf& writer_of) {
  for (const std::vector<int>& together : classes_in_turn(emission)) TurnWriter(emission, together, writer_of).write();
}

}  // namespace trainyard
