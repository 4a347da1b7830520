#include "sim/planning/plan_keys.hpp"

#include <algorithm>
#include <array>

namespace trainyard::plan_keys {

std::string_view name(Level level) {
  static constexpr std::array<std::string_view, kLevels> kNames{"the whole Plan", "a phase", "a part", "a pipeline",
                                                                "a stage"};
  return kNames.at(static_cast<std::size_t>(level));
}

const std::vector<std::string>& own_keys(Level level) {
  static const std::array<std::vector<std::string>, kLevels> keys{{
      {"switch", "phases"},
      {"iterations", "parts"},
      {"order", "batching", "dispatch", "stages", "pipelines"},
      {"batch", "samples", "micro_batches", "stages"},
      {"layers", "chunks", "in_flight"},
  }};
  return keys.at(static_cast<std::size_t>(level));
}

const std::vector<std::string>& short_keys() {
  static const std::vector<std::string> keys{"tensor", "context", "expert", "expert_tensor", "data", "pipeline",
                                             "shard", "micro_batch", "schedule", "rank_order"};
  return keys;
}

const std::vector<std::string>& setting_keys() {
  static const std::vector<std::string> keys{
      "layout", "zero",    "regather",     "recompute",         "home",  "update", "sync", "wire",
      "slices", "streams", "context_kind", "sequence_parallel", "redundant_forward", "owners"};
  return keys;
}

std::vector<std::string> scope_keys() {
  std::vector<std::string> keys{"devices", "rules"};
  keys.insert(keys.end(), setting_keys().begin(), setting_keys().end());
  return keys;
}

bool contains(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace trainyard::plan_keys
