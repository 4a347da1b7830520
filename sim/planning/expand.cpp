// The short form: equal stages over a list of devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/config/schema.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard {
namespace {

using Sizes = std::map<std::string, int>;

const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> names{"tensor", "context", "shard", "data", "pipeline"};
  return names;
}

Sizes sizes_of(const ShortPlan& plan) {
  return {{"tensor", plan.tensor},
          {"context", plan.context},
          {"shard", plan.shard},
          {"data", plan.data},
          {"pipeline", plan.pipeline}};
}

/// `tensor 8 x data 2`, sizes of 1 left out.
std::string product_text(const ShortPlan& plan) {
  const Sizes sizes = sizes_of(plan);
  std::vector<std::string> factors;
  for (const std::string& axis : axis_names())
    if (sizes.at(axis) > 1) factors.push_back(fmt::format("{} {}", axis, sizes.at(axis)));
  return factors.empty() ? "sizes of 1" : fmt::format("{}", fmt::join(factors, " x "));
}

std::int64_t devices_needed(const ShortPlan& plan) {
  std::int64_t product = 1;
  for (const auto& [axis, size] : sizes_of(plan)) product *= size;
  return product;
}

/// All five axes, fastest first: those given, with shard before data, then the others as usual.
std::vector<std::string> full_rank_order(const std::vector<std::string>& given) {
  std::vector<std::string> order = given;
  const auto has = [&](const std::string& axis) { return std::ranges::find(order, axis) != order.end(); };
  if (!has("shard") && has("data")) order.insert(std::ranges::find(order, "data"), "shard");
  for (const std::string& axis : axis_names())
    if (!has(axis)) order.push_back(axis);
  return order;
}

std::string rank_order_problem(const std::vector<std::string>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::ranges::find(axis_names(), given[i]) == axis_names().end())
      return "rank_order: " + unknown_name("axis", given[i], axis_names());
    if (std::find(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i), given[i]) !=
        given.begin() + static_cast<std::ptrdiff_t>(i))
      return fmt::format("rank_order names {} twice", given[i]);
  }
  return "";
}

/// Distance in the list of devices between neighbours on each axis.
Sizes strides(const ShortPlan& plan) {
  const Sizes sizes = sizes_of(plan);
  Sizes strides;
  int stride = 1;
  for (const std::string& axis : full_rank_order(plan.rank_order)) {
    strides[axis] = stride;
    stride *= sizes.at(axis);
  }
  return strides;
}

std::vector<DeviceId> stage_devices(const ShortPlan& plan, const std::vector<DeviceId>& devices, int stage) {
  const Sizes stride = strides(plan);
  std::vector<DeviceId> chosen;
  for (int d = 0; d < plan.data; ++d)
    for (int s = 0; s < plan.shard; ++s)
      for (int c = 0; c < plan.context; ++c)
        for (int t = 0; t < plan.tensor; ++t) {
          const int at = stage * stride.at("pipeline") + d * stride.at("data") + s * stride.at("shard") +
                         c * stride.at("context") + t * stride.at("tensor");
          chosen.push_back(devices[static_cast<std::size_t>(at)]);
        }
  return chosen;
}

Layout layout_of(const ShortPlan& plan) {
  Layout layout;
  for (const auto& [kind, size] :
       {std::pair(AxisKind::data, plan.data), std::pair(AxisKind::shard, plan.shard),
        std::pair(AxisKind::context, plan.context), std::pair(AxisKind::tensor, plan.tensor)})
    if (size > 1) layout.push_back(equal_axis(kind, size));
  if (layout.empty()) layout.push_back(equal_axis(AxisKind::data, 1));
  return layout;
}

int numbered_layers(const Module& module) {
  return static_cast<int>(std::ranges::count(module.counted_layers(), true));
}

/// Visits go round after round over the stages; with zb_v the second round goes back.
int stage_of_visit(const ShortPlan& plan, int visit) {
  const int stage = visit % plan.pipeline;
  return plan.schedule == "zb_v" && visit / plan.pipeline % 2 == 1 ? plan.pipeline - 1 - stage : stage;
}

