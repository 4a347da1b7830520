#include "validation/scenario_cases.hpp"

#include "topologies/catalogue.hpp"

namespace trainyard {
namespace {

const ConfigValue* options_of(const StrategyChoice& choice) {
  return choice.options.kind == ConfigValue::Kind::null ? nullptr : &choice.options;
}

/// What a node costs in this market: its own price where it is of it, else the catalogue's. Nothing: not known.
std::optional<PriceEntry> price_in(MarketKind market, const Node& node) {
  if (node.market == market) return node.price_source.empty() ? std::nullopt : std::optional(PriceEntry{node.price, node.price_source});
  const InstanceEntry* entry = node.instance.empty() ? nullptr : catalogue().instance(node.instance);
  if (entry == nullptr) return std::nullopt;
  return market == MarketKind::reserved ? entry->reserved : entry->on_demand;
}

std::map<std::string, DollarsPerSecond> on_demand_prices(const Cluster& cluster) {
  std::map<std::string, DollarsPerSecond> prices;
  for (const Node& node : cluster.nodes)
    if (const auto price = price_in(MarketKind::on_demand, node)) prices[node.group] = price->price;
  return prices;
}

/// The same nodes, had and paid in another market.
std::shared_ptr<const Cluster> held_in(MarketKind market, const Cluster& cluster) {
  auto held = std::make_shared<Cluster>(cluster);
  for (Node& node : held->nodes) {
    const PriceEntry price = price_in(market, node).value_or(PriceEntry{});
    node.price = price.price;
    node.price_source = price.source;
    node.market = market;
  }
  return held;
}

std::shared_ptr<const LongCase> long_case_of(const Scenario& scenario, const Variant& variant, const StrategyChoice& choice) {
  if (!scenario.long_run) return nullptr;
  auto made = std::make_shared<LongCase>(LongCase{*scenario.long_run, &variant.market, choice.recovery});
  made->run.on_demand = on_demand_prices(variant.cluster);
  if (choice.market) made->held = held_in(*choice.market, variant.cluster);
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
