#include "sim/planning/strategy.hpp"

namespace trainyard {

void Strategy::check(const Cluster&, const Workload&, Diagnostics&) const {}

Reaction Strategy::react(const ClusterChange&, const JobState& state) { return {plan(state.now)}; }

}  // namespace trainyard
