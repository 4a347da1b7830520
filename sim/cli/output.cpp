#include "sim/cli/output.hpp"

#include <sys/ioctl.h>
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

std::size_t terminal_width(const Arguments& arguments) {
  winsize size{};
  const bool known = arguments.out.empty() && ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

}  // namespace trainyard
