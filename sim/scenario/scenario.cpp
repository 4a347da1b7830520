#include "sim/scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "sim/config/view.hpp"
#include "sim/model/device_rates.hpp"
#include "sim/model/execution_trace.hpp"
#include "sim/scenario/other_jobs.hpp"
#include "sim/scenario/reserved.hpp"
#include "sim/scenario/strategy_choices.hpp"
#include "sim/scenario/variants.hpp"
#include "topologies/catalogue.hpp"
#include "topologies/market.hpp"
#include "topologies/topologies.hpp"
#include "workloads/traces/trace_section.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

/// A document with what its messages need.
struct Document {
  ConfigValue root;
  std::string directory;
};

/// Whether a section is there and is what its schema wants; its mistakes go to `diagnostics`.
bool accepted(const ConfigValue* section, const Schema& schema, Diagnostics& diagnostics) {
  return section != nullptr && check(*section, schema, diagnostics);
}

std::string types_of(const DeviceType& gpu) {
  std::vector<std::string_view> names;
  for (const auto& [type, peak] : gpu.peak) names.push_back(name(type));
  return fmt::format("{} has {}", gpu.name, fmt::join(names, ", "));
}

/// A type that no GPU computes in is the file's mistake; one that only some lack is for the strategies to mind.
void check_precision(const ConfigValue& section, const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) {
  const DataType wanted = workload.compute_type();
  std::set<DeviceTypeId> used;
  for (const DeviceId gpu : cluster.gpus()) used.insert(cluster.devices[index(gpu)].type);
  std::vector<std::string> found;
  for (const DeviceTypeId id : used) {
    const DeviceType& type = cluster.device_types[index(id)];
    if (peak_rate(type, wanted)) return;
    found.push_back(types_of(type));
  }
  const ConfigValue* precision = section.find("precision");
  diagnostics.add(precision != nullptr ? precision->place : section.place,
                  fmt::format("no GPU here computes in {}{}: {}", name(wanted), precision != nullptr ? "" : ", the default",
                              fmt::join(found, "; ")));
}

void read_market(const ConfigValue& root, const std::string& directory, Variant& variant, Diagnostics& diagnostics) {
  const ConfigValue *market = root.find("market"), *cluster = root.find("cluster");
  if (cluster == nullptr || (market != nullptr && !accepted(market, market_schema(), diagnostics))) return;
  variant.market = build_market(market, {variant.cluster, *cluster, directory}, diagnostics);
}

void check_precisions(const ConfigValue& root, const Variant& variant, Diagnostics& diagnostics) {
  check_precision(*root.find("workload"), variant.cluster, variant.workload, diagnostics);
  for (std::size_t j = 0; j < variant.jobs.size(); ++j) {
    const OtherJob& job = variant.jobs[j];
    check_precision(*root.find("jobs")->items[j].find("workload"), job.share.cluster, job.workload, diagnostics);
  }
}

const ConfigValue* trace_of(const ConfigValue& root) {
  const ConfigValue* workload = root.find("workload");
  return workload != nullptr ? workload->find("trace") : nullptr;
}

/// A catalogue key, or the product's name as drivers print it.
const GpuEntry* measured_gpu(const std::string& name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  const GpuEntry* known = catalogue().gpu(name);
  return known != nullptr || !name.starts_with(kMaker) ? known : catalogue().gpu(name.substr(kMaker.size()));
}

/// What a scaled replay is scaled from.
void find_measured_gpu(const ConfigValue& section, TraceReplay& replay, Diagnostics& diagnostics) {
  if (replay.times != ReplayTimes::scaled) return;
  const ConfigValue* given = section.find("recorded_on");
  const std::string name = given != nullptr ? replay.recorded_on : replay.trace.device;
  if (name.empty()) return diagnostics.add(section.find("compute")->place, "the trace does not say on which GPU it was recorded: give `recorded_on`, a name of the GPU catalogue");
  if (const GpuEntry* gpu = measured_gpu(name)) replay.recorded_type = gpu->type;
  else diagnostics.add(given != nullptr ? given->place : section.find("compute")->place, fmt::format("the trace was recorded on \"{}\", which no GPU of the catalogue is called: give `recorded_on`", name));
}

