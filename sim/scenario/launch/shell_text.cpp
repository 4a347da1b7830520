#include "sim/scenario/launch/shell_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace trainyard::launch {
namespace {

constexpr std::string_view kEndsWord = " \t\r\n;&|()<>";

std::shared_ptr<const SourceFile> source_file(const std::string& text, const std::string& name) {
  SourceFile file{name, {}};
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    file.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  file.lines.push_back(text.substr(begin));
  return std::make_shared<const SourceFile>(std::move(file));
}

/// The name before `=` or `+=`; "" where the text begins otherwise.
std::string assigned_name(const Characters& in) {
  std::string name;
  std::size_t at = 0;
  while (std::isalnum(static_cast<unsigned char>(in.peek(at))) != 0 || in.peek(at) == '_') name += in.peek(at++);
  const bool plain = in.peek(at) == '=', more = in.peek(at) == '+' && in.peek(at + 1) == '=';
  const bool is_name = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return is_name && (plain || more) ? name : "";
}

class Shell {
 public:
  Shell(const std::string& text, const std::string& name, Diagnostics& diagnostics)
      : in_(text, source_file(text, name)), diagnostics_(diagnostics) {}

  ShellText read() {
    while (!in_.at_end()) statement();
    return std::move(result_);
  }

 private:
  struct Redirection {
    std::string delimiter, target;
    bool quoted = false;
  };

  void statement() {
    Statement statement;
    Redirection redirection;
    while (!in_.at_end() && !end_of_statement()) {
      if (skip_blank()) continue;
      if (in_.peek() == '#') {
        (void)in_.rest_of_line();
      } else if (in_.peek() == '<' || in_.peek() == '>') {
        redirect(redirection);
      } else if (const std::string name = may_assign(statement) ? assigned_name(in_) : ""; !name.empty()) {
        assign(name);
      } else {
        for (Word& word : words(true)) statement.words.push_back(std::move(word));
        block_word(statement);
      }
    }
    const bool newline = !in_.at_end() && in_.take() == '\n';
    statement.conditional = depth_ > 0;
    if (!statement.words.empty()) result_.statements.push_back(std::move(statement));
    if (!redirection.delimiter.empty()) document(redirection, newline);
  }

  bool end_of_statement() const { return std::string_view("\n;&|()").find(in_.peek()) != std::string_view::npos; }

  bool skip_blank() {
    if (in_.peek() == ' ' || in_.peek() == '\t' || in_.peek() == '\r') return in_.skip(1), true;
    if (in_.follows("\\\n")) return in_.skip(2), true;
    if (in_.follows("\\\r\n")) return in_.skip(3), true;
    return false;
  }

  static bool may_assign(const Statement& statement) {
    static constexpr std::array<std::string_view, 5> kBefore{"export", "local", "declare", "readonly", "env"};
    return std::ranges::all_of(statement.words, [](const Word& word) {
      return std::ranges::find(kBefore, std::string_view(word.text)) != kBefore.end();
    });
  }

  /// Words that open and close blocks stand first; what stands behind `then`, `do` and `else` is a statement of its
  /// own.
  void block_word(Statement& statement) {
    static constexpr std::array<std::string_view, 6> kOpen{"if", "for", "while", "until", "case", "{"};
    static constexpr std::array<std::string_view, 4> kClose{"fi", "done", "esac", "}"};
    static constexpr std::array<std::string_view, 4> kBetween{"then", "do", "else", "elif"};
    if (statement.words.size() != 1) return;
    const std::string_view word = statement.words[0].text;
    if (std::ranges::find(kOpen, word) != kOpen.end())
      ++depth_;
    else if (std::ranges::find(kClose, word) != kClose.end())
      depth_ = std::max(0, depth_ - 1);
    else if (std::ranges::find(kBetween, word) == kBetween.end())
      return;
    if (word != "for" && word != "case") statement.words.clear();
  }

  void assign(const std::string& name) {
    const SourcePlace place = in_.place();
    in_.skip(name.size());
    const bool more = in_.peek() == '+';
    in_.skip(more ? 2 : 1);
    Variable value;
    if (in_.peek() == '(')
      value = list();
    else
      value = joined(words(false));
    Variable& variable = variables_[name];
    if (depth_ > 0)
      value.unknown = fmt::format(
          "{} is set inside a condition or a loop (line {}), which is not read; print the command with `echo` and "
          "import that",
          name, place.line);
    store(variable, std::move(value), more);
  }

  static void store(Variable& variable, Variable value, bool more) {
    if (!more) {
      variable = std::move(value);
      return;
    }
    variable.texts.insert(variable.texts.end(), value.texts.begin(), value.texts.end());
    if (variable.unknown.empty()) variable.unknown = std::move(value.unknown);
  }

  static Variable joined(const std::vector<Word>& words) {
    Variable value{{""}, ""};
    for (const Word& word : words) {
      value.texts[0] += word.text;
      if (value.unknown.empty()) value.unknown = word.unknown;
    }
    return value;
  }

  Variable list() {
    in_.skip(1);
    Variable value;
    while (!in_.at_end() && in_.peek() != ')') {
      if (skip_blank()) continue;
      if (in_.peek() == '#') (void)in_.rest_of_line();
      if (kEndsWord.find(in_.peek()) != std::string_view::npos && in_.peek() != ')') {
        in_.skip(1);
        continue;
      }
      for (const Word& word : words(true)) {
        value.texts.push_back(word.text);
        if (value.unknown.empty()) value.unknown = word.unknown;
      }
    }
    in_.skip(1);
    return value;
  }

