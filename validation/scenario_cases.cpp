#include "validation/scenario_cases.hpp"

namespace trainyard {
namespace {

const ConfigValue* options_of(const StrategyChoice& choice) {
  return choice.options.kind == ConfigValue::Kind::null ? nullptr : &choice.options;
}

}  // namespace

Case case_of(const Scenario& scenario, const Variant& variant, const StrategyChoice& choice) {
  Case made{scenario.name, variant.name, choice.name, &variant.cluster, &variant.workload, options_of(choice), scenario.directory,
            scenario.seed, scenario.jitter};
  made.share = variant.share.get();
  for (const OtherJob& job : variant.jobs) {
    Case other = made;
    other.strategy = job.strategy.name;
    other.cluster = &job.share.cluster;
    other.share = &job.share;
    other.workload = &job.workload;
    other.options = options_of(job.strategy);
    other.job = job.name;
    other.beside.clear();
    made.beside.push_back(std::move(other));
  }
  return made;
}

}  // namespace trainyard
