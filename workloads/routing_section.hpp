// How tokens find their experts: `workload.routing`.
#pragma once

#include <string>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// `uniform`, or a map: `zipf: s` (share of the r-th expert ~ 1 / r^s, drawn anew for each layer with `seed`), `drifting: s` (the same, and
/// the hot experts move on by one with each `step`), `shares` (of each expert, in every layer) or `trace` (a log of routes); with
/// `capacity`, `padded`, `nodes`.
[[nodiscard]] Schema routing_schema();

/// Fills `data.item_load` and `data.routing` for the workload's module. Mistakes go to `diagnostics`; files are relative to `directory`.
void read_routing(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics);

}  // namespace trainyard
