#include "validation/scenario_cases.hpp"

#include "topologies/catalogue.hpp"

namespace trainyard {
namespace {

const ConfigValue* options_of(const StrategyChoice& choice) {
  return choice.options.kind == ConfigValue::Kind::null ? nullptr : &choice.options;
}

/// An on-demand node costs what it costs; of the others the catalogue knows.
std::map<std::string, DollarsPerSecond> on_demand_prices(const Cluster& cluster) {
  std::map<std::string, DollarsPerSecond> prices;
  for (const Node& node : cluster.nodes) {
    if (node.market == MarketKind::on_demand && !node.price_source.empty()) prices[node.group] = node.price;
    if (node.market == MarketKind::on_demand || node.instance.empty()) continue;
    const InstanceEntry* entry = catalogue().instance(node.instance);
    if (entry != nullptr && entry->on_demand) prices[node.group] = entry->on_demand->price;
  }
  return prices;
}

std::shared_ptr<const LongCase> long_case_of(const Scenario& scenario, const Variant& variant, const StrategyChoice& choice) {
  if (!scenario.long_run) return nullptr;
  auto made = std::make_shared<LongCase>(LongCase{*scenario.long_run, &variant.market, choice.recovery});
  made->run.on_demand = on_demand_prices(variant.cluster);
  return made;
}

}  // namespace

Case case_of(const Scenario& scenario, const Variant& variant, const StrategyChoice& choice) {
  Case made{scenario.name, variant.name, choice.name, &variant.cluster, &variant.workload, options_of(choice), scenario.directory,
            scenario.seed, scenario.jitter};
  made.replay = variant.replay.get();
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
  made.long_case = long_case_of(scenario, variant, choice);
  return made;
}

}  // namespace trainyard
