// Times of collectives fitted to measurements.
#pragma once

#include <vector>

#include "validation/fit/collectives_data.hpp"

namespace trainyard::fit {

/// model / measured.
[[nodiscard]] double ratio(const Measurement& measurement, const Transport& transport);

/// Moves setup, step, ramp and rate of `transport`'s algorithms (those it has) until the mean smoothed |log ratio| of the
/// measurements that are not held out no longer falls: one parameter at a time on a logarithmic scale (Brent). `rate` stays
/// below 1 / efficiency: no algorithm beats the nominal bandwidth.
void fit(Transport& transport, double efficiency, const std::vector<Measurement>& measurements);

}  // namespace trainyard::fit
