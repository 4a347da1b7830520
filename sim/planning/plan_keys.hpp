// The keys of a Plan's levels, for the reader, the writer and their messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::plan_keys {

/// Levels of the tree, outermost first.
enum class Level { plan, phase, part, pipeline, stage };
inline constexpr int kLevels = 5;

/// "the Plan", "a phase", ..
[[nodiscard]] std::string_view name(Level level);
/// Keys that belong to one level.
[[nodiscard]] const std::vector<std::string>& own_keys(Level level);
/// Keys of the short form that the long form lacks.
[[nodiscard]] const std::vector<std::string>& short_keys();
/// Settings, in the grammar's order.
[[nodiscard]] const std::vector<std::string>& setting_keys();
/// `devices`, `rules` and the settings: what may stand on every level.
[[nodiscard]] std::vector<std::string> scope_keys();
[[nodiscard]] bool contains(const std::vector<std::string>& keys, std::string_view key);

}  // namespace trainyard::plan_keys
