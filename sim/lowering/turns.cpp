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
      for (; at != end; ++at) write(*at->op, at->cell_class);
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

  void write(const ScheduledOperation& op, int cell_class) {
    std::vector<TaskId> before;
    for (const int device : devices(cell_class))
      if (const auto last = last_.find(device); last != last_.end()) add(last->second, before);
    const TaskSpan span = writers_.at(cell_class)->write(op, before);
    for (const auto& [task, receivers] : arrived_)
      if (std::ranges::find(receivers, cell_class) != receivers.end()) emission_.edge(task, span.first);
    for (const int device : devices(cell_class)) {
      if (std::vector<TaskId>* waiting = std::exchange(waiting_[device], op.kind == 'W' ? nullptr : &emission_.cells[cell_class].pass(op).after))
        add(span.first, *waiting);
      last_[device] = span.last;
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
  std::map<int, TaskId> last_;                                 ///< [device class]
  std::map<int, std::vector<TaskId>*> waiting_;                ///< [device class]: where its next operation's first task is to be noted
};

}  // namespace

void write_by_turns(Emission& emission, const WriterOf& writer_of) {
  for (const std::vector<int>& together : classes_in_turn(emission)) TurnWriter(emission, together, writer_of).write();
}

}  // namespace trainyard
