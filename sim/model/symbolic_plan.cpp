// The small texts inside a Plan: ranges, device sets, layers, entries of an order table.
#include "sim/model/symbolic_plan.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace trainyard {
namespace {

std::optional<int> parse_index(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool canonical = !text.empty() && (text.size() == 1 || text.front() != '0') && text.front() != '-';
  if (error != std::errc{} || end != text.data() + text.size() || !canonical) return std::nullopt;
  return value;
}

/// The text before the first `mark`, and the rest behind it (nothing where it does not stand).
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool is_unit(std::string_view text) { return text == "cpu" || text == "ssd" || text == "nic"; }

std::optional<SymbolicOperation> parse_operation(std::string_view text) {
  SymbolicOperation operation;
  if (const auto [pass, rest] = cut(text, ':'); rest) {
    if (pass.empty()) return std::nullopt;
    operation.pass = pass;
    text = *rest;
  }
  if (text.empty() || std::string_view("FBWOR").find(text.front()) == std::string_view::npos) return std::nullopt;
  operation.kind = text.front();
  const auto [micro_batch, chunk] = cut(text.substr(1), '.');
  const auto number = parse_index(micro_batch);
  const auto chunk_number = chunk ? parse_index(*chunk) : std::optional<int>(0);
  if (!number || !chunk_number) return std::nullopt;
  operation.micro_batch = *number;
  operation.chunk = *chunk_number;
  return operation;
}

std::string to_text(const SymbolicOperation& operation) {
  std::string text = operation.pass.empty() ? "" : operation.pass + ":";
  text += fmt::format("{}{}", operation.kind, operation.micro_batch);
  if (operation.chunk != 0) text += fmt::format(".{}", operation.chunk);
  return text;
}

}  // namespace

std::vector<int> IndexRange::indices() const {
  std::vector<int> all;
  for (std::int64_t i = first; i <= last; i += step) all.push_back(static_cast<int>(i));
  return all;
}

std::optional<IndexRange> parse_index_range(std::string_view text) {
  const auto [bounds, step_text] = cut(text, ':');
  const auto [first_text, last_text] = cut(bounds, '-');
  const auto first = parse_index(first_text);
  const auto last = last_text ? parse_index(*last_text) : first;
  const auto step = step_text ? parse_index(*step_text) : std::optional<int>(1);
  if (!first || !last || !step || *first > *last || *step < 1 || (step_text && !last_text)) return std::nullopt;
  return IndexRange{*first, *last, *step};
}

std::string to_text(const IndexRange& range) {
  if (range.first == range.last) return fmt::format("{}", range.first);
  return range.step == 1 ? fmt::format("{}-{}", range.first, range.last)
                         : fmt::format("{}-{}:{}", range.first, range.last, range.step);
}

std::optional<DevicePiece> parse_device_piece(std::string_view text) {
  const auto [group, rest] = cut(text, '.');
  if (group.empty()) return std::nullopt;
  DevicePiece piece{std::string(group), std::nullopt, std::nullopt, ""};
  if (!rest) return piece;
  const auto [nodes, devices] = cut(*rest, '.');
  piece.nodes = parse_index_range(nodes);
  if (!piece.nodes) return std::nullopt;
  if (!devices) return piece;
  if (is_unit(*devices)) {
    piece.unit = *devices;
    return piece;
  }
  piece.devices = parse_index_range(*devices);
  return piece.devices ? std::optional(piece) : std::nullopt;
}

std::string to_text(const DevicePiece& piece) {
  std::string text = piece.group;
  if (piece.nodes) text += "." + to_text(*piece.nodes);
  if (piece.devices) text += "." + to_text(*piece.devices);
  if (!piece.unit.empty()) text += "." + piece.unit;
  return text;
}

LayerPiece layer_piece(std::string_view text) {
  const auto range = parse_index_range(text);
  return range ? LayerPiece{"", range} : LayerPiece{std::string(text), std::nullopt};
}

std::string to_text(const LayerPiece& piece) { return piece.range ? to_text(*piece.range) : piece.name; }

std::optional<SymbolicEntry> parse_entry(std::string_view text) {
  const auto [operation_text, not_before_text] = cut(text, '@');
  const auto operation = parse_operation(operation_text);
  if (!operation) return std::nullopt;
  if (!not_before_text) return SymbolicEntry{*operation, std::nullopt};
  const auto not_before = parse_operation(*not_before_text);
  return not_before ? std::optional(SymbolicEntry{*operation, not_before}) : std::nullopt;
}

std::string to_text(const SymbolicEntry& entry) {
  std::string text = to_text(entry.operation);
  if (entry.not_before) text += "@" + to_text(*entry.not_before);
  return text;
}

}  // namespace trainyard
