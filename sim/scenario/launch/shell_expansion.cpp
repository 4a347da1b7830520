// Variables and arithmetic of the shell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "sim/scenario/launch/shell_text.hpp"

namespace trainyard::launch {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

Variable unknown(std::string why) { return {{""}, std::move(why)}; }

Variable value_of(std::string_view name, const Variables& variables) {
  if (const auto found = variables.find(name); found != variables.end()) return found->second;
  const bool own =
      !name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name == "@" || name == "*");
  return unknown(own ? fmt::format("${} is an argument of the script itself, which is not known here", name)
                     : fmt::format("{} has no value in this file", name));
}

/// Sums and products of whole numbers; nothing for anything else.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  std::optional<std::int64_t> value() {
    const auto result = sum();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '$' || text_[at_] == '{' || text_[at_] == '}'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::optional<std::int64_t> sum() {
    auto left = product();
    for (char c = next(); left && (c == '+' || c == '-'); c = next()) {
      ++at_;
      const auto right = product();
      left = right ? std::optional(c == '+' ? *left + *right : *left - *right) : std::nullopt;
    }
    return left;
  }

  std::optional<std::int64_t> product() {
    auto left = operand();
    for (char c = next(); left && (c == '*' || c == '/' || c == '%'); c = next()) {
      ++at_;
      const auto right = operand();
      if (!right || (c != '*' && *right == 0)) return std::nullopt;
      left = c == '*' ? *left * *right : c == '/' ? *left / *right : *left % *right;
    }
    return left;
  }

  std::optional<std::int64_t> operand() {
    if (next() == '(') {
      ++at_;
      const auto inner = sum();
      if (next() != ')') return std::nullopt;
      ++at_;
      return inner;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    return number(text_.substr(begin, at_ - begin));
  }

  std::optional<std::int64_t> number(std::string_view word) const {
    std::string text(word);
    if (const auto found = variables_.find(word); found != variables_.end() && found->second.unknown.empty())
      text = fmt::format("{}", fmt::join(found->second.texts, ""));
    const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::optional<std::int64_t>(std::stoll(text)) : std::nullopt;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

Variable arithmetic(std::string_view inner, const Variables& variables) {
  if (const auto value = Arithmetic(inner, variables).value()) return {{std::to_string(*value)}, ""};
  return unknown(fmt::format("$(({})) cannot be worked out here", inner));
}

/// What stands in `${..}`.
Variable braces(std::string_view inner, const Variables& variables) {
  std::size_t end = 0;
  while (end < inner.size() && (in_name(inner[end]) || (end == 0 && (inner[end] == '@' || inner[end] == '*')))) ++end;
  const std::string_view name = inner.substr(0, end), rest = inner.substr(end);
  if (rest.empty() || rest == "[@]" || rest == "[*]") return value_of(name, variables);
  const std::size_t skipped = rest.starts_with(":-") ? 2 : rest.starts_with("-") ? 1 : 0;
  if (skipped == 0) return unknown(fmt::format("${{{}}} is not read", inner));
  if (const auto found = variables.find(name); found != variables.end()) {
    const bool empty = found->second.unknown.empty() && fmt::format("{}", fmt::join(found->second.texts, "")).empty();
    if (skipped == 1 || !empty) return found->second;
  }
  Variable value = expand_text(rest.substr(skipped), variables);
  for (std::string& text : value.texts)
    if (text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
      text = text.substr(1, text.size() - 2);
  return value;
}

}  // namespace

Variable expand_dollar(Characters& in, const Variables& variables) {
  if (in.follows("((")) {
    in.skip(2);
    const auto inner = in.until_closed("((", "))");
    return inner ? arithmetic(*inner, variables) : unknown("$(( is never closed");
  }
  if (in.follows("(")) {
    in.skip(1);
    (void)in.until_closed("(", ")");
    return unknown("what a command prints is not known here");
  }
  if (in.follows("{")) {
    in.skip(1);
    const auto inner = in.until_closed("{", "}");
    return inner ? braces(*inner, variables) : unknown("${ is never closed");
  }
  std::string name;
  if (std::isdigit(static_cast<unsigned char>(in.peek())) != 0 || in.peek() == '@' || in.peek() == '*' ||
      in.peek() == '#')
    name = in.take();
  else
    while (in_name(in.peek())) name += in.take();
  return name.empty() ? Variable{{"$"}, ""} : value_of(name, variables);
}

Variable expand_text(std::string_view text, const Variables& variables) {
  Variable result{{""}, ""};
  Characters in(text, nullptr);
  while (!in.at_end()) {
    const char c = in.take();
    if (c != '$') {
      result.texts[0] += c;
      continue;
    }
    const Variable value = expand_dollar(in, variables);
    result.texts[0] += fmt::format("{}", fmt::join(value.texts, " "));
    if (result.unknown.empty()) result.unknown = value.unknown;
  }
  return result;
}

}  // namespace trainyard::launch
