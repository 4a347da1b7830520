#include "sim/units/error.hpp"

#include <fmt/format.h>

namespace trainyard {

void require(bool holds, std::string_view what, std::source_location where) {
  if (!holds) throw InternalError(fmt::format("{} ({}:{})", what, where.file_name(), where.line()));
}

}  // namespace trainyard
