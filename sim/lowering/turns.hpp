// The operations of all cells, in the order in which their devices take them up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/lowering/emission.hpp"

namespace trainyard {

/// Writes the operations of one cell class.
class OperationWriter {
 public:
  virtual ~OperationWriter() = default;
  /// An operation may end in a collective, which the compute stream does not order: `before` holds the last tasks of the devices.
  /// `beside`: another runs at the same time, and holds so much more until its end than after it.
  virtual TaskSpan write(const ScheduledOperation& op, const std::vector<TaskId>& before, std::optional<Bytes> beside) = 0;
  /// What a device holds during an operation beyond what it keeps or frees.
  [[nodiscard]] virtual Bytes transient(const ScheduledOperation& op) const = 0;
  /// What follows the last operation.
  virtual void finish() = 0;
  /// Buffers that a device holds once, whatever stages and sections it works for.
  [[nodiscard]] virtual Bytes buffers() const = 0;
};

/// Writes every cell class, turn by turn where devices work for several; between sections of a stage their exchanges of activations.
void write_by_turns(Emission& emission, const std::function<std::unique_ptr<OperationWriter>(int cell_class)>& writer_of);

}  // namespace trainyard
