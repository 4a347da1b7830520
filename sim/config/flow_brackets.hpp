// Brackets of YAML's flow style, for messages. Private to sim/config.
#pragma once

#include <memory>
#include <optional>

#include "sim/config/config_value.hpp"

namespace trainyard {

struct UnclosedBracket {
  SourcePlace place;
  char bracket = '{';
};

/// The outermost "[" or "{" that the text leaves open; what stands in quotes and comments does not count.
[[nodiscard]] std::optional<UnclosedBracket> unclosed_bracket(const std::shared_ptr<const SourceFile>& file);

}  // namespace trainyard
