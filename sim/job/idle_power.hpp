// What GPUs draw that have nothing to do.
#pragma once

namespace trainyard {

/// Share of the board power that a GPU draws while it is on but does not compute: 60 of 400 W of an A100, 105 of 700 W of an H100, 11 of
/// 70 W of a T4 (nemulai.com, "GPU Electricity Expense Per Training Run": one figure for all).
constexpr double kIdlePower = 0.15;

}  // namespace trainyard
