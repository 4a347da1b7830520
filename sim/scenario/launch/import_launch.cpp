// A launch as a scenario.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/plan_writing.hpp"
#include "sim/scenario/launch/frameworks.hpp"
#include "sim/scenario/launch/launch.hpp"
#include "sim/scenario/launch/scenario_settings.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace launch {
namespace {

constexpr const char* kAssumedGpu = "H100-SXM5-80GB";
constexpr const char* kAssumedNic = "400 Gbps";

class Import {
 public:
  Import(const Framework& framework, const std::string& file, const LaunchImportOptions& options)
      : framework_(framework), file_(file), options_(options) {}

  ImportedLaunch run() {
    read();
    if (!options_.cluster.empty()) cluster_from(options_.cluster);
    complete_sizes(framework_, reading_, diagnostics_);
    diagnostics_.throw_if_any();
    const std::string cluster = cluster_text_.empty() ? cluster_yaml() : cluster_text_;
    const std::string body = cluster + workload_yaml(framework_, reading_.settings);
    const std::string devices = options_.ranks.empty() ? "" : devices_yaml(body);
    const std::string scenario = body + strategies_yaml(reading_.settings, devices);
    check(scenario);
    return {head() + scenario, notes()};
  }

 private:
  void read() {
    const std::string text = text_of(file_);
    framework_.read(text, file_, reading_, diagnostics_);
    override_with("job.nodes", options_.nodes);
    override_with("job.gpus_per_node", options_.gpus_per_node);
    if (options_.vocabulary > 0) override_with("model.vocabulary", options_.vocabulary);
    reading_.file = {std::make_shared<const SourceFile>(SourceFile{file_, {}}), 1, 1, ""};
    diagnostics_.throw_if_any();
    framework_.to_settings(reading_, diagnostics_);
  }

  void override_with(const std::string& key, int value) {
    if (value == 0) return;
    if (reading_.settings.has(key) && reading_.settings.count(key, 0) != value)
      reading_.notes.push_back(fmt::format("{} of the file ({}) replaced by {}", key.substr(key.find('.') + 1),
                                           reading_.settings.get(key), value));
    reading_.settings.set(key, value);
  }

  std::string cluster_yaml() {
    const Settings& s = reading_.settings;
    const std::string count = fmt::format("count: {}", s.count("job.nodes", 1));
    if (!options_.instance.empty())
      return fmt::format("cluster:\n  nodes: [{{name: node, instance: {}, {}}}]\n", options_.instance, count);
    if (options_.gpu.empty()) assume(fmt::format("{} (--gpu, --instance or --cluster say it)", kAssumedGpu));
    return fmt::format("cluster:\n  nodes: [{{name: node, gpu: {}, gpus_per_node: {}, {}{}}}]\n",
                       options_.gpu.empty() ? kAssumedGpu : options_.gpu, s.count("job.gpus_per_node", 1), count,
                       nics());
  }

  /// A network card a GPU, where there are several nodes.
  std::string nics() {
    if (reading_.settings.count("job.nodes", 1) == 1 && options_.nic.empty()) return "";
    if (options_.nic.empty()) assume(fmt::format("one NIC of {} a GPU (--nic says it)", kAssumedNic));
    return fmt::format(", nics: {}, nic: {}", reading_.settings.count("job.gpus_per_node", 1),
                       options_.nic.empty() ? kAssumedNic : options_.nic);
  }

  void assume(const std::string& what) {
    reading_.notes.push_back("assumed: " + what);
    assumed_.push_back(what);
  }

  /// Another scenario's cluster; as many ranks as it has GPUs unless the launcher says otherwise.
  void cluster_from(const std::string& file) {
    const ConfigValue document = read_yaml_file(file, diagnostics_);
    diagnostics_.throw_if_any();
    const ConfigValue* section = document.find("cluster");
    if (section == nullptr) throw UserError(file + ": no `cluster` section");
    ConfigValue root;
    root.kind = ConfigValue::Kind::map;
    plan_writing::add(root, "cluster", *section);
    cluster_text_ = plan_writing::yaml_text(root);
  }

  /// The devices of the rank file, as a set of the Plan's grammar. `body`: a scenario without strategies.
  std::string devices_yaml(const std::string& body) {
    const std::vector<std::string> names = devices_in_rank_file(text_of(options_.ranks), options_.ranks, diagnostics_);
    diagnostics_.throw_if_any();
    const Cluster cluster =
        load_scenario_text(body + strategies_yaml(reading_.settings, ""), file_, ".").variants.at(0).cluster;
    std::vector<DeviceId> ids;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(cluster.devices, name, &Device::name);
      if (found == cluster.devices.end())
        throw UserError(fmt::format("{}: the cluster has no device \"{}\"", options_.ranks, name));
      ids.push_back(id_at<DeviceId>(static_cast<std::size_t>(found - cluster.devices.begin())));
    }
    if (ids == cluster.gpus()) return "";
    std::vector<std::string> pieces;
    for (const DevicePiece& piece : plan_names::DeviceNames(cluster).set(ids)) pieces.push_back(to_text(piece));
    return fmt::format("[{}]", fmt::join(pieces, ", "));
  }

  /// The Plan must stand on the cluster: heads, layers, devices.
  void check(const std::string& scenario) const {
    const Scenario loaded = load_scenario_text(scenario, file_ + " (as a scenario)", ".");
    Diagnostics own;
    const SymbolicPlan plan = read_plan(loaded.strategies.at(0).options, own);
    (void)resolve(plan, loaded.variants.at(0).cluster, loaded.variants.at(0).workload, own);
    if (!own.empty()) throw UserError(fmt::format("{}: {}", file_, own.all().front().message));
  }

  std::string head() const {
    std::string text = fmt::format("# Imported from {} ({}-args).\n", std::filesystem::path(file_).filename().string(),
                                   framework_.name);
    for (const std::string& what : assumed_) text += fmt::format("# Assumed: {}.\n", what);
    return text;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> all = reading_.notes;
    if (!reading_.without_effect.empty())
      all.push_back(
          fmt::format("without effect on a step's time and memory: {}", fmt::join(reading_.without_effect, ", ")));
    return all;
  }

  const Framework& framework_;
  const std::string& file_;
  const LaunchImportOptions& options_;
  Reading reading_;
  Diagnostics diagnostics_;
  std::string cluster_text_;
  std::vector<std::string> assumed_;
};

}  // namespace

std::string text_of(const std::string& file) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20U;
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) throw UserError(file + ": no such file");
  if (std::filesystem::file_size(file, none) > kMostBytes) throw UserError(file + ": larger than 4 MiB");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError(file + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::vector<const Framework*>& frameworks() {
  static const std::vector<const Framework*> all{&megatron(), &torchtitan(), &deepspeed()};
  return all;
}

}  // namespace launch

std::vector<std::string> launch_frameworks() {
  std::vector<std::string> names;
  for (const launch::Framework* framework : launch::frameworks()) names.emplace_back(framework->name);
  return names;
}

std::vector<std::string> launch_import_kinds() {
  std::vector<std::string> kinds;
  for (const std::string& name : launch_frameworks()) kinds.push_back(name + "-args");
  return kinds;
}

ImportedLaunch import_launch(const std::string& kind, const std::string& file, const LaunchImportOptions& options) {
  for (const launch::Framework* framework : launch::frameworks())
    if (kind == fmt::format("{}-args", framework->name)) return launch::Import(*framework, file, options).run();
  throw UserError(unknown_name("kind", kind, launch_import_kinds()));
}

}  // namespace trainyard
