#include "sim/scenario/strategy_choices.hpp"

#include <optional>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// The entry as name and options, whatever way it is written.
std::optional<StrategyChoice> read_choice(const ConfigValue& entry, Diagnostics& diagnostics) {
  if (entry.kind == ConfigValue::Kind::scalar) return StrategyChoice{entry.scalar, {}, entry.place};
  if (entry.keys.size() != 1) {
    diagnostics.add(entry.place,
                    "a strategy with options is a map with one key, {NAME: {OPTION: VALUE}}; this one has " +
                        std::to_string(entry.keys.size()));
    return std::nullopt;
  }
  return StrategyChoice{entry.keys[0].first, entry.items[0], entry.keys[0].second};
}

/// What the schema cannot say, the strategy says when it is made.
void try_to_make(const StrategyInfo& info, const StrategyChoice& choice, const std::string& directory,
                 Diagnostics& diagnostics) {
  const bool given = choice.options.kind != ConfigValue::Kind::null;
  Diagnostics own;  // a strategy may ask whether its options had mistakes, not whether the file had
  try {
    (void)info.make({given ? View(choice.options) : View(), directory}, own);
  } catch (const UserError& error) {
    own.add(choice.place, error.what());
  }
  for (const Diagnostic& mistake : own.all()) diagnostics.add(mistake.place, mistake.message);
}

void check_choice(const StrategyChoice& choice, const std::string& directory, Diagnostics& diagnostics) {
  const StrategyRegistry& registry = StrategyRegistry::instance();
  if (choice.name == "external")
    return diagnostics.add(choice.place, "external planners are not available in this version");
  const StrategyInfo* info = registry.find(choice.name);
  if (info == nullptr) return diagnostics.add(choice.place, unknown_name("strategy", choice.name, registry.names()));
  const bool given = choice.options.kind != ConfigValue::Kind::null;
  if (given && !check(choice.options, info->options, diagnostics)) return;
  try_to_make(*info, choice, directory, diagnostics);
}

}  // namespace

std::vector<StrategyChoice> read_strategies(const ConfigValue& section, const std::string& directory,
                                            Diagnostics& diagnostics) {
  std::vector<StrategyChoice> choices;
  for (const ConfigValue& entry : section.items) {
    const std::optional<StrategyChoice> choice = read_choice(entry, diagnostics);
    if (!choice) continue;
    check_choice(*choice, directory, diagnostics);
    choices.push_back(*choice);
  }
  return choices;
}

}  // namespace trainyard
