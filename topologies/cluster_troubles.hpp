// Devices that are slower than their kind, fail, or whose kernels and collectives slow each other; private to this folder.
#pragma once

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// Of `slowdown:`, `failures:` and `interference:`.
[[nodiscard]] Schema slowdown_schema();
[[nodiscard]] Schema failures_schema();
[[nodiscard]] Schema interference_schema();

/// What the three keys of the `cluster:` section say, done to the finished cluster. Names of nothing go to `diagnostics`.
void apply_troubles(const View& root, Cluster& cluster, Diagnostics& diagnostics);

}  // namespace trainyard
