#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "sim/config/flow_brackets.hpp"
#include "sim/config/message.hpp"
#include "sim/config/text_file.hpp"
#include "sim/config/yaml_builder.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostDocuments = 10'000;

/// Line breaks as "\n" and no byte order mark: yaml-cpp counts lines as we do.
std::string normalised(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    result += text[i] == '\r' ? '\n' : text[i];
  }
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Bytes of the UTF-8 character at `at`, or 0 where there is none (also for surrogates and overlong forms).
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto continued = [&](std::size_t n) {
    for (std::size_t i = 1; i < n; ++i)
      if ((byte(i) & 0xc0u) != 0x80u) return false;
    return true;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continued(2) ? 2 : 0;
  const bool overlong3 = lead == 0xe0 && byte(1) < 0xa0, surrogate = lead == 0xed && byte(1) >= 0xa0;
  if (lead >= 0xe0 && lead <= 0xef) return continued(3) && !overlong3 && !surrogate ? 3 : 0;
  const bool overlong4 = lead == 0xf0 && byte(1) < 0x90, beyond = lead == 0xf4 && byte(1) >= 0x90;
  if (lead >= 0xf0 && lead <= 0xf4) return continued(4) && !overlong4 && !beyond ? 4 : 0;
  return 0;
}

/// A byte that no text file should hold.
struct BadCharacter {
  std::size_t at;  ///< byte in the line
  int column;
  std::string message;
};

std::optional<BadCharacter> bad_character(std::string_view line) {
  int column = 1;
  for (std::size_t i = 0; i < line.size(); ++column) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const std::size_t length = character_length(line, i);
    if (length == 0) return BadCharacter{i, column, fmt::format("not valid UTF-8 (byte 0x{:02x})", byte)};
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
      return BadCharacter{i, column, fmt::format("a control character (0x{:02x}) in the text", byte)};
    i += length;
  }
  return std::nullopt;
}

/// Whether every byte is text; the first that is not becomes a diagnostic, which quotes the line up to there.
bool is_text(const std::shared_ptr<SourceFile>& file, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < file->lines.size(); ++i)
    if (auto bad = bad_character(file->lines[i])) {
      file->lines[i].resize(bad->at);
      diagnostics.add({file, static_cast<int>(i) + 1, bad->column, ""}, std::move(bad->message));
      return false;
    }
  return true;
}

bool tab_in_indentation(const SourceFile& file, int line) {
  if (line < 1 || static_cast<std::size_t>(line) > file.lines.size()) return false;
  const std::string& text = file.lines[static_cast<std::size_t>(line) - 1];
  return text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string::npos;
}

/// yaml-cpp's complaint in words that say what to do.
std::string syntax_message(const std::string& message) {
  static constexpr std::pair<std::string_view, std::string_view> kPlain[] = {
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a \"[\" is not closed, or a comma is missing"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "a \"{\" is not closed, or a comma is missing"},
      {YAML::ErrorMsg::FLOW_END, "a closing bracket without its opening one"},
      {YAML::ErrorMsg::END_OF_MAP, "the indentation does not fit the lines above, or the \":\" is missing"},
      {YAML::ErrorMsg::END_OF_SEQ, "the indentation does not fit the list above"},
      {YAML::ErrorMsg::MAP_VALUE, "a \":\" where no key can be; quote the text, or check the indentation"},
      {YAML::ErrorMsg::MAP_KEY, "a key where none can be; check the indentation"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a \"-\" where no list element can be; check the indentation"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "text cannot begin with this character; quote it"},
      {YAML::ErrorMsg::DOC_IN_SCALAR, "a quote is not closed"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "a quote is not closed"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "the alias names no anchor above it"}};
  for (const auto& [theirs, ours] : kPlain)
    if (message == theirs) return std::string(ours);
  return message;
}

void add_syntax_error(const YAML::Exception& error, const SourceFile& file, const YamlBuilder& builder,
                      Diagnostics& diagnostics) {
  const SourcePlace place = builder.place_of(error.mark, "");
  // A tab is the usual reason for an odd complaint, there or in the line below.
  for (const int line : {place.line, place.line - 1})
    if (tab_in_indentation(file, line)) {
      const auto tab = file.lines[static_cast<std::size_t>(line) - 1].find('\t');
      diagnostics.add({place.file, line, static_cast<int>(tab) + 1, ""}, "a tab in the indentation; use spaces");
      return;
    }
  diagnostics.add(place, fmt::format("not valid YAML: {}", syntax_message(error.msg)));
}

