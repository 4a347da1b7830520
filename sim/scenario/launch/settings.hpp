// What a launch says, in the scenario's own words: the common form between the frameworks' arguments and scenario YAML.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"

namespace trainyard::launch {

/// Values as text under `model.KEY`, `workload.KEY`, `plan.KEY` (the short form) and `software.KEY`, the keys that a
/// scenario has there; `job.nodes` and `job.gpus_per_node` say how many processes start. A framework's own values that
/// stand for several of these are `raw.KEY` until its file has put them into words.
class Settings {
 public:
  [[nodiscard]] bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  /// "" where the key is absent.
  [[nodiscard]] std::string get(std::string_view key) const;
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t absent) const;
  [[nodiscard]] bool is(std::string_view key, std::string_view value) const { return get(key) == value; }
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  void set(const std::string& key, std::int64_t value) { values_[key] = std::to_string(value); }
  void drop(std::string_view key);
  /// Keys that begin with `prefix`, sorted, without it.
  [[nodiscard]] std::vector<std::string> keys(std::string_view prefix) const;
  friend bool operator==(const Settings&, const Settings&) = default;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Settings that are true or false.
[[nodiscard]] inline bool is_on(const Settings& settings, std::string_view key) { return settings.is(key, "true"); }
inline void mark(Settings& settings, const std::string& key, bool on) { settings.set(key, on ? "true" : "false"); }

/// Settings as read, where each was said, and what was left out.
struct Reading {
  Settings settings;
  std::map<std::string, SourcePlace, std::less<>> places;   ///< of settings that were said
  std::map<std::string, std::string, std::less<>> said_by;  ///< arguments that said them
  std::vector<std::string> without_effect;                  ///< names of arguments that change no time and no memory
  std::vector<std::string> notes;                           ///< lines: what is not simulated, what was assumed
  /// The place where a setting was said; the file where it was not.
  [[nodiscard]] SourcePlace place(std::string_view key) const;
  SourcePlace file;
};

}  // namespace trainyard::launch
