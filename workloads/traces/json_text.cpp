#include "workloads/traces/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/units/error.hpp"
#include "workloads/traces/trace_files.hpp"

namespace trainyard {

nlohmann::json parse_json(const std::string& path) {
  const std::string text = trace_text(path);
  try {
    nlohmann::json root = nlohmann::json::parse(text);
    if (!root.is_object()) throw UserError(path + ": no JSON object");
    return root;
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const auto line = std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n') + 1;
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    throw UserError(fmt::format("{}:{}:{}: no JSON{}", path, line, at - begin + 1,
                                at >= text.size() ? ": the file ends inside a value" : " from here on"));
  }
}

}  // namespace trainyard
