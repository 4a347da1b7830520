// Builds our tree from yaml-cpp's events, so that duplicate keys, aliases and places are under our control.
// Private to sim/config: only its .cpp files see yaml-cpp.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"

namespace trainyard {

/// Where the parser finds a list or map in the place of a key.
inline constexpr std::string_view kKeyIsNoText = "a key must be plain text, not a list or a map";

/// Thrown by the builder to stop the parser; `place` and `message` make the diagnostic.
struct ReadingStopped {
  SourcePlace place;
  std::string message;
};

/// One document. yaml-cpp's marks are 0-based and count bytes; places are 1-based and count characters.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(std::shared_ptr<const SourceFile> file, Diagnostics& diagnostics);

  [[nodiscard]] ConfigValue take_root();
  /// Line of the last mark seen, 1-based.
  [[nodiscard]] int last_line() const { return last_line_; }
  [[nodiscard]] SourcePlace place_of(const YAML::Mark& mark, std::string path) const;

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override;
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  /// A list or map that is being filled.
  struct Frame {
    ConfigValue value;
    YAML::anchor_t anchor = 0;
    std::map<std::string, SourcePlace, std::less<>> seen;  ///< keys of a map
    bool key_next = false;
    bool drop_next = false;  ///< the next value belongs to a refused key
    std::string key;
    SourcePlace key_place;
  };

  [[nodiscard]] bool expects_key() const { return !open_.empty() && open_.back().key_next; }
  [[nodiscard]] std::string next_path() const;
  void count_nodes(std::size_t more, const SourcePlace& place);
  void refuse_tag(const std::string& tag, const SourcePlace& place);
  void take_key(const std::string& key, const SourcePlace& place);
  void open(ConfigValue::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor);
  void close();
  void keep_anchor(YAML::anchor_t anchor, const ConfigValue& value);
  void put(ConfigValue value);

  std::shared_ptr<const SourceFile> file_;
  Diagnostics& diagnostics_;
  ConfigValue root_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, ConfigValue> anchors_;
  std::size_t nodes_ = 0;
  mutable int last_line_ = 0;
  mutable int column_line_ = -1;  ///< where the last column was counted, so that a long line is not counted anew
  mutable std::size_t column_byte_ = 0;
  mutable int column_characters_ = 0;
};

}  // namespace trainyard
