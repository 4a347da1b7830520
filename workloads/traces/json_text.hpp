// A trace in JSON: one object.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trainyard {

/// UserError with file, line and column where the text is no JSON (cut off, a quote that is not escaped), or no object.
[[nodiscard]] nlohmann::json parse_json(const std::string& path);

}  // namespace trainyard