  /// One word as it stands, several where an unquoted value has blanks or a list has members. `split`: not in
  /// assignments.
  std::vector<Word> words(bool split) {
    std::vector<Word> fields{{"", in_.place(), ""}};
    bool quoted = false;
    while (!in_.at_end() && kEndsWord.find(in_.peek()) == std::string_view::npos) {
      if (in_.follows("\\\n")) break;
      const char c = in_.take();
      if (c == '\'') {
        quoted = true, single_quotes(fields.back());
      } else if (c == '"') {
        quoted = true, double_quotes(fields);
      } else if (c == '\\') {
        fields.back().text += in_.take();
      } else if (c == '$') {
        add(fields, expand_dollar(in_, variables_), split);
      } else if (c == '`') {
        (void)in_.until_closed("", "`");
        fields.back().unknown = "what a command prints is not known here";
      } else {
        fields.back().text += c;
      }
    }
    if (!quoted && split)
      std::erase_if(fields, [](const Word& word) { return word.text.empty() && word.unknown.empty(); });
    return fields;
  }

  void single_quotes(Word& into) {
    const SourcePlace place = in_.place();
    const auto inner = in_.until_closed("", "'");
    if (inner)
      into.text += *inner;
    else
      diagnostics_.add(place, "a quote is never closed");
  }

  void double_quotes(std::vector<Word>& fields) {
    const SourcePlace place = in_.place();
    while (!in_.at_end() && in_.peek() != '"') {
      const char c = in_.take();
      if (c == '$') {
        quoted_value(fields, expand_dollar(in_, variables_));
      } else if (c == '\\') {
        if (in_.peek() == '\n')
          in_.skip(1);
        else
          fields.back().text += in_.take();
      } else {
        fields.back().text += c;
      }
    }
    if (in_.at_end()) return diagnostics_.add(place, "a quote is never closed");
    in_.skip(1);
  }

  /// A list in quotes gives a word a member.
  static void quoted_value(std::vector<Word>& fields, const Variable& value) {
    for (std::size_t i = 0; i < value.texts.size(); ++i) {
      if (i > 0) fields.push_back({"", fields.front().place, ""});
      fields.back().text += value.texts[i];
    }
    if (!value.unknown.empty()) fields.back().unknown = value.unknown;
  }

  static void add(std::vector<Word>& fields, const Variable& value, bool split) {
    if (!split) return quoted_value(fields, {{fmt::format("{}", fmt::join(value.texts, " "))}, value.unknown});
    const std::string all = fmt::format("{}", fmt::join(value.texts, " "));
    for (const char c : all) {
      const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!blank)
        fields.back().text += c;
      else if (!fields.back().text.empty())
        fields.push_back({"", fields.front().place, ""});
    }
    if (!value.unknown.empty()) fields.back().unknown = value.unknown;
  }

  void redirect(Redirection& redirection) {
    const bool here = in_.follows("<<") && !in_.follows("<<<");
    while (in_.peek() == '<' || in_.peek() == '>' || in_.peek() == '&' || (here && in_.peek() == '-')) in_.skip(1);
    while (skip_blank()) {
    }
    if (here) redirection.quoted = in_.peek() == '\'' || in_.peek() == '"';
    const std::string text = joined(words(false)).texts[0];
    (here ? redirection.delimiter : redirection.target) = text;
  }

  void document(const Redirection& redirection, bool on_next_line) {
    if (!on_next_line) (void)in_.rest_of_line(), in_.skip(1);
    std::string text;
    while (!in_.at_end()) {
      std::string line(in_.rest_of_line());
      in_.skip(1);
      if (line.ends_with('\r')) line.pop_back();
      if (line.substr(std::min(line.find_first_not_of('\t'), line.size())) == redirection.delimiter) break;
      text += (redirection.quoted ? line : expand_text(line, variables_).texts[0]) + "\n";
    }
    if (!redirection.target.empty()) result_.documents[redirection.target] = text;
  }

  Characters in_;
  Diagnostics& diagnostics_;
  Variables variables_;
  ShellText result_;
  int depth_ = 0;
};

}  // namespace

char Characters::take() {
  if (at_end()) return '\0';
  const char c = text_[at_++];
  const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // columns count characters
  if (c == '\n')
    ++line_, column_ = 1;
  else if (!continues)
    ++column_;
  return c;
}

void Characters::skip(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) (void)take();
}

std::string_view Characters::rest_of_line() {
  const std::size_t begin = at_, end = std::min(text_.find('\n', at_), text_.size());
  skip(end - begin);
  return text_.substr(begin, end - begin);
}

std::optional<std::string_view> Characters::until_closed(std::string_view open, std::string_view close) {
  const std::size_t begin = at_;
  for (int depth = 1; !at_end();) {
    if (follows(close) && --depth == 0) {
      const std::string_view inner = text_.substr(begin, at_ - begin);
      skip(close.size());
      return inner;
    }
    if (!open.empty() && follows(open)) ++depth;
    skip(1);
  }
  return std::nullopt;
}

ShellText read_shell(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  return Shell(text, name, diagnostics).read();
}

}  // namespace trainyard::launch
