// A shell script as statements with their variables put in. Private to sim/scenario/launch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/launch/argument_table.hpp"

namespace trainyard::launch {

/// A value: one text, or a list of them.
struct Variable {
  std::vector<std::string> texts;
  std::string unknown;  ///< why the value is not known; "" = it is
};
using Variables = std::map<std::string, Variable, std::less<>>;

struct Statement {
  std::vector<Word> words;   ///< without redirections
  bool conditional = false;  ///< inside a condition, a loop or a function
};

/// All statements of a script and its here-documents by the file they are written to.
struct ShellText {
  std::vector<Statement> statements;
  std::map<std::string, std::string> documents;
};
[[nodiscard]] ShellText read_shell(const std::string& text, const std::string& name, Diagnostics& diagnostics);

/// A text of a script or a here-document, character by character, with the place of each.
class Characters {
 public:
  Characters(std::string_view text, std::shared_ptr<const SourceFile> file) : text_(text), file_(std::move(file)) {}
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool follows(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  char take();
  void skip(std::size_t count);
  /// Up to, not including, the end of the line.
  std::string_view rest_of_line();
  /// Up to the `close` that belongs to an `open` already taken, which is taken too; nothing when it never comes.
  std::optional<std::string_view> until_closed(std::string_view open, std::string_view close);
  [[nodiscard]] SourcePlace place() const { return {file_, line_, column_, ""}; }

 private:
  std::string_view text_;
  std::shared_ptr<const SourceFile> file_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

/// `$NAME`, `${NAME[@]}`, `${NAME:-default}`, `$((..))`, `$(..)`, `$1`; `in` stands behind the `$`.
[[nodiscard]] Variable expand_dollar(Characters& in, const Variables& variables);
/// A text with every `$` put in.
[[nodiscard]] Variable expand_text(std::string_view text, const Variables& variables);

}  // namespace trainyard::launch
