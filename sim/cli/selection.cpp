#include "sim/cli/selection.hpp"

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

std::vector<StrategyChoice> entries_named(const Scenario& scenario, const std::string& name) {
  std::vector<StrategyChoice> entries;
  for (const StrategyChoice& choice : scenario.strategies)
    if (choice.name == name) entries.push_back(choice);
  return entries;
}

/// What the strategy says against having no options, or "".
std::string complaint_without_options(const StrategyInfo& info, const Scenario& scenario) {
  Diagnostics diagnostics;
  try {
    (void)info.make({View(), scenario.directory}, diagnostics);
  } catch (const UserError& error) {
    return error.what();
  }
  return diagnostics.empty() ? "" : diagnostics.all().front().message;
}

StrategyChoice with_defaults(const Scenario& scenario, const std::string& name) {
  const StrategyRegistry& registry = StrategyRegistry::instance();
  const StrategyInfo* info = registry.find(name);
  if (info == nullptr) throw UserError("--strategies: " + unknown_name("strategy", name, registry.names()));
  const std::string complaint = complaint_without_options(*info, scenario);
  if (!complaint.empty())
    throw UserError("--strategies: " + scenario.file + " has no entry for " + name +
                    ", which needs options: " + complaint);
  return {name, {}, {}};
}

std::vector<StrategyChoice> everything(const Scenario& scenario) {
  std::vector<StrategyChoice> all = scenario.strategies;
  const StrategyRegistry& registry = StrategyRegistry::instance();
  for (const std::string& name : registry.names())
    if (entries_named(scenario, name).empty() && complaint_without_options(*registry.find(name), scenario).empty())
      all.push_back({name, {}, {}});
  return all;
}

}  // namespace

std::vector<StrategyChoice> select_strategies(const Scenario& scenario, const std::vector<std::string>& selection) {
  if (selection.empty()) return scenario.strategies;
  if (std::find(selection.begin(), selection.end(), "all") != selection.end()) return everything(scenario);
  std::vector<StrategyChoice> chosen;
  for (const std::string& name : selection) {
    const std::vector<StrategyChoice> entries = entries_named(scenario, name);
    if (entries.empty())
      chosen.push_back(with_defaults(scenario, name));
    else
      chosen.insert(chosen.end(), entries.begin(), entries.end());
  }
  return chosen;
}

}  // namespace trainyard