void read_workload(const ConfigValue& section, const std::string& directory, Variant& variant, Diagnostics& diagnostics) {
  if (section.find("trace") == nullptr) {
    variant.workload = build_workload(section, directory, diagnostics);
    return;
  }
  const auto replay = read_trace_section(View(section), directory, diagnostics);
  find_measured_gpu(section, *replay, diagnostics);
  variant.workload.model = "replay of " + replay->source;
  variant.replay = replay;
}

/// What a trace leaves no room for.
void check_replay(const ConfigValue& root, Diagnostics& diagnostics) {
  if (trace_of(root) == nullptr) return;
  for (const char* key : {"strategies", "market", "jobs"})
    if (const ConfigValue* section = root.find(key)) diagnostics.add(section->place, "a trace says itself what every rank does: take this section away");
  const ConfigValue* run = root.find("run");
  for (const char* key : {"horizon", "tokens", "steps", "jitter"})
    if (const ConfigValue* value = run != nullptr ? run->find(key) : nullptr) diagnostics.add(value->place, "a trace is replayed once, as it was recorded: take this key away");
}

Variant build_variant(const ConfigValue& root, const std::string& name, const std::string& directory,
                      Diagnostics& diagnostics) {
  Variant variant{name, {}, {}, {}, {}};
  const ConfigValue *cluster = root.find("cluster"), *workload = root.find("workload");
  if (accepted(cluster, cluster_schema(), diagnostics))
    variant.cluster = build_cluster(*cluster, directory, diagnostics);
  if (accepted(workload, workload_schema(), diagnostics))
    read_workload(*workload, directory, variant, diagnostics);
  read_market(root, directory, variant, diagnostics);
  if (workload != nullptr) variant.workload_section = *workload;
  if (const ConfigValue* jobs = root.find("jobs"); accepted(jobs, jobs_schema(), diagnostics) && diagnostics.empty())
    add_other_jobs(*jobs, directory, variant, diagnostics);
  if (diagnostics.empty() && cluster != nullptr && workload != nullptr && !variant.replay) check_precisions(root, variant, diagnostics);
  return variant;
}

/// The pairs of name and changes; a scenario without variants is one without changes.
std::vector<std::pair<std::string, ConfigValue>> changes_of(const ConfigValue& root) {
  std::vector<std::pair<std::string, ConfigValue>> all;
  const ConfigValue* section = root.find("variants");
  if (section != nullptr && section->kind == ConfigValue::Kind::map)
    for (std::size_t i = 0; i < section->items.size(); ++i) all.emplace_back(section->keys[i].first, section->items[i]);
  if (all.empty()) all.emplace_back("", ConfigValue{});
  return all;
}

std::vector<Variant> build_variants(const Document& document, const Schema& schema, Diagnostics& diagnostics) {
  VariantMistakes mistakes(diagnostics);
  std::vector<Variant> variants;
  for (const auto& [name, changes] : changes_of(document.root)) {
    Diagnostics found;
    const ConfigValue root = with_changes(document.root, changes, schema, ChangeScope::variant, found);
    variants.push_back(build_variant(root, name, document.directory, found));
    mistakes.add(name, found);
  }
  mistakes.move_to(diagnostics);
  return variants;
}

Objective objective_of(const View& root) {
  const std::string text = root["objective"].text_or("throughput");
  for (const Objective objective :
       {Objective::throughput, Objective::cost, Objective::goodput, Objective::cost_under_deadline})
    if (name(objective) == text) return objective;
  return Objective::throughput;
}

Jitter jitter_of(const View& section, std::uint64_t seed) {
  if (!section) return {};
  return {section["kernels"].number_or(0), section["communication"].number_or(0), section["draw"].text_or("group") == "device", seed};
}

