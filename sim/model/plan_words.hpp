// The words of a Plan for its enumerators, in one place: reader, writer and messages use the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/plan.hpp"

namespace trainyard {

template <class E>
struct Word {
  E value;
  std::string_view text;
};

/// All words of an enumeration; where a value has two spellings (`expert`, `table`), the first is the canonical one.
template <class E>
[[nodiscard]] std::span<const Word<E>> words();
template <>
std::span<const Word<AxisKind>> words<AxisKind>();
template <>
std::span<const Word<State>> words<State>();
template <>
std::span<const Word<Place>> words<Place>();
template <>
std::span<const Word<RecomputeKind>> words<RecomputeKind>();
template <>
std::span<const Word<Update>> words<Update>();
template <>
std::span<const Word<SyncWhat>> words<SyncWhat>();
template <>
std::span<const Word<Algorithm>> words<Algorithm>();
template <>
std::span<const Word<ContextKind>> words<ContextKind>();
template <>
std::span<const Word<Traffic>> words<Traffic>();
template <>
std::span<const Word<SwitchMode>> words<SwitchMode>();

template <class E>
[[nodiscard]] std::string_view word(E value) {
  for (const Word<E>& known : words<E>())
    if (known.value == value) return known.text;
  return "?";
}

template <class E>
[[nodiscard]] std::optional<E> from_word(std::string_view text) {
  for (const Word<E>& known : words<E>())
    if (known.text == text) return known.value;
  return std::nullopt;
}

template <class E>
[[nodiscard]] std::vector<std::string> word_list() {
  std::vector<std::string> list;
  for (const Word<E>& known : words<E>()) list.emplace_back(known.text);
  return list;
}

/// Names of the schedules that a Plan may give as `order`.
[[nodiscard]] const std::vector<std::string>& schedule_names();
/// Names of the ways to choose a pipeline for a request.
[[nodiscard]] const std::vector<std::string>& dispatch_names();

/// `[data: 2, tensor: 8]`, unequal shares written out.
[[nodiscard]] std::string to_text(const Layout& layout);
/// `none`, `selective`, `full`, `every 4`.
[[nodiscard]] std::string to_text(const Recompute& recompute);

}  // namespace trainyard
