// Where results go.
#pragma once

#include <string>

#include "sim/cli/arguments.hpp"

namespace trainyard {

/// To `--out`, or to standard output. Throws OutputError.
void deliver(const Arguments& arguments, const std::string& text);

/// Whether what `deliver` writes may be coloured: `--color`, else a terminal without NO_COLOR.
[[nodiscard]] bool may_colour(const Arguments& arguments);

/// Columns of the terminal on standard output; 0 where the text goes elsewhere.
[[nodiscard]] std::size_t terminal_width(const Arguments& arguments);

}  // namespace trainyard
