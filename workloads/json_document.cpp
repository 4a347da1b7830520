#include "workloads/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace trainyard {
namespace {

constexpr int kDeepest = 64;  // configurations need 4; what walks the tree recurses

SourcePlace place_at(const std::shared_ptr<const SourceFile>& file, const std::string& text, std::size_t offset,
                     std::string path) {
  offset = std::min(offset, text.size());
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto line = std::count(text.begin(), end, '\n');
  const std::size_t newline = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  return {file, static_cast<int>(line) + 1, static_cast<int>(offset - start) + 1, std::move(path)};
}

std::shared_ptr<const SourceFile> source_file(const std::string& text, const std::string& name) {
  auto file = std::make_shared<SourceFile>();
  file->name = name;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) file->lines.push_back(line);
  return file;
}

/// Position after the string literal that begins at `at`.
std::size_t after_string(const std::string& text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

/// Where `"key":` stands in the root object of a valid document, or 0.
std::size_t key_offset(const std::string& text, std::string_view key) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c != '"') {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      ++at;
      continue;
    }
    const std::size_t end = after_string(text, at);
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    const bool is_key = next != std::string::npos && text[next] == ':';
    if (depth == 1 && is_key && text.compare(at + 1, end - at - 2, key) == 0) return at;
    at = end;
  }
  return 0;
}

/// nlohmann's message without its own number and place.
std::string reason(const std::string& message) {
  const std::size_t column = message.find("column ");
  const std::size_t colon = message.find(": ", column == std::string::npos ? 0 : column);
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

/// The value as JSON, cut.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kWidest = 60;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kWidest ? text : text.substr(0, kWidest) + "...";
}

bool any_key_contains(const nlohmann::json& value, std::string_view part) {
  if (!value.is_structured()) return false;
  for (const auto& [key, inner] : value.items()) {
    const bool given = !inner.is_null() && inner != false;
    if (value.is_object() && given && key.find(part) != std::string::npos) return true;
    if (any_key_contains(inner, part)) return true;
  }
  return false;
}

}  // namespace

std::optional<JsonDocument> JsonDocument::parse(const std::string& text, const std::string& file_name,
                                                Diagnostics& diagnostics) {
  JsonDocument document;
  document.text_ = text;
  document.file_ = source_file(text, file_name);
  bool too_deep = false;
  const auto keep = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kDeepest;
    return depth <= kDeepest;
  };
  try {
    document.root_ = nlohmann::json::parse(text, keep);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    diagnostics.add(place_at(document.file_, text, offset, ""),
                    fmt::format("not valid JSON: {}", reason(error.what())));
    return std::nullopt;
  } catch (const nlohmann::json::out_of_range&) {
    diagnostics.add(place_at(document.file_, text, 0, ""), "a number is too large for double precision");
    return std::nullopt;
  }
  if (too_deep) {
    diagnostics.add(document.place(""), fmt::format("nested deeper than {} levels", kDeepest));
    return std::nullopt;
  }
  if (document.root_.is_object()) return document;
  diagnostics.add(document.place(""), fmt::format("expected a JSON object, got {}", document.root_.type_name()));
  return std::nullopt;
}

bool JsonDocument::has(std::string_view key) const {
  const auto found = root_.find(key);
  return found != root_.end() && !found->is_null();
}

SourcePlace JsonDocument::place(std::string_view key) const {
  if (!outer_.empty()) return place_at(file_, text_, key_offset(text_, outer_), fmt::format("{}.{}", outer_, key));
  return place_at(file_, text_, key_offset(text_, key), has(key) ? std::string(key) : "");
}

double JsonDocument::number(std::string_view key, double fallback, Diagnostics& diagnostics) const {
  if (!has(key)) return fallback;
  const nlohmann::json& value = *root_.find(key);
  if (value.is_number()) return value.get<double>();
  diagnostics.add(place(key), fmt::format("expected a number, got {}", shown(value)));
  return fallback;
}

bool JsonDocument::boolean(std::string_view key, bool fallback, Diagnostics& diagnostics) const {
  if (!has(key)) return fallback;
  const nlohmann::json& value = *root_.find(key);
  if (value.is_boolean()) return value.get<bool>();
  diagnostics.add(place(key), fmt::format("expected true or false, got {}", shown(value)));
  return fallback;
}

JsonDocument JsonDocument::object(std::string_view key, Diagnostics& diagnostics) const {
  JsonDocument inner = *this;
  inner.outer_ = key;
  inner.root_ = has(key) ? *root_.find(key) : nlohmann::json::object();
  if (inner.root_.is_object()) return inner;
  diagnostics.add(place(key), fmt::format("expected an object, got {}", shown(inner.root_)));
  inner.root_ = nlohmann::json::object();
  return inner;
}

std::string JsonDocument::first_text(std::string_view key) const {
  if (!has(key)) return "";
  const nlohmann::json& value = *root_.find(key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_array() && !value.empty() && value[0].is_string() ? value[0].get<std::string>() : "";
}

std::size_t JsonDocument::length(std::string_view key) const {
  return has(key) && root_.find(key)->is_array() ? root_.find(key)->size() : 0;
}

bool JsonDocument::mentions(std::string_view part) const { return any_key_contains(root_, part); }

}  // namespace trainyard
