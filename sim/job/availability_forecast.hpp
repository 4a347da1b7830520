// How many nodes there will be, from how many there were.
#pragma once

#include <vector>

namespace trainyard {

/// The next `ahead` counts after `past` (equal intervals, newest last, at least one) by an ARIMA(1,1,0) process with drift, its two constants
/// fitted to the past by least squares: d(t+1) = c + phi d(t) of the differences d, |phi| < 1. Between 0 and `most`, and none further than 3
/// from the first of them: both as in Parcae's code (JF-D/Parcae liveput/trace_prediction.py), whose fit is by likelihood.
[[nodiscard]] std::vector<double> forecast_counts(const std::vector<double>& past, int ahead, double most);

}  // namespace trainyard
