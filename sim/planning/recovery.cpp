#include "sim/planning/recovery.hpp"

namespace trainyard {

Plan Recovery::modify(Plan plan, const PlanningContext&) const { return plan; }

Holdings Recovery::also_held(const Plan&, const Workload&, const Cluster&) const { return {}; }

std::optional<Planned> Recovery::replan(const Replanning&) const { return std::nullopt; }

}  // namespace trainyard
