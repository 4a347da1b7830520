// What a record of nodes amounts to, and the process fitted to it; private to topologies.
#pragma once

#include <string>

#include "sim/model/market.hpp"

namespace trainyard {

/// How many nodes there were over time.
[[nodiscard]] LevelTrace levels_of(const Availability& record);

/// Figures of a record.
struct RecordFigures {
  Seconds length{};
  double mean_nodes = 0;
  int most_nodes = 0;
  double node_hours = 0;
  int lost = 0, loss_events = 0, gained = 0;  ///< nodes; instants that lose some; nodes that came after the first instant
};
/// Of a record of instances every loss counts, of one of levels the falls of the level.
[[nodiscard]] RecordFigures figures_of(const Availability& record);

/// The figures on one line.
[[nodiscard]] std::string figures_text(const RecordFigures& figures);

/// Maximum likelihood: mean time of a visit to a level, and the shares of the levels that followed it. A last level that is never left
/// goes to the first one, as if the record started again.
[[nodiscard]] MarkovProcess fitted_chain(const LevelTrace& levels);
/// The exponential process of as many losses and gains per node-hour: up = node-hours / losses, down = hours away / gains, of the most
/// nodes that were there. `up` is infinite for a record without a loss.
[[nodiscard]] WeibullProcess fitted_exponential(const RecordFigures& figures);

}  // namespace trainyard
