// A JSON file whose values know their line and column.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/config_value.hpp"

namespace trainyard {

/// One object of a JSON file, read key by key. A null counts as absent.
class JsonDocument {
 public:
  /// Syntax errors and anything but an object at the root go to `diagnostics`; then nothing is returned.
  [[nodiscard]] static std::optional<JsonDocument> parse(const std::string& text, const std::string& file_name,
                                                         Diagnostics& diagnostics);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Of the key in the root object; of the document's beginning where the key is absent.
  [[nodiscard]] SourcePlace place(std::string_view key) const;
  /// The value, or the fallback where absent. A value of another type goes to `diagnostics`.
  [[nodiscard]] double number(std::string_view key, double fallback, Diagnostics& diagnostics) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback, Diagnostics& diagnostics) const;
  /// The object under the key, to be read alike; empty where absent. Its mistakes are shown at the key.
  [[nodiscard]] JsonDocument object(std::string_view key, Diagnostics& diagnostics) const;
  /// The first text of a list, the text itself, or "".
  [[nodiscard]] std::string first_text(std::string_view key) const;
  /// Entries of the list under the key; 0 where it is absent or no list.
  [[nodiscard]] std::size_t length(std::string_view key) const;
  /// Whether `part` occurs in any key, at any depth, whose value is neither null nor false.
  [[nodiscard]] bool mentions(std::string_view part) const;

 private:
  std::string text_;
  std::string outer_;  ///< of an inner object: its key in the root
  std::shared_ptr<const SourceFile> file_;
  nlohmann::json root_;
};

}  // namespace trainyard
