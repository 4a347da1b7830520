// Words for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"

namespace trainyard {

/// Safe on a terminal: control characters as `\x1b`, nothing else changed.
[[nodiscard]] std::string printable(std::string_view text);
/// `"text"`, printable and cut at 60 characters.
[[nodiscard]] std::string quoted(std::string_view text);
/// What stands there, after "got": `nothing`, `a list`, `true`, `12`, `text "abc"`.
[[nodiscard]] std::string described(const ConfigValue& value);
/// `a, b, c`, and `and N more` after 12 names.
[[nodiscard]] std::string listed(const std::vector<std::string>& names);
/// `a, b or c`.
[[nodiscard]] std::string alternatives(const std::vector<std::string>& names);
/// Whether an unquoted scalar reads as a plain number.
[[nodiscard]] bool is_number(const ConfigValue& value);

}  // namespace trainyard
