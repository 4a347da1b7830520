// What a replayed trace amounts to, rank by rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// Of one rank: computing + exposed communication + host + idle make up the step.
struct ReplayRank {
  int rank = 0;
  std::string device;
  std::int64_t nodes = 0, exchanges = 0;
  Seconds work{};                        ///< sum over the device's operations, those beside each other counted each
  Seconds computing{};                   ///< while at least one operation of the device runs
  Seconds communication{};               ///< while at least one exchange runs that this rank is in
  Seconds exposed{};                     ///< of it, while the device computes nothing
  Seconds host{};                        ///< while only the host works
  Seconds idle{};
};

/// One operation, recorded and simulated.
struct ReplayDifference {
  int rank = 0;
  std::uint64_t id = 0;
  std::string name;
  Seconds recorded{}, simulated{};       ///< how long it took
  Seconds recorded_begin{}, simulated_begin{};   ///< since the first of either
};

/// A recorded timeline beside the simulated one.
struct ReplayComparison {
  std::string source;
  Seconds recorded_step{}, simulated_step{};     ///< from the first begin to the last end of what was matched
  std::int64_t matched = 0, unmatched_recorded = 0, unmatched_simulated = 0;
  Seconds recorded_computing{}, simulated_computing{}, recorded_communication{}, simulated_communication{};  ///< sums over matched operations
  Seconds recorded_transfers{}, simulated_transfers{};   ///< of exchanges, each once: the least recorded by any rank, which holds the least wait for others
  std::vector<ReplayDifference> worst;           ///< that differ most in how long they took, most first
};

struct ReplayReport {
  std::string source;                    ///< as the scenario names it
  std::string heading;                   ///< one line: what is replayed
  std::int64_t nodes = 0, exchanges = 0; ///< of all ranks; exchanges: each once, however many ranks it joins
  Bytes exchanged{};                     ///< sum of their sizes
  std::vector<ReplayRank> ranks;         ///< that are simulated
  std::optional<Seconds> recorded_step;  ///< where the trace has begins: from the first to the last end, longest rank
  std::optional<ReplayComparison> against;
};

}  // namespace trainyard