void read_long_run(const View& run, Scenario& scenario) {
  if (const View deadline = run["deadline"]) scenario.deadline = deadline.quantity<Seconds>();
  if (!run["horizon"] && !run["tokens"]) return;
  LongRun& made = scenario.long_run.emplace();
  made.horizon = run["horizon"].quantity_or(Seconds(0));
  made.tokens = run["tokens"].number_or(made.tokens);
  made.planning = run["planning"].quantity_or(Seconds(0));
}

void read_settings(const View& root, Scenario& scenario) {
  scenario.name = root["name"].text_or(scenario.name);
  scenario.objective = objective_of(root);
  scenario.steps = static_cast<int>(root["run"]["steps"].integer_or(1));
  scenario.seed = static_cast<std::uint64_t>(root["run"]["seed"].integer_or(1));
  scenario.jitter = jitter_of(root["run"]["jitter"], scenario.seed);
  read_long_run(root["run"], scenario);
}

/// Costs can be ranked where something has a price.
void check_prices(const ConfigValue& root, const Scenario& scenario, Diagnostics& diagnostics) {
  if (scenario.objective != Objective::cost) return;
  const auto priced_in = [](const Variant& variant) {
    return [&](const Node& node) {
      return !node.price_source.empty() || (node.market == MarketKind::spot && variant.market.prices.contains(node.group));
    };
  };
  for (const Variant& variant : scenario.variants) {
    if (std::any_of(variant.cluster.nodes.begin(), variant.cluster.nodes.end(), priced_in(variant))) continue;
    const std::string where = variant.name.empty() ? "" : fmt::format(" (variant \"{}\")", variant.name);
    return diagnostics.add(root.find("objective")->place,
                           "cost needs prices, and no group of nodes has one: give it `price`, such as 12.24 USD/h" + where);
  }
}

bool spot_somewhere(const Scenario& scenario, const std::string& group) {
  const auto spot = [&](const Node& node) { return node.market == MarketKind::spot && (group.empty() || node.group == group); };
  return std::any_of(scenario.variants.begin(), scenario.variants.end(), [&](const Variant& variant) {
    return std::any_of(variant.cluster.nodes.begin(), variant.cluster.nodes.end(), spot);
  });
}

/// What is said of spot nodes is said of groups that are spot in some variant.
void check_market(const ConfigValue& root, const Scenario& scenario, Diagnostics& diagnostics) {
  const ConfigValue* market = root.find("market");
  for (const char* key : {"availability", "prices"}) {
    const ConfigValue* section = market != nullptr ? market->find(key) : nullptr;
    if (section == nullptr) continue;
    if (!spot_somewhere(scenario, "")) diagnostics.add(section->place, "is of spot nodes, and no group of nodes has `market: spot`");
    else if (section->find("trace") == nullptr && section->find("process") == nullptr)
      for (const auto& [group, place] : section->keys)
        if (!spot_somewhere(scenario, group)) diagnostics.add(place, "is of spot nodes, and the group has not `market: spot`");
  }
}

bool has_market(const ConfigValue& root) {
  const ConfigValue* market = root.find("market");
  return market != nullptr && !market->items.empty();
}

/// Nodes come and go, and prices change, over hours: a market is for jobs over a horizon.
void check_horizon(const ConfigValue& root, Diagnostics& diagnostics) {
  const ConfigValue* run = root.find("run");
  const bool long_run = run != nullptr && (run->find("horizon") != nullptr || run->find("tokens") != nullptr);
  if (has_market(root) && !long_run)
    diagnostics.add(root.find("market")->place, "a market is for jobs over a horizon: give `run: {horizon: 24 h}` or `{tokens: 300e9}`");
}

