#include "sim/scenario/strategy_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// NAME or {NAME: {OPTION: VALUE}}, as for strategies.
RecoveryChoice read_recovery(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.kind == ConfigValue::Kind::scalar) return {value.scalar, {}};
  if (value.kind == ConfigValue::Kind::map && value.keys.size() == 1) return {value.keys[0].first, value.items[0]};
  diagnostics.add(value.place, "a recovery is NAME or {NAME: {OPTION: VALUE}}");
  return {};
}

void check_recovery(const RecoveryChoice& choice, const SourcePlace& place, Diagnostics& diagnostics) {
  const RecoveryRegistry& registry = RecoveryRegistry::instance();
  const RecoveryInfo* info = registry.find(choice.name);
  if (info == nullptr) return diagnostics.add(place, unknown_name("recovery", choice.name, registry.names()));
  const bool given = choice.options.kind != ConfigValue::Kind::null;
  if (!given || check(choice.options, info->options, diagnostics)) (void)info->make(given ? View(choice.options) : View(), diagnostics);
}

/// Takes a key that is not the strategy's own out of its options.
std::optional<ConfigValue> take(std::string_view key, ConfigValue& options) {
  if (options.kind != ConfigValue::Kind::map) return std::nullopt;
  for (std::size_t i = 0; i < options.keys.size(); ++i) {
    if (options.keys[i].first != key) continue;
    ConfigValue taken = std::move(options.items[i]);
    options.items.erase(options.items.begin() + std::ptrdiff_t(i));
    options.keys.erase(options.keys.begin() + std::ptrdiff_t(i));
    if (options.keys.empty()) options = ConfigValue{};
    return taken;
  }
  return std::nullopt;
}

void take_recovery(StrategyChoice& choice, Diagnostics& diagnostics) {
  const std::optional<ConfigValue> value = take("recovery", choice.options);
  if (!value) return;
  choice.recovery = read_recovery(*value, diagnostics);
  if (!choice.recovery.name.empty()) check_recovery(choice.recovery, value->place, diagnostics);
}

void take_market(StrategyChoice& choice, Diagnostics& diagnostics) {
  const std::optional<ConfigValue> value = take("market", choice.options);
  if (!value) return;
  if (value->scalar == "on_demand") choice.market = MarketKind::on_demand;
  else if (value->scalar == "reserved") choice.market = MarketKind::reserved;
  else diagnostics.add(value->place, "the market of a strategy's nodes is on_demand or reserved; without it, what their groups say");
}

/// The entry as name and options, whatever way it is written.
std::optional<StrategyChoice> read_choice(const ConfigValue& entry, Diagnostics& diagnostics) {
  if (entry.kind == ConfigValue::Kind::scalar && entry.scalar.empty()) return std::nullopt;  // the schema has said so
  if (entry.kind == ConfigValue::Kind::scalar) return StrategyChoice{entry.scalar, {}, entry.place, {}};
  if (entry.keys.size() != 1) {
    diagnostics.add(entry.place,
                    "a strategy with options is a map with one key, {NAME: {OPTION: VALUE}}; this one has " +
                        std::to_string(entry.keys.size()));
    return std::nullopt;
  }
  StrategyChoice choice{entry.keys[0].first, entry.items[0], entry.keys[0].second};
  take_recovery(choice, diagnostics);
  take_market(choice, diagnostics);
  return choice;
}

/// Made of a choice whose options are as its schema wants; null where the strategy refuses them.
std::unique_ptr<Strategy> make(const StrategyInfo& info, const StrategyChoice& choice, const std::string& directory,
                               Diagnostics& diagnostics) {
  const bool given = choice.options.kind != ConfigValue::Kind::null;
  Diagnostics own;  // a strategy may ask whether its options had mistakes, not whether the file had
  std::unique_ptr<Strategy> made;
  try {
    made = info.make({given ? View(choice.options) : View(), directory}, own);
  } catch (const UserError& error) {
    own.add(choice.place, error.what());
  }
  for (const Diagnostic& mistake : own.all()) diagnostics.add(mistake.place, mistake.message);
  return own.empty() ? std::move(made) : nullptr;
}

void check_choice(const StrategyChoice& choice, const std::string& directory, Diagnostics& diagnostics) {
  const StrategyRegistry& registry = StrategyRegistry::instance();
  const StrategyInfo* info = registry.find(choice.name);
  if (info == nullptr) return diagnostics.add(choice.place, unknown_name("strategy", choice.name, registry.names()));
  const bool given = choice.options.kind != ConfigValue::Kind::null;
  if (given && !check(choice.options, info->options, diagnostics)) return;
  (void)make(*info, choice, directory, diagnostics);
}

bool fits_one(const Strategy& strategy, const std::vector<Variant>& variants) {
  return std::any_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    Diagnostics found;
    strategy.check(variant.cluster, variant.workload, found);
    return found.empty();
  });
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

void check_on(const StrategyChoice& choice, const Cluster& cluster, const Workload& workload, const std::string& directory,
              Diagnostics& diagnostics) {
  const auto strategy = make(*StrategyRegistry::instance().find(choice.name), choice, directory, diagnostics);
  if (strategy != nullptr) strategy->check(cluster, workload, diagnostics);
}

void check_on_variants(const std::vector<StrategyChoice>& choices, const std::vector<Variant>& variants,
                       const std::string& directory, Diagnostics& diagnostics) {
  const std::string where =
      variants.size() > 1 ? fmt::format(" (variant \"{}\", and it fits no other)", variants.front().name) : "";
  for (const StrategyChoice& choice : choices) {
    const auto strategy = make(*StrategyRegistry::instance().find(choice.name), choice, directory, diagnostics);
    if (strategy == nullptr || fits_one(*strategy, variants)) continue;
    Diagnostics found;
    strategy->check(variants.front().cluster, variants.front().workload, found);
    for (const Diagnostic& mistake : found.all()) diagnostics.add(mistake.place, mistake.message + where);
  }
}

}  // namespace trainyard
