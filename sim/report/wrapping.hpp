// Text that fits a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Breaks every line that is longer than `width` columns at blanks; what goes on stands four columns further in than
/// its line began. A word that is longer than the width stays whole. Escape sequences of colours take no room. `width`
/// 0: as it is.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width);

/// As one cell of a table shows a name: cut with an ellipsis, and nothing that a terminal obeys.
[[nodiscard]] std::string one_row(const std::string& name, std::size_t longest = 60);

/// Which columns of a table are shown: all that fit `width` with so many blanks before each; those of `expendable` go
/// first, in that order. `width` 0: all.
[[nodiscard]] std::vector<bool> columns_that_fit(const std::vector<std::size_t>& widths, std::size_t gap,
                                                 std::size_t width, const std::vector<std::size_t>& expendable);

}  // namespace trainyard
