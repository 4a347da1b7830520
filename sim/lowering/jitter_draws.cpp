#include "sim/lowering/jitter_draws.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "sim/lowering/scramble.hpp"

namespace trainyard {
namespace {

/// What a draw is for, so that equal numbers of different things differ.
enum class Drawn { cell_kernels, device_kernels, cell_collectives, exchange, host_work };

std::uint64_t key_of(std::uint64_t seed, Drawn what, std::initializer_list<int> numbers) {
  std::uint64_t key = scramble(seed ^ scramble(static_cast<std::uint64_t>(what)));
  for (const int number : numbers) key = scramble(key ^ scramble(static_cast<std::uint64_t>(number)));
  return key;
}

/// Above 0, at most 1.
double uniform(std::uint64_t bits) { return (double(bits >> 11) + 1) / 9007199254740992.0; }

CollectiveCost scaled(CollectiveCost cost, double factor) {
  cost.delay = cost.delay * factor;
  cost.bytes = Bytes(std::round(cost.bytes.value * factor));
  return cost;
}

void scale_collective(TimedPiece& piece, double factor) {
  const CollectiveCost before = *piece.collective;
  piece.collective = scaled(before, factor);
  const Seconds moving = piece.collective_alone - before.delay;
  piece.collective_alone = piece.collective->delay;
  if (before.bytes.value > 0) piece.collective_alone += moving * (piece.collective->bytes / before.bytes);
}

}  // namespace

double jitter_factor(double spread, std::uint64_t key) {
  if (spread <= 0) return 1;
  const double variance = std::log1p(spread * spread);
  const double z = std::sqrt(-2 * std::log(uniform(scramble(key)))) * std::cos(2 * std::numbers::pi * uniform(scramble(~key)));
  return std::exp(std::sqrt(variance) * z - variance / 2);
}

double JitterDraws::kernels(int cell, const OperationKey& operation) const {
  if (jitter_.kernels <= 0) return 1;
  const auto draw = [&](Drawn what, int who) {
    return jitter_factor(jitter_.kernels, key_of(jitter_.seed, what, {who, operation.kind, operation.chunk, operation.micro_batch}));
  };
  if (!jitter_.per_device) return draw(Drawn::cell_kernels, groups_.cells.class_of[cell]);
  double slowest = 0;
  for (const DeviceId device : placement_.cells[cell].members) slowest = std::max(slowest, draw(Drawn::device_kernels, int(device)));
  return slowest;
}

double JitterDraws::inside(int cell, const OperationKey& operation) const {
  const int who = jitter_.per_device ? cell : groups_.cells.class_of[cell];
  return jitter_factor(jitter_.communication,
                       key_of(jitter_.seed, Drawn::cell_collectives, {who, operation.kind, operation.chunk, operation.micro_batch}));
}

std::vector<TimedPiece> JitterDraws::applied(std::vector<TimedPiece> pieces, int cell, const OperationKey& operation) const {
  if (!any()) return pieces;
  const double kernel_factor = kernels(cell, operation), collective_factor = inside(cell, operation);
  for (TimedPiece& piece : pieces) {
    piece.kernel.alone = piece.kernel.alone * kernel_factor;
    if (piece.collective) scale_collective(piece, collective_factor);
  }
  return pieces;
}

CollectiveCost JitterDraws::applied(const CollectiveCost& cost, int communicator, int ordinal) const {
  if (jitter_.communication <= 0) return cost;
  return scaled(cost, jitter_factor(jitter_.communication, key_of(jitter_.seed, Drawn::exchange, {who(communicator), ordinal})));
}

CollectiveCost JitterDraws::worked(const CollectiveCost& cost, int communicator, int ordinal) const {
  if (jitter_.kernels <= 0) return cost;
  return scaled(cost, jitter_factor(jitter_.kernels, key_of(jitter_.seed, Drawn::host_work, {who(communicator), ordinal})));
}

}  // namespace trainyard
