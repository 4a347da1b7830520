#include "sim/job/case_setting.hpp"

#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

std::unique_ptr<Strategy> make_strategy(const Case& which) {
  const StrategyInfo* info = StrategyRegistry::instance().find(which.strategy);
  if (!info) throw UserError("no strategy \"" + which.strategy + "\"");
  Diagnostics diagnostics;
  const StrategyOptions options{which.options ? View(*which.options) : View(), which.directory};
  auto strategy = info->make(options, diagnostics);
  diagnostics.throw_if_any();
  return strategy;
}

LoweringOptions lowering_options(const Case& which, const CaseOptions& options) {
  return {options.symmetry, options.full_detail, which.jitter, {}, options.alone_communication};
}

}  // namespace trainyard
