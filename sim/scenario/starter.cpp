#include "sim/scenario/starter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "sim/config/schema.hpp"
#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard {
namespace {

constexpr int kGpusOfANode = 8, kMostTensor = 4;

/// One entry of `cluster.nodes`.
struct Nodes {
  int count = 1, gpus = kGpusOfANode;    ///< of each node
  std::string name, line;
  const DeviceType* type = nullptr;
};

std::string or_default(const std::string& given, const char* otherwise) { return given.empty() ? otherwise : given; }

/// `4xNAME`, or one.
std::pair<int, std::string> counted(const std::string& text) {
  const std::size_t x = text.find('x');
  const bool number = x != std::string::npos && x > 0 && x < 8 && std::all_of(text.begin(), text.begin() + std::ptrdiff_t(x), [](unsigned char c) { return std::isdigit(c) != 0; });
  return number ? std::pair(std::stoi(text), text.substr(x + 1)) : std::pair(1, text);
}

/// "a100" of "A100-SXM4-40GB".
std::string group_name(const std::string& gpu, const std::vector<Nodes>& before) {
  std::string name = gpu.substr(0, gpu.find('-'));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const auto same = std::ranges::count_if(before, [&](const Nodes& nodes) { return nodes.name.starts_with(name); });
  return same == 0 ? name : fmt::format("{}_{}", name, same + 1);
}

Nodes of_instance(int count, const InstanceEntry& instance, const StarterOptions& options, const std::vector<Nodes>& before) {
  Nodes nodes{count, instance.gpus, group_name(instance.gpu, before), "", &catalogue().gpu(instance.gpu)->type};
  nodes.line = fmt::format("{{name: {}, instance: {}, count: {}, market: {}}}", nodes.name, instance.name, count, or_default(options.market, "on_demand"));
  return nodes;
}

Nodes of_gpu(int count, const GpuEntry& gpu, const StarterOptions& options, const std::vector<Nodes>& before) {
  Nodes nodes{count, kGpusOfANode, group_name(gpu.type.name, before), "", &gpu.type};
  nodes.line = fmt::format("{{name: {}, gpu: {}, gpus_per_node: {}, count: {}, nics: {}, nic: {}{}}}", nodes.name, gpu.type.name, nodes.gpus, count,
                           nodes.gpus, or_default(options.nic, "100 Gbps"), options.price.empty() ? "" : ", price: " + options.price);
  if (options.price.empty()) nodes.line += "  # without a price of the node (price: 24 USD/h) dollars stay unknown";
  return nodes;
}

std::vector<Nodes> nodes_of(const StarterOptions& options) {
  std::vector<std::string> wanted = options.nodes;
  if (wanted.empty()) wanted.emplace_back("2xaws.p4d.24xlarge");
  std::vector<Nodes> all;
  for (const std::string& text : wanted) {
    const auto [count, name] = counted(text);
    if (const InstanceEntry* instance = catalogue().instance(name)) {
      all.push_back(of_instance(count, *instance, options, all));
    } else if (const GpuEntry* gpu = catalogue().gpu(name)) {
      all.push_back(of_gpu(count, *gpu, options, all));
    } else {
      std::vector<std::string> known = catalogue().instance_names();
      const std::vector<std::string> gpus = catalogue().gpu_names();
      known.insert(known.end(), gpus.begin(), gpus.end());
      throw UserError("--nodes: " + unknown_name("instance or GPU", name, known));
    }
  }
  return all;
}

std::string precision_of(const StarterOptions& options, const std::vector<Nodes>& all) {
  if (!options.precision.empty()) return options.precision;
  const bool everywhere = std::ranges::all_of(all, [](const Nodes& nodes) { return nodes.type->peak.contains(DataType::bf16); });
  return everywhere ? "bf16" : "fp16";
}

/// Tensor groups inside nodes, two stages where the GPUs can be halved, the rest replicas.
std::string fixed_plan(const std::vector<Nodes>& all) {
  int gpus = 0, tensor = kMostTensor;
  for (const Nodes& nodes : all) {
    gpus += nodes.count * nodes.gpus;
    tensor = std::gcd(tensor, nodes.gpus);
  }
  const int groups = gpus / tensor, stages = groups % 2 == 0 ? 2 : 1;
  return fmt::format("{{fixed: {{tensor: {}, pipeline: {}, data: {}, micro_batch: 1}}}}", tensor, stages, groups / stages);
}

std::string cluster_text(const std::vector<Nodes>& all) {
  std::string text =
      "cluster:\n"
      "  nodes:\n"
      "    # A cloud instance of the catalogue (`trainyard list instances`) brings its devices, network and price.\n"
      "    # A node may also be written out, with a GPU of the catalogue (`trainyard list gpus`) and a price of one's own.\n";
  for (const Nodes& nodes : all) text += "    - " + nodes.line + "\n";
  text += "    # - {name: v100, gpu: V100-SXM2-32GB, gpus_per_node: 8, count: 4, nics: 1, nic: 100 Gbps, price: 24.48 USD/h}\n";
  return text + "  fabric: {kind: star}                 # `trainyard list fabrics`\n\n";
}

std::string workload_text(const StarterOptions& options, const StarterParts& parts, const std::string& precision) {
  const int length = options.sequence_length > 0 ? options.sequence_length : 4096, batch = options.global_batch > 0 ? options.global_batch : 128;
  return fmt::format(
      "workload:\n"
      "  {:<36} # `trainyard list models`; or {{config: path/to/config.json}}\n"
      "{}"
      "  {:<36} # sequences (or images) a step\n"
      "  precision: {}\n"
      "  optimizer: adam\n"
      "  software: megatron-core-2024         # what is fused and what overlaps: `trainyard list software`\n\n",
      "model: " + or_default(options.model, "llama-2-13b"), parts.sequences ? fmt::format("  sequence_length: {}\n", length) : "",
      fmt::format("global_batch: {}", batch), precision);
}

std::string strategies_text(const StarterOptions& options, const StarterParts& parts, const std::vector<Nodes>& all) {
  std::string text = "strategies:                            # `trainyard list strategies`\n";
  for (const std::string& name : options.strategies.empty() ? std::vector<std::string>{"megatron"} : options.strategies)
    text += "  - " + name + "\n";
  return text + "  # A Plan of one's own: the product of tensor, pipeline and data is the number of GPUs.\n" + (parts.fixed_plan ? "  - " : "  # - ") +
         fixed_plan(all) + "\n";
}

std::string variants_text(const StarterOptions& options) {
  const int length = options.sequence_length > 0 ? options.sequence_length : 4096, batch = options.global_batch > 0 ? options.global_batch : 128;
  return fmt::format(
      "\n# Alternatives, each compared on its own; an element of a list is given by its name (cluster.nodes.a100.count).\n"
      "variants:\n"
      "  as_is: {{}}\n"
      "  long_sequences: {{workload.sequence_length: {}, workload.global_batch: {}}}\n",
      2 * length, std::max(1, batch / 2));
}

}  // namespace

std::string starter_scenario(const StarterOptions& options, const StarterParts& parts) {
  const std::vector<Nodes> all = nodes_of(options);
  std::string text =
      "# yaml-language-server: $schema=scenario.schema.json\n"
      "# (editors complete and check this file after: trainyard schema --out scenario.schema.json)\n"
      "#\n"
      "# A scenario: which strategies train which workload on which cluster.\n"
      "#   trainyard explain FILE    what it resolves to\n"
      "#   trainyard compare FILE    its strategies, ranked, and why\n\n";
  text += cluster_text(all) + workload_text(options, parts, precision_of(options, all));
  text += fmt::format("objective: {:<27} # throughput or cost: what `compare` ranks by\n\n", or_default(options.objective, "throughput"));
  return text + strategies_text(options, parts, all) + (parts.sequences && parts.longer ? variants_text(options) : "");
}

}  // namespace trainyard
