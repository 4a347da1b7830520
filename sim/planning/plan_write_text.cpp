// A tree of values as YAML and JSON text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/planning/plan_writing.hpp"

namespace trainyard::plan_writing {
namespace {

using Kind = ConfigValue::Kind;
constexpr std::size_t kLineWidth = 120;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-' || c == '+' || c == ' ';
}

/// Whether YAML reads the text back as it stands, in flow style too.
bool needs_quotes(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '-' || text == "null") return true;
  for (const char c : text)
    if (!is_plain(c)) return true;
  return false;
}

std::string scalar_text(const std::string& text) {
  if (!needs_quotes(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string flow(const ConfigValue& value);

std::string flow_pairs(const ConfigValue& map) {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < map.items.size(); ++i)
    pairs.push_back(fmt::format("{}: {}", scalar_text(map.keys[i].first), flow(map.items[i])));
  return fmt::format("{}", fmt::join(pairs, ", "));
}

/// The axes of a layout stand without braces: [data: 2, tensor: 8].
std::string flow_list(const ConfigValue& list) {
  bool all_pairs = !list.items.empty();
  for (const ConfigValue& item : list.items) all_pairs = all_pairs && item.kind == Kind::map && item.items.size() == 1;
  std::vector<std::string> items;
  for (const ConfigValue& item : list.items) items.push_back(all_pairs ? flow_pairs(item) : flow(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string flow(const ConfigValue& value) {
  switch (value.kind) {
    case Kind::null:
      return "null";
    case Kind::scalar:
      return scalar_text(value.scalar);
    case Kind::list:
      return flow_list(value);
    case Kind::map:
      return fmt::format("{{{}}}", flow_pairs(value));
  }
  return "";
}

bool is_empty(const ConfigValue& value) { return value.items.empty(); }

void block(const ConfigValue& value, std::size_t indent, std::string& out);

/// What follows `key:` or `-`: on the same line where it fits, else below and further in.
void member(const ConfigValue& value, std::size_t indent, bool in_list, std::string& out) {
  const std::string line = flow(value);
  const std::size_t used = out.size() - (out.rfind('\n') + 1);
  if (value.kind == Kind::scalar || is_empty(value) || used + 1 + line.size() <= kLineWidth) {
    out += fmt::format(" {}\n", line);
    return;
  }
  if (!in_list) {
    out += "\n";
    block(value, indent + (value.kind == Kind::map ? 2 : 0), out);
    return;
  }
  std::string inner;
  block(value, indent + 2, inner);
  out += " " + inner.substr(indent + 2);
}

void block(const ConfigValue& value, std::size_t indent, std::string& out) {
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    out += std::string(indent, ' ');
    const bool in_list = value.kind == Kind::list;
    out += in_list ? "-" : scalar_text(value.keys[i].first) + ":";
    member(value.items[i], indent, in_list, out);
  }
}

nlohmann::ordered_json json_scalar(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (nlohmann::ordered_json::accept(text)) {
    auto parsed = nlohmann::ordered_json::parse(text);
    if (parsed.is_number()) return parsed;
  }
  return text;
}

nlohmann::ordered_json json(const ConfigValue& value) {
  if (value.kind == Kind::scalar) return json_scalar(value.scalar);
  if (value.kind == Kind::null) return nullptr;
  auto result = value.kind == Kind::list ? nlohmann::ordered_json::array() : nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (value.kind == Kind::list)
      result.push_back(json(value.items[i]));
    else
      result[value.keys[i].first] = json(value.items[i]);
  }
  return result;
}

}  // namespace

std::string yaml_text(const ConfigValue& value) {
  if (is_empty(value)) return flow(value) + "\n";
  std::string out;
  block(value, 0, out);
  return out;
}

std::string json_text(const ConfigValue& value) { return json(value).dump(); }

}  // namespace trainyard::plan_writing
