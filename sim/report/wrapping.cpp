#include "sim/report/wrapping.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "sim/report/numbers.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kFurther = 4;

/// Without `ESC [ .. m`.
std::size_t shown_width(std::string_view word) {
  std::size_t hidden = 0;
  for (std::size_t at = word.find("\033["); at != std::string_view::npos; at = word.find("\033[", at + 1)) {
    const std::size_t end = word.find('m', at);
    if (end == std::string_view::npos) break;
    hidden += end - at + 1;
  }
  return width_of(word) - hidden;
}

std::string wrapped_line(std::string_view line, std::size_t width) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string text(line.substr(0, indent));
  std::size_t used = indent;
  bool first = true;
  for (std::size_t at = indent; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const std::size_t columns = shown_width(word);
    if (!first && used + 1 + columns > width) {
      text += "\n" + std::string(indent + kFurther, ' ');
      used = indent + kFurther;
    } else if (!first) {
      text += ' ';
      ++used;
    }
    text += word;
    used += columns;
    first = false;
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string all;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = std::string_view(text).substr(from, end - from);
    all += shown_width(line) > width ? wrapped_line(line, width) : std::string(line);
    if (end < text.size()) all += '\n';
    from = end + 1;
  }
  return all;
}

std::string one_row(const std::string& name, std::size_t longest) {
  std::string text;
  std::size_t columns = 0;
  for (const char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    const bool begins = (byte & 0xC0U) != 0x80U;
    if (begins && columns == longest) return text + "…";
    columns += begins ? 1 : 0;
    text += std::iscntrl(byte) != 0 ? '?' : c;
  }
  return text;
}

std::vector<bool> columns_that_fit(const std::vector<std::size_t>& widths, std::size_t gap, std::size_t width,
                                   const std::vector<std::size_t>& expendable) {
  std::vector<bool> shown(widths.size(), true);
  if (width == 0) return shown;
  std::size_t all = 0;
  for (const std::size_t column : widths) all += gap + column;
  for (const std::size_t column : expendable) {
    if (all <= width) break;
    shown[column] = false;
    all -= gap + widths[column];
  }
  return shown;
}

}  // namespace trainyard