/// Numbered layers by visit: given a stage (shared evenly by its chunks)
/// or a visit, else even; what is left over goes to the earlier ones.
std::vector<int> counts_by_visit(const ShortPlan& plan, int total) {
  const int visits = plan.pipeline * plan.chunks;
  if (static_cast<int>(plan.layers.size()) == visits) return plan.layers;
  std::vector<int> counts(static_cast<std::size_t>(visits));
  for (int v = 0; v < visits; ++v) {
    const bool given = !plan.layers.empty();
    const int share = given ? plan.layers[static_cast<std::size_t>(stage_of_visit(plan, v))] : total;
    const int among = given ? plan.chunks : visits;
    const int place = given ? v / plan.pipeline : v;
    counts[static_cast<std::size_t>(v)] = share / among + (place < share % among ? 1 : 0);
  }
  return counts;
}

/// The layers of each visit: what stands before the first numbered layer goes to the first, the rest behind to the
/// last.
std::vector<std::vector<LayerId>> layers_by_visit(const Module& module, const std::vector<int>& counts) {
  std::vector<std::vector<LayerId>> visits(counts.size());
  const std::vector<bool> counted = module.counted_layers();
  std::size_t visit = 0;
  int taken = 0;
  for (std::size_t l = 0; l < module.layers.size(); ++l) {
    if (counted[l]) {
      while (visit + 1 < counts.size() && taken == counts[visit]) ++visit, taken = 0;
      ++taken;
    } else if (l > 0 && counted[l - 1]) {
      visit = counts.size() - 1;
    }
    visits[visit].push_back(id_at<LayerId>(l));
  }
  return visits;
}

/// What is wrong, and the key it is about; "" in both: nothing, and the whole.
struct Problem {
  std::string text, key;
};

Problem heads_problem(const ShortPlan& plan, const Module& module) {
  for (const LayerType& type : module.types)
    for (const Operator& op : type.operators)
      if (op.attention.heads > 0 && op.attention.heads % plan.tensor != 0)
        return {fmt::format("{} attention heads do not divide over tensor {}", op.attention.heads, plan.tensor),
                "tensor"};
  return {};
}

Problem layers_problem(const ShortPlan& plan, const Module& module) {
  const int total = numbered_layers(module);
  const int visits = plan.pipeline * plan.chunks;
  if (plan.layers.empty() && total >= visits) return {};
  if (plan.layers.empty())
    return {fmt::format("{} layers are too few for pipeline {} x chunks {}", total, plan.pipeline, plan.chunks),
            "pipeline"};
  const auto given = static_cast<int>(plan.layers.size());
  if (given != plan.pipeline && given != visits)
    return {fmt::format("layers has {} counts for {} stages", given, plan.pipeline), "layers"};
  const int sum = std::accumulate(plan.layers.begin(), plan.layers.end(), 0);
  if (sum == total) return {};
  return {fmt::format("layers sum to {}, the model has {}", sum, total), "layers"};
}

Problem batch_problem(const ShortPlan& plan, const Workload& workload) {
  if (!(plan.micro_batch > 0)) return {fmt::format("micro_batch {}: must be above zero", plan.micro_batch), "micro_batch"};
  const bool both_ways = plan.schedule == "dualpipe";
  const double together = static_cast<double>(plan.data) * plan.shard * plan.micro_batch * (both_ways ? 2 : 1);
  const double micro_batches = workload.global_batch / together;
  if (micro_batches >= 1 && micro_batches == std::round(micro_batches)) return {};
  return {fmt::format("a global batch of {} is no multiple of {} data ranks x micro_batch {}{}", workload.global_batch,
                      plan.data * plan.shard, plan.micro_batch, both_ways ? " in two directions" : ""),
          "micro_batch"};
}

