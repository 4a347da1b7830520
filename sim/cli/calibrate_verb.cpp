#include "sim/cli/calibrate_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "sim/cli/collective_verb.hpp"
#include "sim/job/case.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/fit/own_fit.hpp"

namespace trainyard {
namespace {

using namespace fit;

/// A value in YAML's flow style, which any line may hold.
std::string flow(const ConfigValue& value) {
  std::string text;
  switch (value.kind) {
    case ConfigValue::Kind::null: return "null";
    case ConfigValue::Kind::scalar: {
      const bool plain = !value.quoted && value.scalar.find_first_of(",:[]{}#&*!|>'\"%@`\n") == std::string::npos;
      if (plain) return value.scalar;
      for (const char c : value.scalar) text += c == '\n' ? std::string("\\n") : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      return "\"" + text + "\"";
    }
    case ConfigValue::Kind::list:
      for (const ConfigValue& item : value.items) text += (text.empty() ? "" : ", ") + flow(item);
      return "[" + text + "]";
    case ConfigValue::Kind::map:
      for (std::size_t i = 0; i < value.keys.size(); ++i) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", value.keys[i].first, flow(value.items[i]));
      return "{" + text + "}";
  }
  return text;
}

/// What was found so far, as the text of `calibration:`.
struct Calibration {
  std::string gpus, links, slowdown, sources;

