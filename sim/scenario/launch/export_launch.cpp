// A Plan as a launch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/scenario/launch/frameworks.hpp"
#include "sim/scenario/launch/launch.hpp"
#include "sim/scenario/launch/scenario_settings.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "workloads/catalogue.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace launch {
namespace {

/// A Plan with what it stands on.
struct Subject {
  Plan plan;
  Cluster cluster;
  Workload workload;
  Architecture model;
};

std::string directory_of(const std::string& file) {
  const std::string directory = std::filesystem::path(file).parent_path().string();
  return directory.empty() ? "." : directory;
}

ConfigValue document(const std::string& text, const std::string& name) {
  Diagnostics diagnostics;
  ConfigValue value = read_yaml_text(text, name, diagnostics);
  diagnostics.throw_if_any();
  return value;
}

class SubjectReader {
 public:
  SubjectReader(const std::string& file, const LaunchExportOptions& options)
      : file_(file), options_(options), root_(document(text_of(file), file)) {}

  Subject read() {
    if (root_.find("cluster") != nullptr) return on(file_, fixed_of_scenario(), "");
    if (options_.scenario.empty())
      throw UserError(
          fmt::format("{}: a Plan without a scenario; --scenario FILE says the model and the cluster", file_));
    if (const ConfigValue* results = root_.find("results")) {
      const ConfigValue& result = chosen(*results);
      const ConfigValue* variant = result.find("variant");
      return on(options_.scenario, *result.find("plan"), variant != nullptr ? variant->scalar : "");
    }
    return on(options_.scenario, root_, "");
  }

 private:
  bool is_chosen(const std::string& name) const { return options_.strategy.empty() || options_.strategy == name; }

  ConfigValue fixed_of_scenario() const {
    const Scenario scenario = load_scenario(file_);
    std::vector<const StrategyChoice*> fixed;
    for (const StrategyChoice& choice : scenario.strategies)
      if (choice.name == "fixed") fixed.push_back(&choice);
    if (fixed.size() != 1)
      throw UserError(
          fmt::format("{}: export wants one strategy `fixed`, there are {}; or export a result of `run --format json` "
                      "with --scenario",
                      file_, fixed.size()));
    const ConfigValue& options = fixed[0]->options;
    if (options.kind != ConfigValue::Kind::scalar) return options;
    const std::string path = (std::filesystem::path(directory_of(file_)) / options.scalar).string();
    return document(text_of(path), path);
  }

  const ConfigValue& chosen(const ConfigValue& results) const {
    std::vector<const ConfigValue*> with_plan;
    std::vector<std::string> names;
    for (const ConfigValue& result : results.items) {
      const ConfigValue* plan = result.find("plan");
      const ConfigValue* strategy = result.find("strategy");
      if (plan == nullptr || plan->kind != ConfigValue::Kind::map || strategy == nullptr) continue;
      names.push_back(strategy->scalar);
      if (is_chosen(strategy->scalar)) with_plan.push_back(&result);
    }
    if (with_plan.size() == 1) return *with_plan[0];
    throw UserError(fmt::format("{}: {} results with a Plan ({}); choose one with --strategy", file_, with_plan.size(),
                                fmt::join(names, ", ")));
  }

  Subject on(const std::string& scenario_file, const ConfigValue& plan, const std::string& variant_name) const {
    Scenario scenario = load_scenario(scenario_file);
    const auto variant = variant_name.empty() ? scenario.variants.begin()
                                              : std::ranges::find(scenario.variants, variant_name, &Variant::name);
    if (variant == scenario.variants.end())
      throw UserError(fmt::format("{}: no variant \"{}\"", scenario_file, variant_name));
    if (variant_name.empty() && scenario.variants.size() > 1)
      throw UserError(fmt::format("{}: several variants; export a scenario without them", scenario_file));
    Diagnostics diagnostics;
    const SymbolicPlan symbolic = read_plan(plan, diagnostics);
    Plan resolved;
    if (diagnostics.empty()) resolved = resolve(symbolic, variant->cluster, variant->workload, diagnostics);
    diagnostics.throw_if_any();
    const auto model = build_architecture(variant->workload_section, scenario.directory, diagnostics);
    diagnostics.throw_if_any();
    if (!model) throw UserError(fmt::format("{}: the workload has no model whose sizes are known", scenario_file));
    return {std::move(resolved), std::move(variant->cluster), std::move(variant->workload), *model};
  }

  const std::string& file_;
  const LaunchExportOptions& options_;
  ConfigValue root_;
};

bool is_said(const ArgumentTable& table, const std::string& key, const std::string& value) {
  return std::ranges::any_of(table.arguments, [&](const Argument& it) {
    if (it.setting != key) return false;
    return value == it.absent || it.words.empty() ||
           std::ranges::any_of(it.words, [&](const Spelling& s) { return s.ours == value; });
  });
}

class Export {
 public:
  Export(const Framework& framework, const std::string& file, const Subject& subject)
      : framework_(framework), file_(file), subject_(subject) {}

