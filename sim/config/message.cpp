#include "sim/config/message.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/number.hpp"

namespace trainyard {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// U+0080 to U+009F, which some terminals obey, are C2 80 to C2 9F in UTF-8.
bool starts_c1_control(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) == 0xc2 && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (starts_c1_control(text, i))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if (byte == '\n')
      result += "\\n";
    else if (byte == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text[i];
  }
  return result;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return fmt::format("\"{}\"", printable(text));
  std::size_t end = kLongest;
  while (end > 0 && continues_character(text[end])) --end;
  return fmt::format("\"{}...\"", printable(text.substr(0, end)));
}

std::string described(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::null:
      return "nothing";
    case ConfigValue::Kind::list:
      return "a list";
    case ConfigValue::Kind::map:
      return "a map";
    case ConfigValue::Kind::scalar:
      break;
  }
  const bool bare = !value.quoted && (is_number(value) || value.scalar == "true" || value.scalar == "false");
  return bare ? value.scalar : fmt::format("text {}", quoted(value.scalar));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMost, ", "), names.size() - kMost);
}

std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

bool is_number(const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::scalar || value.quoted) return false;
  const ScannedNumber number = scan_number(value.scalar);
  return number.length == value.scalar.size() && number.length > 0 && number.error.empty();
}

}  // namespace trainyard
