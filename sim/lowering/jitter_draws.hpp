// The random factors of a step's times.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/stage_work.hpp"
#include "sim/lowering/symmetry.hpp"
#include "sim/model/jitter.hpp"

namespace trainyard {

/// Which operation of a cell: 'F', 'B', 'W' or 'O' (optimizer), of a chunk and a micro-batch.
struct OperationKey {
  char kind = 'F';
  int chunk = 0, micro_batch = 0;
};

/// Draws depend on the seed and on what they are for, not on the order in which they are asked for.
class JitterDraws {
 public:
  /// `groups`: whose members share a draw (not looked at per device).
  JitterDraws(const Jitter& jitter, const Placement& placement, const Symmetry& groups)
      : jitter_(jitter), placement_(placement), groups_(groups) {}

  [[nodiscard]] bool any() const { return jitter_.any(); }
  /// Of the kernels of a cell's operation.
  [[nodiscard]] double kernels(int cell, const OperationKey& operation) const;
  /// The pieces of a cell's operation with the factors of its kernels and of the collectives inside it.
  [[nodiscard]] std::vector<TimedPiece> applied(std::vector<TimedPiece> pieces, int cell, const OperationKey& operation) const;
  /// The exchange number `ordinal` of a communicator.
  [[nodiscard]] CollectiveCost applied(const CollectiveCost& cost, int communicator, int ordinal) const;
  /// The same for work of a host, whose times spread as kernels' do.
  [[nodiscard]] CollectiveCost worked(const CollectiveCost& cost, int communicator, int ordinal) const;

 private:
  [[nodiscard]] int who(int communicator) const { return jitter_.per_device ? communicator : groups_.communicators.class_of[communicator]; }
  [[nodiscard]] double inside(int cell, const OperationKey& operation) const;

  Jitter jitter_;
  const Placement& placement_;
  const Symmetry& groups_;
};

/// A factor of mean 1 from a key: exp(sigma z - sigma^2 / 2) with sigma^2 = ln(1 + spread^2), z normal (Box and Muller 1958).
[[nodiscard]] double jitter_factor(double spread, std::uint64_t key);

}  // namespace trainyard
