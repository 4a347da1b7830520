// Measured collectives as the fit sees them.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/collective_time.hpp"

namespace trainyard::fit {

/// One row of a table of measurements.
struct Measurement {
  std::string series;       ///< system or log, operation and number of devices
  std::string transport;    ///< class of links it is fitted to
  CollectiveShape shape;
  Bytes size{};             ///< of the buffer as nccl-tests counts it
  Seconds time{};
  bool held_out = false;    ///< every second size: not fitted to
};

/// nccl_intranode_measured.csv, rows of half precision on 2 to 8 GPUs of one node.
[[nodiscard]] std::vector<Measurement> intra_node(const std::string& folder);
/// network_nccl_tests.csv, the logs over several nodes whose network is known (Echo's is taken as 8 x 200 Gbps, README.md there).
[[nodiscard]] std::vector<Measurement> inter_node(const std::string& folder);
/// bandwidth_points.csv: all-reduces of 8 and 16 GiB on 4 to 8 GPUs of one node. Even numbers of GPUs are held out.
[[nodiscard]] std::vector<Measurement> large_points(const std::string& folder);
/// The fewest members for which NCCL chose in-network reduction, by transport, from the notes of bandwidth_points.csv; 0: never.
[[nodiscard]] int fewest_in_network(const std::string& folder, const std::string& transport);

}  // namespace trainyard::fit
