#include "sim/cli/output.hpp"

#include <unistd.h>

#include <cstdlib>

#include "sim/report/output_file.hpp"

namespace trainyard {

void deliver(const Arguments& arguments, const std::string& text) {
  if (arguments.out.empty())
    write_all(STDOUT_FILENO, text, "standard output");
  else
    write_file(arguments.out, text);
}

bool may_colour(const Arguments& arguments) {
  if (arguments.colour != Colour::automatic) return arguments.colour == Colour::always;
  const char* no_colour = std::getenv("NO_COLOR");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  return arguments.out.empty() && !refused && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace trainyard
