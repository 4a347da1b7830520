#include "sim/cli/init_verb.hpp"

#include <optional>

#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

std::string init_text(const StarterOptions& options) {
  std::optional<UserError> first;
  for (const StarterParts parts : {StarterParts{true, true, true},
                                   {true, true, false},
                                   {false, true, true},
                                   {false, true, false},
                                   {true, false, false},
                                   {false, false, false}}) {
    const std::string text = starter_scenario(options, parts);
    try {
      static_cast<void>(load_scenario_text(text, "init", "."));
      return text;
    } catch (const UserError& error) {
      if (!first) first = error;
    }
  }
  throw *first;
}

}  // namespace trainyard
