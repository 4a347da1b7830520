// What NCCL expects of its protocols when it chooses one, and where a fit of their true times starts.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"

namespace trainyard::fit {

/// Rings inside a node over a class of links whose devices reach `rate`.
[[nodiscard]] AlgorithmTimes ring_inside(const std::string& transport, BytesPerSecond rate);
[[nodiscard]] AlgorithmTimes exchange_inside(const std::string& transport);
/// In-network reduction from so many members.
[[nodiscard]] AlgorithmTimes switch_inside(int from, BytesPerSecond rate, const std::string& transport);
struct Ways {
  AlgorithmTimes ring, tree;
  bool ring_as_tree = false;     ///< rings are hardly measured: their messages cost what the trees' do, only their rate is fitted
};
/// Rings and trees between nodes whose cards reach `rate` together, over nodes with such an inside. EFA: a library of its own chooses
/// (aws-ofi-nccl), taken to know the true times, and there is little to fit to.
[[nodiscard]] Ways ways_between(const std::string& transport, BytesPerSecond rate, const Transport& inside);
[[nodiscard]] AlgorithmTimes switch_between();

}  // namespace trainyard::fit
