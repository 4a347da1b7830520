#include "sim/config/flow_brackets.hpp"

#include <string_view>

namespace trainyard {
namespace {

/// Follows the text and keeps the brackets that are open.
class BracketScan {
 public:
  explicit BracketScan(std::shared_ptr<const SourceFile> file) : file_(std::move(file)) {}

  std::vector<UnclosedBracket> run() {
    for (std::size_t i = 0; i < file_->lines.size(); ++i) scan(file_->lines[i], static_cast<int>(i) + 1);
    return std::move(open_);
  }

 private:
  void scan(std::string_view line, int number) {
    int column = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      const char c = line[at];
      if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++column;
      if (quote_ == '"' && c == '\\') {
        ++at, ++column;
      } else if (quote_ != 0) {
        if (c == quote_) quote_ = 0;
      } else if (c == '#' && (at == 0 || line[at - 1] == ' ')) {
        return;
      } else if (c == '"' || (c == '\'' && !inside_word(line, at))) {
        quote_ = c;
      } else {
        bracket(c, {file_, number, column, ""});
      }
    }
  }

  /// An apostrophe as in "it's" opens no quote.
  static bool inside_word(std::string_view line, std::size_t at) {
    return at > 0 && std::string_view(" [{,:-").find(line[at - 1]) == std::string_view::npos;
  }

  void bracket(char c, const SourcePlace& place) {
    if (c == '[' || c == '{') open_.push_back({place, c});
    if ((c == ']' || c == '}') && !open_.empty()) open_.pop_back();
  }

  std::shared_ptr<const SourceFile> file_;
  std::vector<UnclosedBracket> open_;
  char quote_ = 0;
};

}  // namespace

std::optional<UnclosedBracket> unclosed_bracket(const std::shared_ptr<const SourceFile>& file) {
  const std::vector<UnclosedBracket> open = BracketScan(file).run();
  return open.empty() ? std::nullopt : std::optional(open.front());
}

}  // namespace trainyard
