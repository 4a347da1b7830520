// One operation of a cell as tasks: a merged one, or a chain of kernels and collectives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/lowering/emission.hpp"

namespace trainyard {

struct SliceStep;

/// The pieces of one operation: `layers` run in slices where the micro-batch is cut into them, what stands around them does not.
struct PassPieces {
  std::vector<TimedPiece> before, layers, behind;
};

/// Writes pieces in order; the chain begins and ends in one task each, so that others can hang on it.
class ChainWriter {
 public:
  /// `exchanges`: of this operation, by communicator class, so far: exchanges of cells of several classes meet by their number.
  ChainWriter(Emission& emission, const std::vector<int>& devices, const GroupClasses& groups, TaskLabel label,
              const ScheduledOperation& op, std::map<int, int>& exchanges);

  /// One task of the exact total.
  TaskSpan merged(const PassPieces& pieces, const LayerCut& cut);
  /// Kernels between two collectives are one task, or with `each_operator` a task each; collectives are flows.
  TaskSpan chain(const PassPieces& pieces, const LayerCut& cut, bool each_operator);

 private:
  void add(const std::vector<TimedPiece>& pieces, bool each_operator);
  void add_slices(const std::vector<TimedPiece>& pieces, const LayerCut& cut, bool each_operator);
  TaskId add_run(const std::vector<TimedPiece>& pieces, const SliceStep& step);
  TaskId add_kernel(const Kernel& kernel, std::vector<TimePart> parts, const std::string& detail);
  std::vector<TaskId> add_collectives(const TimedPiece& piece);
  TaskId* meeting_of(int group, const TimedPiece& piece);
  void link(TaskId task, const std::vector<TaskId>& after);
  void flush();
  void write_beside(const TimedPiece& piece);
  void write_together(std::vector<TaskId> tasks);
  TaskId join(const std::vector<TaskId>& ends);

  Emission& emission_;
  const std::vector<int>& devices_;
  const GroupClasses& groups_;
  TaskLabel label_;
  const ScheduledOperation& op_;
  std::map<int, int>& exchanges_;
  TaskId first_;
  bool after_kernel_ = false;            ///< the next kernel follows on from the last, before those of a pass beside it
  std::vector<TaskId> ends_;             ///< what the next task waits for
  Kernel open_;                          ///< kernels not yet written
  std::vector<TimePart> open_parts_;
};

}  // namespace trainyard