Problem sizes_problem(const ShortPlan& plan, std::size_t devices) {
  for (const auto& [axis, size] : sizes_of(plan))
    if (size < 1) return {fmt::format("{} {}: at least 1", axis, size), axis};
  if (plan.schedule == "zb_v" && plan.chunks != 2) return {fmt::format("chunks {}: zb_v needs 2", plan.chunks), "chunks"};
  if (plan.chunks < 1 || plan.expert < 1)
    return {fmt::format("chunks {}, expert {}: at least 1", plan.chunks, plan.expert), "chunks"};
  if (plan.expert_tensor < 1) return {fmt::format("expert_tensor {}: at least 1", plan.expert_tensor), "expert_tensor"};
  const std::int64_t needed = devices_needed(plan);
  if (needed != static_cast<std::int64_t>(devices))
    return {fmt::format("{} need {} devices, there are {}", product_text(plan), needed, devices), ""};
  if (needed / plan.pipeline % (plan.expert * plan.expert_tensor) == 0) return {};
  if (plan.expert_tensor > 1)
    return {fmt::format("expert {} x expert_tensor {} do not divide the {} devices of a stage", plan.expert, plan.expert_tensor, needed / plan.pipeline),
            "expert_tensor"};
  return {fmt::format("expert {} does not divide the {} devices of a stage", plan.expert, needed / plan.pipeline),
          "expert"};
}

Problem problem(const ShortPlan& plan, const Workload& workload, const Module& module, std::size_t devices) {
  for (const Problem& found :
       {sizes_problem(plan, devices), Problem{rank_order_problem(plan.rank_order), "rank_order"}, heads_problem(plan, module),
        layers_problem(plan, module), batch_problem(plan, workload)})
    if (!found.text.empty()) return found;
  return {};
}

std::vector<Rule> rules_of(const ShortPlan& plan) {
  Rule plain;
  plain.settings = plan.settings;
  plain.settings.layout = layout_of(plan);
  if (plan.expert == 1 && plan.expert_tensor == 1) return {plain};
  Rule experts;
  experts.operators = "experts";
  const auto devices = static_cast<int>(devices_needed(plan) / plan.pipeline);
  experts.settings.layout = {equal_axis(AxisKind::data, devices / (plan.expert * plan.expert_tensor)), equal_axis(AxisKind::items, plan.expert)};
  if (plan.expert_tensor > 1) experts.settings.layout->push_back(equal_axis(AxisKind::tensor, plan.expert_tensor));
  return {plain, experts};
}

Part part_of(const ShortPlan& plan, const Workload& workload, PassId pass, const std::vector<DeviceId>& devices) {
  const Module& module = workload.modules[index(workload.passes[index(pass)].module)];
  const auto visits = layers_by_visit(module, counts_by_visit(plan, numbered_layers(module)));
  const bool both_ways = plan.schedule == "dualpipe";
  Part part;
  part.pass = pass;
  part.schedule = plan.schedule;
  for (const bool back : both_ways ? std::vector{false, true} : std::vector{false}) {
    Pipeline pipeline;
    pipeline.batch = workload.global_batch / (both_ways ? 2 : 1);
    pipeline.micro_batches = static_cast<int>(std::llround(pipeline.batch / (plan.data * plan.shard * plan.micro_batch)));
    for (int s = 0; s < plan.pipeline; ++s) {
      Stage stage;
      if (both_ways) stage.name = fmt::format("{}{}", back ? 'r' : 'f', s);
      stage.devices = stage_devices(plan, devices, back ? plan.pipeline - 1 - s : s);
      for (int v = 0; v < plan.pipeline * plan.chunks; ++v)
        if (stage_of_visit(plan, v) == s) stage.chunks.push_back(visits[static_cast<std::size_t>(v)]);
      stage.rules = rules_of(plan);
      pipeline.stages.push_back(id_at<StageId>(part.stages.size()));
      part.stages.push_back(std::move(stage));
    }
    part.pipelines.push_back(std::move(pipeline));
  }
  return part;
}

}  // namespace

Expanded expand(const ShortPlan& plan, const Cluster& cluster, const Workload& workload) {
  const auto pass = plan_names::find_pass(workload, "");
  if (!pass) return {{}, "the workload has several passes: the short form is for one"};
  const Module& module = workload.modules[index(workload.passes[index(*pass)].module)];
  const std::vector<DeviceId> devices = plan.devices.empty() ? cluster.gpus() : plan.devices;
  if (auto [why, key] = problem(plan, workload, module, devices.size()); !why.empty())
    return {{}, std::move(why), std::move(key)};
  Plan result;
  result.phases.push_back({{}, {part_of(plan, workload, *pass, devices)}, {}});
  return {std::move(result), ""};
}

}  // namespace trainyard
