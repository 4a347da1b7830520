// What `trainyard calibrate` found on a cluster, in place of the catalogue's parameters; private to this folder.
#pragma once

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// Of `calibration:`.
[[nodiscard]] Schema calibration_schema();

/// Done to the finished cluster: curves of products replaced, times and rates of links scaled, all GPUs' kernels slowed. Names of GPUs and
/// links that the cluster does not have go to `diagnostics`.
void apply_calibration(const View& section, Cluster& cluster, Diagnostics& diagnostics);

}  // namespace trainyard
