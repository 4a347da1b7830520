#include "sim/planning/strategy.hpp"

namespace trainyard {

Reaction Strategy::react(const ClusterChange&, const JobState& state) { return {plan(state.now)}; }

}  // namespace trainyard
