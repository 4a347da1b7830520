#include "sim/report/page/page.hpp"

#include "sim/units/error.hpp"

namespace trainyard {

std::string_view page_page();  // the page without its data, embedded by CMake

std::string page_around(std::string_view document) {
  constexpr std::string_view kMark = "@data@";
  const std::string_view page = page_page();
  const std::size_t mark = page.find(kMark);
  require(mark != std::string_view::npos, "the page has a place for its data");
  std::string text(page.substr(0, mark));
  text.reserve(page.size() + document.size() + document.size() / 64);
  for (const char c : document) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text += page.substr(mark + kMark.size());
}

}  // namespace trainyard
