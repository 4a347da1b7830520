// Settings as the sections of a scenario.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "sim/scenario/launch/scenario_settings.hpp"
#include "sim/scenario/launch/stage_layers.hpp"
#include "workloads/catalogue.hpp"

namespace trainyard::launch {
namespace {

using Pairs = std::vector<std::string>;

std::string flow(const Pairs& pairs) { return fmt::format("{{{}}}", fmt::join(pairs, ", ")); }

std::string model_yaml(const Settings& s) {
  if (s.has("workload.model")) return s.get("workload.model");
  static const std::vector<std::string> kFirst{"layers",    "hidden", "heads",      "kv_heads",
                                               "head_size", "ffn",    "vocabulary", "max_positions"};
  Pairs pairs;
  const auto add = [&](const std::string& key) {
    if (s.has("model." + key)) pairs.push_back(fmt::format("{}: {}", key, s.get("model." + key)));
  };
  for (const std::string& key : kFirst) add(key);
  for (const std::string& key : s.keys("model."))
    if (std::ranges::find(kFirst, key) == kFirst.end()) add(key);
  return flow(pairs);
}

/// The preset, and the switches that differ from it.
std::string software_yaml(const Framework& framework, const Settings& s) {
  Pairs pairs{fmt::format("preset: {}", framework.software)};
  for (const auto& [key, usual] : switches_of(find_software(std::string(framework.software)).value())) {
    const std::string value = s.get("software." + key);
    if (!value.empty() && value != usual) pairs.push_back(fmt::format("{}: {}", key, value));
  }
  return pairs.size() == 1 ? std::string(framework.software) : flow(pairs);
}

std::string layer_range(std::int64_t first, std::int64_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

/// `rules` for the first layers of every visit.
std::string block_rule(const Settings& s, std::int64_t first_layers) {
  const std::int64_t visits = s.count("plan.pipeline", 1) * s.count("plan.chunks", 1);
  std::vector<std::int64_t> counts = counts_of(s.get("plan.layers"));
  if (counts.empty()) counts.assign(static_cast<std::size_t>(visits), s.count("model.layers", 0) / visits);
  std::vector<std::string> ranges;
  std::int64_t begin = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back(layer_range(begin, first_layers));
    begin += count;
  }
  return fmt::format("rules: [{{layers: [{}], recompute: full}}]", fmt::join(ranges, ", "));
}

void add_recompute(const Settings& s, Pairs& pairs) {
  const std::string recompute = s.get("plan.recompute");
  if (recompute.starts_with("every "))
    return pairs.push_back(fmt::format("recompute: {{every: {}}}", recompute.substr(6)));
  if (recompute.starts_with("block ")) return pairs.push_back(block_rule(s, std::stoll(recompute.substr(6))));
  if (!recompute.empty() && recompute != "none") pairs.push_back("recompute: " + recompute);
}

void add_homes(const Settings& s, Pairs& pairs) {
  Pairs homes;
  for (const std::string& state : s.keys("plan.home."))
    if (!s.is("plan.home." + state, "device"))
      homes.push_back(fmt::format("{}: {}", state, s.get("plan.home." + state)));
  if (!homes.empty()) pairs.push_back("home: " + flow(homes));
}

}  // namespace

namespace {

std::string routing_yaml(const Settings& s) {
  Pairs pairs;
  for (const std::string& key : s.keys("workload.routing.")) pairs.push_back(fmt::format("{}: {}", key, s.get("workload.routing." + key)));
  return pairs.empty() ? "" : fmt::format("  routing: {}\n", flow(pairs));
}

}  // namespace

std::string workload_yaml(const Framework& framework, const Settings& s) {
  return fmt::format(
      "workload:\n  model: {}\n  sequence_length: {}\n  global_batch: {}\n  precision: {}\n  optimizer: {}\n  "
      "software: {}\n{}",
      model_yaml(s), s.get("workload.sequence_length"), s.get("workload.global_batch"), s.get("workload.precision"),
      s.has("workload.optimizer") ? s.get("workload.optimizer") : "adam", software_yaml(framework, s), routing_yaml(s));
}

std::string strategies_yaml(const Settings& s, const std::string& devices) {
  Pairs pairs;
  for (const char* key : {"tensor", "context", "pipeline", "chunks", "expert", "expert_tensor", "data", "shard"})
    if (s.count(fmt::format("plan.{}", key), 1) > 1)
      pairs.push_back(fmt::format("{}: {}", key, s.get(fmt::format("plan.{}", key))));
  pairs.push_back("micro_batch: " + s.get("plan.micro_batch"));
  if (s.count("plan.pipeline", 1) > 1) pairs.push_back("schedule: " + s.get("plan.schedule"));
  for (const char* key : {"layers", "rank_order"})
    if (s.has(fmt::format("plan.{}", key)))
      pairs.push_back(fmt::format("{}: {}", key, s.get(fmt::format("plan.{}", key))));
  if (!devices.empty()) pairs.push_back("devices: " + devices);
  for (const char* key : {"zero", "regather", "sequence_parallel"})
    if (s.has(fmt::format("plan.{}", key)))
      pairs.push_back(fmt::format("{}: {}", key, s.get(fmt::format("plan.{}", key))));
  if (s.count("plan.context", 1) > 1) pairs.push_back("context_kind: " + s.get("plan.context_kind"));
  add_recompute(s, pairs);
  add_homes(s, pairs);
  return fmt::format("strategies:\n  - {{fixed: {}}}\n", flow(pairs));
}

}  // namespace trainyard::launch
