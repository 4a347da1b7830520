// A YAML document as our own tree, with the place of every value: nothing above sim/config sees yaml-cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Text of one input file; messages quote its lines.
struct SourceFile {
  std::string name;  ///< as the user wrote it
  std::vector<std::string> lines;
};

/// Where a value stands: 1-based line and column in its file, and the path of keys that leads to it.
struct SourcePlace {
  std::shared_ptr<const SourceFile> file;  ///< null for values that come from the command line
  int line = 0;
  int column = 0;
  std::string path;  ///< e.g. `cluster.nodes[1].gpu`
};

/// One node of a document.
struct ConfigValue {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  bool quoted = false;                                    ///< a quoted scalar is never a number
  std::string scalar;                                     ///< text as written
  std::vector<ConfigValue> items;                         ///< list elements, or map values in file order
  std::vector<std::pair<std::string, SourcePlace>> keys;  ///< map keys, parallel to `items`
  SourcePlace place;

  /// The value of `key`, or null.
  [[nodiscard]] const ConfigValue* find(std::string_view key) const;
  /// Same content, places not compared.
  [[nodiscard]] bool same_content(const ConfigValue& other) const;
};

/// One mistake in the input.
struct Diagnostic {
  SourcePlace place;
  std::string message;
};

/// Collects mistakes so that all of a file are shown at once.
class Diagnostics {
 public:
  void add(const SourcePlace& place, std::string message);
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] const std::vector<Diagnostic>& all() const { return all_; }
  /// `file:line:col: path: message`, the source line and a caret below it, for each mistake in order of place.
  [[nodiscard]] std::string text() const;
  /// Throws UserError with text() unless empty.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> all_;
};

/// Reads one YAML document. Refused with line and column: a file that cannot be read, YAML syntax, duplicate keys,
/// tags, anchors that repeat without bound, more than one document. Mistakes go to `diagnostics`; the value returned
/// then holds what could be read.
[[nodiscard]] ConfigValue read_yaml_file(const std::string& path, Diagnostics& diagnostics);
[[nodiscard]] ConfigValue read_yaml_text(const std::string& text, const std::string& name, Diagnostics& diagnostics);
/// Several documents in one text, separated by `---`.
[[nodiscard]] std::vector<ConfigValue> read_yaml_documents(const std::string& text, const std::string& name,
                                                           Diagnostics& diagnostics);

/// The candidate nearest to `word` (Damerau-Levenshtein, at most a third of its letters wrong), or "".
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace trainyard