/// What needs a job over a horizon, and what such a job excludes.
void check_long_run(const ConfigValue& root, const Scenario& scenario, Diagnostics& diagnostics) {
  const bool needs_it = scenario.objective == Objective::goodput || scenario.objective == Objective::cost_under_deadline;
  if (needs_it && !scenario.long_run)
    diagnostics.add(root.find("objective")->place, fmt::format("{} is of a job over a horizon: give `run: {{horizon: 24 h}}` or `{{tokens: 300e9}}`", name(scenario.objective)));
  else if (scenario.objective == Objective::cost_under_deadline && !scenario.deadline)
    diagnostics.add(root.find("objective")->place, "cost_under_deadline needs `run.deadline`, such as 30 h");
  else if (scenario.objective == Objective::cost_under_deadline && std::isinf(scenario.long_run->tokens) && scenario.variants.front().workload.convergence.empty())
    diagnostics.add(root.find("objective")->place, "cost_under_deadline needs a goal to reach: `run.tokens` or `workload.convergence`");
  for (const StrategyChoice& choice : scenario.strategies)
    if (!scenario.long_run && (!choice.recovery.name.empty() || choice.market))
      diagnostics.add(choice.place, fmt::format("a {} is for jobs over a horizon: give `run: {{horizon: 24 h}}` or `{{tokens: 300e9}}`",
                                                choice.market ? "strategy's market" : "recovery"));
}

std::vector<StrategyChoice> strategies_of(const Document& document, Diagnostics& diagnostics) {
  if (const ConfigValue* trace = trace_of(document.root)) return {{"replay", {}, trace->place, {}}};
  const ConfigValue* section = document.root.find("strategies");
  if (section == nullptr || section->kind != ConfigValue::Kind::list) return {};
  return read_strategies(*section, document.directory, diagnostics);
}

Scenario from_document(const Document& document, const std::string& file, Diagnostics diagnostics) {
  Schema schema = scenario_schema();
  for (SchemaField& field : schema.fields) field.required = field.required || (field.name == "strategies" && trace_of(document.root) == nullptr);
  const bool well_formed = check(document.root, schema, diagnostics);
  if (document.root.kind != ConfigValue::Kind::map) diagnostics.throw_if_any();
  Scenario scenario;
  scenario.file = file;
  scenario.directory = document.directory;
  scenario.name = std::filesystem::path(file).stem().string();
  refuse_reserved(document.root, diagnostics);
  check_replay(document.root, diagnostics);
  check_horizon(document.root, diagnostics);
  scenario.variants = build_variants(document, schema, diagnostics);
  scenario.strategies = strategies_of(document, diagnostics);
  if (well_formed) read_settings(View(document.root), scenario);
  scenario.has_market = has_market(document.root);
  if (diagnostics.empty()) check_prices(document.root, scenario, diagnostics);
  if (diagnostics.empty()) check_market(document.root, scenario, diagnostics);
  if (diagnostics.empty()) check_long_run(document.root, scenario, diagnostics);
  if (diagnostics.empty() && trace_of(document.root) == nullptr)
    check_on_variants(scenario.strategies, scenario.variants, document.directory, diagnostics);
  diagnostics.throw_if_any();
  return scenario;
}

/// The values as a map from path to value, as a variant would be written.
ConfigValue as_changes(const std::vector<std::pair<std::string, std::string>>& settings, Diagnostics& diagnostics) {
  ConfigValue changes;
  changes.kind = ConfigValue::Kind::map;
  for (const auto& [key, text] : settings) {
    changes.items.push_back(read_yaml_text(text, fmt::format("--set {}", key), diagnostics));
    changes.keys.emplace_back(key, changes.items.back().place);
  }
  return changes;
}

}  // namespace

Scenario load_scenario_with(const std::string& file, const std::vector<std::pair<std::string, std::string>>& settings) {
  Diagnostics diagnostics;
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  Document document{read_yaml_file(file, diagnostics), directory.empty() ? "." : directory.string()};
  const ConfigValue changes = as_changes(settings, diagnostics);
  document.root = with_changes(document.root, changes, scenario_schema(), ChangeScope::document, diagnostics);
  return from_document(document, file, std::move(diagnostics));
}

Scenario load_scenario(const std::string& file) {
  Diagnostics diagnostics;
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  const Document document{read_yaml_file(file, diagnostics), directory.empty() ? "." : directory.string()};
  return from_document(document, file, std::move(diagnostics));
}

Scenario load_scenario_text(const std::string& text, const std::string& name, const std::string& directory) {
  Diagnostics diagnostics;
  const Document document{read_yaml_text(text, name, diagnostics), directory};
  return from_document(document, name, std::move(diagnostics));
}

}  // namespace trainyard
