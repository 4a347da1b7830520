// Times of collectives fitted to measurements.
#pragma once

#include <vector>

#include "validation/fit/collectives_data.hpp"

namespace trainyard::fit {

/// model / measured.
[[nodiscard]] double ratio(const Measurement& measurement, const Transport& transport);

/// Moves setup, step, ramp and rate of the protocols of `transport`'s algorithms (those it has), and `own` above 0, until the sum of the
/// smoothed |log ratio| of the measurements that are not held out no longer falls: a random search from four starts, the same on every
/// run. What a library expects stays. `rate` stays below 1 / efficiency: no algorithm beats the nominal bandwidth; a message
/// takes at most three times what it starts with, the library's reckoning.
/// `ring_as_tree`: all of the ring but the rate of its last protocol is the tree's.
void fit(Transport& transport, double efficiency, const std::vector<Measurement>& measurements, bool ring_as_tree);

}  // namespace trainyard::fit
