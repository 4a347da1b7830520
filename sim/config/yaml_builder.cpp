#include "sim/config/yaml_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/message.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::size_t kDeepest = 100;

std::string joined(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

std::string element(const std::string& path, std::size_t i) { return fmt::format("{}[{}]", path, i); }

std::size_t count(const ConfigValue& value) {
  std::size_t nodes = 1;
  for (const ConfigValue& item : value.items) nodes += count(item);
  return nodes;
}

std::size_t depth(const ConfigValue& value) {
  std::size_t deepest = 0;
  for (const ConfigValue& item : value.items) deepest = std::max(deepest, depth(item));
  return deepest + 1;
}

/// Gives a copied value the paths of its new position; lines and columns stay where the text is.
void move_to(ConfigValue& value, const std::string& path) {
  value.place.path = path;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const bool map = value.kind == ConfigValue::Kind::map;
    const std::string below = map ? joined(path, value.keys[i].first) : element(path, i);
    if (map) value.keys[i].second.path = below;
    move_to(value.items[i], below);
  }
}

}  // namespace

YamlBuilder::YamlBuilder(std::shared_ptr<const SourceFile> file, Diagnostics& diagnostics)
    : file_(std::move(file)), diagnostics_(diagnostics) {}

ConfigValue YamlBuilder::take_root() {
  while (!open_.empty()) close();
  return std::exchange(root_, {});
}

SourcePlace YamlBuilder::place_of(const YAML::Mark& mark, std::string path) const {
  SourcePlace place{file_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, std::move(path)};
  if (file_->lines.empty()) return {file_, 1, 1, std::move(place.path)};
  const int lines = static_cast<int>(file_->lines.size());
  const bool behind = place.line > lines;  // the parser marks the end of the text so
  place.line = std::min(place.line, lines);
  last_line_ = std::max(last_line_, place.line);
  const std::string& text = file_->lines[static_cast<std::size_t>(place.line) - 1];
  const std::size_t byte = behind ? text.size() : std::min(static_cast<std::size_t>(place.column) - 1, text.size());
  if (column_line_ != place.line || byte < column_byte_) {
    column_line_ = place.line;
    column_byte_ = 0;
    column_characters_ = 0;
  }
  for (; column_byte_ < byte; ++column_byte_)
    column_characters_ += (static_cast<unsigned char>(text[column_byte_]) & 0xc0) == 0x80 ? 0 : 1;
  place.column = column_characters_ + 1;
  return place;
}

void YamlBuilder::OnDocumentStart(const YAML::Mark& mark) { root_.place = place_of(mark, ""); }

void YamlBuilder::OnDocumentEnd() {}

void YamlBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (expects_key()) return take_key("", place_of(mark, next_path()));
  ConfigValue value;
  // An absent value has no text of its own, and the parser marks whatever follows: point at its key or its list.
  const bool in_map = !open_.empty() && open_.back().value.kind == ConfigValue::Kind::map;
  value.place = open_.empty() ? place_of(mark, "") : in_map ? open_.back().key_place : open_.back().value.place;
  value.place.path = next_path();
  keep_anchor(anchor, value);
  put(std::move(value));
}

void YamlBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const SourcePlace place = place_of(mark, next_path());
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw ReadingStopped{place, "an alias inside its own anchor repeats without end"};
  if (expects_key()) {
    diagnostics_.add(place, "an alias cannot be a key; write the key out");
    open_.back().key_next = false;
    open_.back().drop_next = true;
    return;
  }
  count_nodes(count(found->second), place);
  if (open_.size() + depth(found->second) > kDeepest)
    throw ReadingStopped{place, fmt::format("nested more than {} levels deep", kDeepest)};
  ConfigValue value = found->second;
  move_to(value, place.path);
  put(std::move(value));
}

void YamlBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& text) {
  const SourcePlace place = place_of(mark, next_path());
  refuse_tag(tag, place);
  if (expects_key()) return take_key(text, place);
  ConfigValue value;
  value.kind = ConfigValue::Kind::scalar;
  value.quoted = tag == "!";
  value.scalar = text;
  value.place = place;
  count_nodes(1, place);
  keep_anchor(anchor, value);
  put(std::move(value));
}

void YamlBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value) {
  open(ConfigValue::Kind::list, mark, tag, anchor);
}

void YamlBuilder::OnSequenceEnd() { close(); }

void YamlBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value) {
  open(ConfigValue::Kind::map, mark, tag, anchor);
}

void YamlBuilder::OnMapEnd() { close(); }

std::string YamlBuilder::next_path() const {
  if (open_.empty()) return "";
  const Frame& frame = open_.back();
  if (frame.value.kind == ConfigValue::Kind::list) return element(frame.value.place.path, frame.value.items.size());
  return frame.key_next ? frame.value.place.path : frame.key_place.path;
}

void YamlBuilder::count_nodes(std::size_t more, const SourcePlace& place) {
  nodes_ += more;
  if (nodes_ > kMostNodes)
    throw ReadingStopped{place, fmt::format("the document has more than {} values, aliases expanded", kMostNodes)};
}

void YamlBuilder::refuse_tag(const std::string& tag, const SourcePlace& place) {
  if (tag.empty() || tag == "?" || tag == "!") return;
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  const std::string written = tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size()) : tag;
  diagnostics_.add(place, fmt::format("the tag {} is not read; remove it", quoted(written)));
}

void YamlBuilder::take_key(const std::string& key, const SourcePlace& place) {
  Frame& frame = open_.back();
  frame.key_next = false;
  frame.key = key;
  frame.key_place = place;
  frame.key_place.path = joined(frame.value.place.path, key);
  const auto [first, is_new] = frame.seen.try_emplace(key, frame.key_place);
  frame.drop_next = true;
  if (key.empty())
    diagnostics_.add(place, "a key is empty");
  else if (key == "<<")
    diagnostics_.add(place, "the merge key \"<<\" is not read; write the keys out");
  else if (!is_new)
    diagnostics_.add(frame.key_place, fmt::format("the key stands here again; it is already at line {}, column {}",
                                                  first->second.line, first->second.column));
  else
    frame.drop_next = false;
}

void YamlBuilder::open(ConfigValue::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
  const SourcePlace place = place_of(mark, next_path());
  refuse_tag(tag, place);
  if (expects_key()) throw ReadingStopped{place, std::string(kKeyIsNoText)};
  if (open_.size() >= kDeepest) throw ReadingStopped{place, fmt::format("nested more than {} levels deep", kDeepest)};
  count_nodes(1, place);
  Frame frame;
  frame.value.kind = kind;
  frame.value.place = place;
  frame.anchor = anchor;
  frame.key_next = kind == ConfigValue::Kind::map;
  open_.push_back(std::move(frame));
}

void YamlBuilder::close() {
  Frame frame = std::move(open_.back());
  open_.pop_back();
  keep_anchor(frame.anchor, frame.value);
  put(std::move(frame.value));
}

void YamlBuilder::keep_anchor(YAML::anchor_t anchor, const ConfigValue& value) {
  if (anchor == 0) return;
  count_nodes(count(value), value.place);
  anchors_[anchor] = value;
}

void YamlBuilder::put(ConfigValue value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Frame& frame = open_.back();
  const bool map = frame.value.kind == ConfigValue::Kind::map;
  const bool keep = !map || !frame.drop_next;
  if (map && keep) frame.value.keys.emplace_back(std::move(frame.key), frame.key_place);
  if (keep) frame.value.items.push_back(std::move(value));
  frame.key_next = map;
  frame.drop_next = false;
}

}  // namespace trainyard
