#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/explain_memory.hpp"
#include "sim/cli/explain_topology.hpp"
#include "sim/cli/scenarios.hpp"
#include "sim/model/execution_trace.hpp"
#include "sim/report/describe.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/wrapping.hpp"
#include "topologies/market.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kLongestPath = 4096;

/// Options as one would write them on one line.
std::string flow_text(const ConfigValue& value) {
  if (value.kind == ConfigValue::Kind::scalar) return value.quoted ? fmt::format("\"{}\"", value.scalar) : value.scalar;
  if (value.kind == ConfigValue::Kind::null) return "";
  const bool is_map = value.kind == ConfigValue::Kind::map;
  std::string text;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (is_map) text += value.keys[i].first + ": ";
    text += flow_text(value.items[i]);
  }
  return is_map ? "{" + text + "}" : "[" + text + "]";
}

std::string strategies_text(const Scenario& scenario) {
  std::string text = "strategies, ranked by " + std::string(name(scenario.objective)) + "\n";
  for (const StrategyChoice& choice : scenario.strategies) {
    const std::string options = flow_text(choice.options);
    text += "  " + choice.name + (options.empty() ? "" : " " + options) + "\n";
  }
  return text;
}

/// Who else trains on the fabric, one line a job.
std::string jobs_text(const Variant& variant) {
  if (variant.jobs.empty()) return "";
  std::string text = fmt::format("jobs on this fabric\n  this scenario's workload on {}\n", one_line(variant.cluster));
  for (const OtherJob& job : variant.jobs) {
    const std::string options = flow_text(job.strategy.options);
    text += fmt::format("  {} on {}: {}; {}{}\n", job.name, one_line(job.share.cluster), one_line(job.workload), job.strategy.name,
                        options.empty() ? "" : " " + options);
  }
  return text + "\n";
}

/// What there is to say of a trace before it is replayed.
std::string replay_text(const TraceReplay& replay) {
  std::size_t nodes = 0;
  for (const RankTrace& file : replay.trace.files) nodes += file.nodes.size();
  std::string text = fmt::format("  {} ranks, {} files, {} nodes, {} communicators\n", replay.trace.file_of_rank.size(), replay.trace.files.size(), nodes, replay.trace.groups.size());
  if (!replay.trace.device.empty()) text += fmt::format("  recorded on {}\n", replay.trace.device);
  for (const std::string& remark : replay.trace.remarks) text += "  " + remark + "\n";
  return text;
}

std::string variant_text(const Scenario& scenario, const Variant& variant) {
  if (variant.replay)
    return fmt::format("cluster: {}\n{}\nworkload: replay of {}\n{}\n", one_line(variant.cluster), description(variant.cluster), one_row(variant.replay->source), replay_text(*variant.replay));
  const std::string which = variant.name.empty() ? "" : " of variant " + one_row(variant.name);
  const std::string memory = memory_text(scenario, variant);
  const std::string market = scenario.has_market ? market_text(variant.market, variant.all_nodes()) : "";
  return fmt::format("cluster{}: {}\n{}\n{}{}workload{}: {}\n{}\n{}", which, one_line(variant.all_nodes()),
                     description(variant.all_nodes()), market.empty() ? "" : "market" + which + "\n" + market + "\n",
                     jobs_text(variant), which, one_line(variant.workload), description(variant.workload),
                     memory.empty() ? "" : memory + "\n");
}

}  // namespace

std::string explain_text(const Arguments& arguments) {
  std::string text;
  const std::vector<Scenario> scenarios = load_scenarios(arguments.scenarios);
  if (!arguments.dot.empty()) write_file(arguments.dot, topology_dot(scenarios.front().variants.front().all_nodes()));
  for (const Scenario& scenario : scenarios) {
    text += fmt::format("{}{} ({})\n\n", text.empty() ? "" : "\n\n", one_row(scenario.name), one_row(scenario.file, kLongestPath));
    if (arguments.topology) {
      for (const Variant& variant : scenario.variants)
        text += (variant.name.empty() ? "" : "variant " + one_row(variant.name) + "\n") + topology_text(variant.all_nodes());
      continue;
    }
    for (const Variant& variant : scenario.variants) text += variant_text(scenario, variant);
    if (!scenario.variants.front().replay) text += strategies_text(scenario);
  }
  return text;
}

}  // namespace trainyard