  ExportedLaunch run() {
    auto read = settings_of_plan(subject_.plan, subject_.cluster, subject_.workload, subject_.model);
    if (const auto* problem = std::get_if<Inexpressible>(&read)) refuse(problem->why);
    settings_ = std::get<Settings>(std::move(read));
    nodes();
    const std::vector<DeviceId> devices = ranks();
    Settings spoken = settings_;
    if (const std::string why = framework_.from_settings(spoken); !why.empty()) refuse(why);
    unsaid(spoken);
    const std::string text = framework_.write(spoken, write_arguments(framework_.table(), spoken));
    return {head() + text, rank_file(devices, settings_, subject_.cluster), notes_};
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(fmt::format("{}: {} cannot express this Plan: {}", file_, framework_.title, why));
  }

  void nodes() {
    std::vector<int> gpus;
    for (const Node& node : subject_.cluster.nodes) {
      const auto count = std::ranges::count_if(
          node.devices, [&](DeviceId id) { return subject_.cluster.devices[index(id)].kind == DeviceKind::gpu; });
      gpus.push_back(static_cast<int>(count));
    }
    if (std::ranges::any_of(gpus, [&](int count) { return count != gpus.front(); }))
      refuse("nodes with different numbers of GPUs");
    settings_.set("job.nodes", static_cast<std::int64_t>(gpus.size()));
    settings_.set("job.gpus_per_node", gpus.front());
  }

  /// Ranks follow the cluster's devices in the framework's order, or in its other one, or by a rank file.
  std::vector<DeviceId> ranks() {
    const std::vector<DeviceId> all = subject_.cluster.gpus(), usual = devices_by_rank(subject_.plan, false);
    if (usual.size() != all.size())
      refuse(fmt::format("{} of the cluster's {} GPUs stay out", all.size() - usual.size(), all.size()));
    if (usual == all) return usual;
    const bool other_order = is_said(framework_.table(), "plan.rank_order", "[tensor, context, pipeline, data]");
    if (const std::vector<DeviceId> other = devices_by_rank(subject_.plan, true); other_order && other == all) {
      settings_.set("plan.rank_order", "[tensor, context, pipeline, data]");
      return other;
    }
    notes_.push_back("ranks do not follow the cluster's devices: start them by the rank file (--ranks FILE)");
    return usual;
  }

  void unsaid(const Settings& spoken) {
    for (const std::string& key : spoken.keys("")) {
      const std::string value = spoken.get(key);
      if (key.starts_with("job.") || key.starts_with("raw.") || is_said(framework_.table(), key, value)) continue;
      if (!key.starts_with("software.")) {
        const bool is_default =
            value == "false" || (key.starts_with("plan.") && (value == "1" || value == "0" || value == "none"));
        if (!is_default && key != "plan.data" && key != "plan.regather")
          refuse(fmt::format("{}: {}", key.substr(key.find('.') + 1), value));
      } else if (value != usual(key)) {
        notes_.push_back(fmt::format("no argument of {} says {}: {}", framework_.title, key, value));
      }
    }
  }

  /// What the framework's software does.
  std::string usual(const std::string& key) const {
    for (const auto& [name, value] : switches_of(find_software(std::string(framework_.software)).value()))
      if ("software." + name == key) return value;
    return "";
  }

  std::string head() const {
    return fmt::format("# Plan of {} for {}. Data, tokenizer, learning rate and checkpoints are yours to add.\n",
                       std::filesystem::path(file_).filename().string(), framework_.title);
  }

  const Framework& framework_;
  const std::string& file_;
  const Subject& subject_;
  Settings settings_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string launch_line(const std::string& launcher, const std::string& program,
                        const std::vector<std::pair<std::string, std::string>>& arguments) {
  std::string text = launcher + " " + program;
  for (const auto& [name, value] : arguments)
    text += fmt::format(" \\\n  {}{}{}", name, value.empty() ? "" : " ", value);
  return text + "\n";
}

std::string torchrun(const Settings& settings) {
  return fmt::format("torchrun --nproc-per-node {} --nnodes {}", settings.count("job.gpus_per_node", 1),
                     settings.count("job.nodes", 1));
}

}  // namespace launch

ExportedLaunch export_launch(const std::string& file, const LaunchExportOptions& options) {
  const auto found = std::ranges::find(launch::frameworks(), options.framework, &launch::Framework::name);
  if (found == launch::frameworks().end())
    throw UserError(unknown_name("framework", options.framework, launch_frameworks()));
  return launch::Export(**found, file, launch::SubjectReader(file, options).read()).run();
}

}  // namespace trainyard
