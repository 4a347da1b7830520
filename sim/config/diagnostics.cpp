#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/config/config_value.hpp"
#include "sim/config/message.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostShown = 100;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Byte position of the 1-based `column`, which counts characters.
std::size_t byte_of_column(std::string_view line, int column) {
  std::size_t at = 0;
  for (int left = column - 1; left > 0 && at < line.size(); --left) {
    ++at;
    while (at < line.size() && continues_character(line[at])) ++at;
  }
  return at;
}

/// The part of a long line around `at`, cut between characters.
struct Window {
  std::size_t begin, end;
};

Window window_around(std::string_view line, std::size_t at) {
  constexpr std::size_t kWidest = 160, kBefore = 100;
  if (line.size() <= kWidest) return {0, line.size()};
  std::size_t begin = at > kBefore ? at - kBefore : 0;
  std::size_t end = std::min(begin + kWidest, line.size());
  while (begin > 0 && continues_character(line[begin])) --begin;
  while (end < line.size() && continues_character(line[end])) ++end;
  return {begin, end};
}

/// As wide as `text` on a terminal: tabs stay, each character becomes one space.
std::string blank(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (!continues_character(c)) result += c == '\t' ? '\t' : ' ';
  return result;
}

/// Control characters other than a tab as `?`, so that positions hold and a terminal obeys none of them.
std::string harmless(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return result;
}

std::string quoted_line(const SourcePlace& place) {
  const auto& lines = place.file->lines;
  if (place.line < 1 || static_cast<std::size_t>(place.line) > lines.size()) return "";
  const std::string_view line = lines[static_cast<std::size_t>(place.line) - 1];
  const std::size_t at = byte_of_column(line, place.column);
  const auto [begin, end] = window_around(line, at);
  const std::string_view before = begin > 0 ? "..." : "";
  return fmt::format("\n  {}{}{}\n  {}{}^", before, harmless(line.substr(begin, end - begin)),
                     end < line.size() ? "..." : "", blank(before), blank(line.substr(begin, at - begin)));
}

/// The path and a colon; of a very long one the beginning and the end.
std::string path_text(const std::string& path) {
  constexpr std::size_t kLongest = 160, kBegin = 60, kEnd = 90;
  if (path.empty()) return "";
  if (path.size() <= kLongest) return printable(path) + ": ";
  std::size_t head = kBegin, tail = path.size() - kEnd;
  while (continues_character(path[head])) --head;
  while (tail < path.size() && continues_character(path[tail])) ++tail;
  return fmt::format("{}...{}: ", printable(path.substr(0, head)), printable(path.substr(tail)));
}

std::string text_of(const Diagnostic& diagnostic) {
  const SourcePlace& place = diagnostic.place;
  const std::string path = path_text(place.path);
  if (place.file == nullptr) return path + diagnostic.message;
  const std::string name = printable(place.file->name);
  if (place.line < 1) return fmt::format("{}: {}{}", name, path, diagnostic.message);
  return fmt::format("{}:{}:{}: {}{}{}", name, place.line, place.column, path, diagnostic.message, quoted_line(place));
}

/// By file in the order of first mention, then by place; a mistake that an alias repeats is shown once.
std::vector<const Diagnostic*> ordered(const std::vector<Diagnostic>& all) {
  std::map<const SourceFile*, std::size_t> rank;
  std::vector<const Diagnostic*> result;
  for (const Diagnostic& diagnostic : all) {
    rank.try_emplace(diagnostic.place.file.get(), rank.size());
    result.push_back(&diagnostic);
  }
  const auto place = [&](const Diagnostic* d) {
    return std::tuple(rank.at(d->place.file.get()), d->place.line, d->place.column);
  };
  std::stable_sort(result.begin(), result.end(), [&](auto* a, auto* b) { return place(a) < place(b); });
  const auto same = [&](auto* a, auto* b) {
    const bool somewhere = a->place.line > 0 || a->place.path == b->place.path;
    return somewhere && place(a) == place(b) && a->message == b->message;
  };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

}  // namespace

void Diagnostics::add(const SourcePlace& place, std::string message) { all_.push_back({place, std::move(message)}); }

std::string Diagnostics::text() const {
  const std::vector<const Diagnostic*> shown = ordered(all_);
  std::string result;
  for (std::size_t i = 0; i < std::min(shown.size(), kMostShown); ++i)
    result += fmt::format("{}{}", i == 0 ? "" : "\n", text_of(*shown[i]));
  if (shown.size() > kMostShown) result += fmt::format("\n{} more mistakes are not shown", shown.size() - kMostShown);
  return result;
}

void Diagnostics::throw_if_any() const {
  if (!all_.empty()) throw UserError(text());
}

}  // namespace trainyard