/// Whether anything but blank lines and comments is there.
bool has_content(const SourceFile& file) {
  return std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
    const auto first = line.find_first_not_of(" \t");
    return first != std::string::npos && line[first] != '#';
  });
}

/// The documents of one text; stops at the first syntax error, after which nothing can be trusted.
class Documents {
 public:
  Documents(const std::string& text, const std::string& name, Diagnostics& diagnostics)
      : text_(normalised(text)), diagnostics_(diagnostics), file_(std::make_shared<SourceFile>()) {
    file_->name = name;
    file_->lines = lines_of(text_);
    // The end marker makes the parser notice a quote that is open at the end of the text; it accepts one otherwise.
    stream_.str(text_ + "\n...\n");
    stopped_ = !is_text(file_, diagnostics_) || !has_content(*file_);
    if (!stopped_) start();
  }

  /// The next document, or nothing at the end or after a mistake.
  std::optional<ConfigValue> next() {
    if (stopped_) return std::nullopt;
    YamlBuilder builder(file_, diagnostics_);
    try {
      if (!parser_.HandleNextDocument(builder)) return std::nullopt;
      ConfigValue root = builder.take_root();
      if (is_separated(root.place.line)) {
        last_line_ = builder.last_line();
        return root;
      }
      // yaml-cpp begins a new document where a line does not continue the one before.
      diagnostics_.add(root.place, fmt::format("not valid YAML: {}", syntax_message(YAML::ErrorMsg::END_OF_MAP)));
    } catch (const ReadingStopped& stop) {
      // yaml-cpp takes what stands in a bracket that is never closed for a key.
      const auto open = stop.message == kKeyIsNoText ? unclosed_bracket(file_) : std::nullopt;
      diagnostics_.add(open ? open->place : stop.place,
                       open ? fmt::format("not valid YAML: this \"{}\" is not closed", open->bracket) : stop.message);
    } catch (const YAML::Exception& error) {
      add_syntax_error(error, *file_, builder, diagnostics_);
    }
    stopped_ = true;
    return std::nullopt;
  }

  /// Whether a mistake ended the reading.
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] SourcePlace beginning() const { return {file_, 1, 1, ""}; }

 private:
  void start() {
    YamlBuilder nothing(file_, diagnostics_);
    try {
      parser_.Load(stream_);
    } catch (const YAML::Exception& error) {
      add_syntax_error(error, *file_, nothing, diagnostics_);
      stopped_ = true;
    }
  }

  /// Whether the document that begins at `line` is the first or has a `---` or `...` before it.
  [[nodiscard]] bool is_separated(int line) const {
    if (last_line_ == 0) return true;
    const auto& lines = file_->lines;
    for (auto i = static_cast<std::size_t>(last_line_ - 1); i < std::min(static_cast<std::size_t>(line), lines.size());
         ++i)
      if (lines[i].starts_with("---") || lines[i].starts_with("...")) return true;
    return false;
  }

  std::string text_;
  int last_line_ = 0;  ///< of the document before
  Diagnostics& diagnostics_;
  std::shared_ptr<SourceFile> file_;
  std::istringstream stream_;
  YAML::Parser parser_;
  bool stopped_ = false;
};

}  // namespace

ConfigValue read_yaml_file(const std::string& path, Diagnostics& diagnostics) {
  const TextFile file = read_text_file(path);
  if (file.error.empty()) return read_yaml_text(file.text, path, diagnostics);
  auto nowhere = std::make_shared<SourceFile>();
  nowhere->name = path;
  ConfigValue nothing;
  nothing.place.file = std::move(nowhere);
  diagnostics.add(nothing.place, file.error);
  return nothing;
}

ConfigValue read_yaml_text(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  Documents documents(text, name, diagnostics);
  ConfigValue nothing;
  nothing.place = documents.beginning();
  std::optional<ConfigValue> root = documents.next();
  if (!root) return nothing;
  if (const auto second = documents.next())
    diagnostics.add(second->place, "a second document begins here; one file holds one document");
  return documents.stopped() ? nothing : *std::move(root);
}

std::vector<ConfigValue> read_yaml_documents(const std::string& text, const std::string& name,
                                             Diagnostics& diagnostics) {
  Documents documents(text, name, diagnostics);
  std::vector<ConfigValue> result;
  while (auto document = documents.next()) {
    if (result.size() == kMostDocuments) {
      diagnostics.add(document->place, fmt::format("more than {} documents", kMostDocuments));
      break;
    }
    result.push_back(*std::move(document));
  }
  return result;
}

}  // namespace trainyard