  void from(const std::string& file) { sources += (sources.empty() ? "" : ", ") + std::filesystem::path(file).filename().string(); }
  [[nodiscard]] std::string text() const {
    return "  calibration:  # by `trainyard calibrate`; ±: standard errors (a fifth of the measurements left out; of the slowdown: of their mean)\n" +
           fmt::format("    source: \"{}\"\n", sources) + (gpus.empty() ? "" : "    gpus:\n" + gpus) + (links.empty() ? "" : "    links:\n" + links) + slowdown;
  }
};

ConfigValue read_document(const std::string& file) {
  Diagnostics diagnostics;
  ConfigValue document = read_yaml_file(file, diagnostics);
  diagnostics.throw_if_any();
  if (const ConfigValue* cluster = document.find("cluster"); cluster != nullptr && cluster->find("calibration") != nullptr)
    throw UserError(file + ": cluster.calibration: there is one already; take it out to calibrate anew");
  return document;
}

std::string scenario_text(const ConfigValue& document, const Calibration& calibration) {
  std::string text;
  for (std::size_t i = 0; i < document.keys.size(); ++i) {
    const std::string& key = document.keys[i].first;
    const ConfigValue& value = document.items[i];
    if (key != "cluster") {
      text += fmt::format("{}: {}\n", key, flow(value));
      continue;
    }
    text += "cluster:\n";
    for (std::size_t k = 0; k < value.keys.size(); ++k) text += fmt::format("  {}: {}\n", value.keys[k].first, flow(value.items[k]));
    if (!calibration.sources.empty()) text += calibration.text();
  }
  return text;
}

const DeviceType& measured_gpu(const Cluster& cluster, const std::string& wanted) {
  std::vector<const DeviceType*> types;
  for (const DeviceType& type : cluster.device_types)
    if (!type.gemm.empty() && (wanted.empty() || type.name == wanted)) types.push_back(&type);
  if (types.empty()) throw UserError(fmt::format("--gpu: the cluster has no {}", wanted.empty() ? "GPU" : wanted));
  if (types.size() > 1) throw UserError("--gpu is needed: the cluster has several kinds, and the kernels are of one");
  return *types.front();
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void add_kernels(const Arguments& arguments, const Cluster& cluster, Calibration& calibration) {
  const DeviceType& device = measured_gpu(cluster, arguments.gpu);
  calibration.gpus = fmt::format("      {}:\n", device.name);
  for (const KernelTable& table : read_kernel_table(arguments.kernels)) {
    const FittedProducts f = fit_own_products(device, table);
    calibration.gpus += fmt::format(
        "        {}: {{efficiency: {:.4f}, k_half: {:.1f}, quantisation: {:.3f}, sustained: {}, launch: {:.2f} us}}\n"
        "        # ± {:.4f}, {:.1f}, {:.3f}, launch {:.2f} us; {} products, median error {}, before {}\n",
        name(f.type), f.curve.efficiency, f.curve.k_half, f.curve.quantisation, f.curve.sustained, f.curve.launch.value * 1e6,
        f.error.efficiency, f.error.k_half, f.error.quantisation, f.error.launch.value * 1e6, f.shapes, percent(f.after), percent(f.before));
  }
  calibration.from(arguments.kernels);
}

/// As many GPUs of as many nodes as a log names, the same number in each.
std::vector<DeviceId> members_of(const Cluster& cluster, const NcclLog& log, const std::string& file) {
  const int each = log.ranks / log.nodes;
  std::vector<DeviceId> members;
  int nodes = 0;
  for (const Node& node : cluster.nodes) {
    std::vector<DeviceId> gpus;
    for (const DeviceId device : node.devices)
      if (cluster.devices[index(device)].kind == DeviceKind::gpu) gpus.push_back(device);
    if (nodes == log.nodes || static_cast<int>(gpus.size()) < each) continue;
    members.insert(members.end(), gpus.begin(), gpus.begin() + each);
    ++nodes;
  }
  if (nodes < log.nodes || each * log.nodes != log.ranks)
    throw UserError(fmt::format("{}: {} GPUs on {} nodes ran; the cluster does not have them", file, log.ranks, log.nodes));
  return members;
}

void add_links(const std::string& file, const Cluster& cluster, Calibration& calibration, std::vector<std::string>& known) {
  const NcclLog log = read_nccl_log(file);
  const CollectiveGroup group = collective_group(cluster, Router(cluster), members_of(cluster, log, file), log.kind);
  const FittedLinks f = fit_own_links(group.shape, cluster.transports[index(group.transport)], log);
  if (std::ranges::find(known, f.transport) != known.end())
    throw UserError(fmt::format("{}: a second log of {} links; one says what they do", file, f.transport));
  known.push_back(f.transport);
  calibration.links += fmt::format("      {}: {{times: {:.4f}, rate: {:.4f}}}\n      # ± {:.4f}, {:.4f}; {} sizes on {} GPUs, median error {}, before {}\n",
                                   f.transport, f.times.value, f.rate.value, f.times.error, f.rate.error, f.sizes, log.ranks, percent(f.after),
                                   percent(f.before));
  calibration.from(file);
}

std::vector<Seconds> predicted_steps(const Variant& variant, const std::vector<MeasuredStep>& steps, const Arguments& arguments, double slowdown,
                                     const std::string& directory, const WorkerNursery& nursery) {
  Cluster cluster = variant.cluster;
  for (Device& device : cluster.devices) device.slowdown *= slowdown;
  std::deque<ConfigValue> plans;
  std::vector<Case> cases;
  for (const MeasuredStep& step : steps) {
    Diagnostics diagnostics;
    plans.push_back(read_yaml_text(step.plan, arguments.steps, diagnostics));
    if (!diagnostics.empty()) throw UserError(fmt::format("{}: row {}: the plan is no YAML: {}", arguments.steps, plans.size(), step.plan));
    cases.push_back({"calibrate", "", "fixed", &cluster, &variant.workload, &plans.back(), directory, 1});
  }
  std::vector<Seconds> times;
  for (const CaseResult& result : run_cases(cases, CaseOptions{}, arguments.jobs, nursery, {})) {
    times.push_back(result.step.step_time);
    if (!(result.step.step_time.value > 0))
      throw UserError(fmt::format("{}: row {}: {}", arguments.steps, times.size(), result.reason.substr(0, result.reason.find('\n'))));
  }
  return times;
}

void add_site(const Arguments& arguments, const Variant& variant, const std::string& directory, Calibration& calibration,
              const WorkerNursery& nursery) {
  const std::vector<MeasuredStep> steps = read_steps(arguments.steps);
  std::vector<Seconds> measured;
  for (const MeasuredStep& step : steps) measured.push_back(step.time);
  const FittedSite f = fit_site(measured, predicted_steps(variant, steps, arguments, 1, directory, nursery),
                                predicted_steps(variant, steps, arguments, kSlower, directory, nursery));
  calibration.slowdown = fmt::format("    slowdown: {:.4f}\n    # ± {:.4f}; {} steps, median error {}, before {}\n", f.slowdown.value, f.slowdown.error,
                                     f.steps, percent(f.after), percent(f.before));
  calibration.from(arguments.steps);
}

}  // namespace

std::string calibrate_text(const Arguments& arguments, const WorkerNursery& nursery) {
  const std::string& file = arguments.scenarios.front();
  if (arguments.kernels.empty() && arguments.collectives.empty() && arguments.steps.empty())
    throw UserError("calibrate: nothing measured is given: --kernels, --collectives, --steps");
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const std::string directory = folder.empty() ? "." : folder.string();
  const ConfigValue document = read_document(file);
  const Scenario scenario = load_scenario(file);
  const Cluster& cluster = scenario.variants.front().cluster;
  Calibration calibration;
  std::vector<std::string> links;
  if (!arguments.kernels.empty()) add_kernels(arguments, cluster, calibration);
  for (const std::string& log : arguments.collectives) add_links(log, cluster, calibration, links);
  if (!arguments.steps.empty()) {
    const Scenario so_far = load_scenario_text(scenario_text(document, calibration), file, directory);
    add_site(arguments, so_far.variants.front(), directory, calibration, nursery);
  }
  return scenario_text(document, calibration);
}

}  // namespace trainyard
