#include "sim/planning/uniform_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/cost/memory.hpp"
#include "sim/model/convolution.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/routing/router.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};
/// Reasons kept for candidates that were not taken; more help nobody.
constexpr std::size_t kRejectedKept = 50;

struct Candidate {
  Plan plan;
  StepEstimate estimate;
};

/// What Megatron's rules need to know of the model.
struct ModelSizes {
  int layers = 0, heads = 0, key_value_heads = 0, experts = 1;
  bool convolves = false;
};

ModelSizes sizes_of(const Workload& workload) {
  const Module& module = workload.modules[index(workload.passes.front().module)];
  ModelSizes sizes;
  for (const Layer& layer : module.layers)
    for (const Operator& op : module.types[index(layer.type)].operators) {
      sizes.experts = std::max(sizes.experts, op.items);
      sizes.convolves = sizes.convolves || is_convolution(op);
      if (op.attention.heads == 0) continue;
      sizes.heads = op.attention.heads;
      sizes.key_value_heads = op.attention.key_value_heads;
    }
  sizes.layers = int(std::ranges::count(module.counted_layers(), true));
  return sizes;
}

class UniformSearch {
 public:
  UniformSearch(const PlanningContext& context, const UniformSearchOptions& options)
      : context_(context), options_(options), router_(context.cluster), sizes_(sizes_of(context.workload)) {}

  UniformOrInfeasible search(std::vector<NodeId> nodes) {
    for (; !nodes.empty(); nodes.pop_back()) {
      candidates_.clear();
      enumerate(nodes);
      if (candidates_.empty()) continue;
      if (auto found = simulate_best()) return std::move(*found);
    }
    if (nearest_miss_) return Infeasible{shortfall_text(*nearest_miss_), nearest_miss_, std::move(rejected_)};
    if (first_problem_.empty()) first_problem_ = "no tensor x pipeline x data layout divides the devices, the layers and the batch";
    return Infeasible{first_problem_, std::nullopt, std::move(rejected_)};
  }

 private:
  const Cluster& cluster() const { return context_.cluster; }

  void enumerate(const std::vector<NodeId>& nodes) {
    std::vector<DeviceId> devices;
    std::size_t smallest_node = SIZE_MAX;
    for (const NodeId node : nodes) {
      std::size_t count = 0;
      for (const DeviceId device : cluster().nodes[index(node)].devices)
        if (cluster().devices[index(device)].kind == DeviceKind::gpu) {
          devices.push_back(device);
          ++count;
        }
      smallest_node = std::min(smallest_node, count);
    }
    const int most_tensor = sizes_.convolves ? 1 : int(smallest_node);
    for (int tensor = 1; tensor <= most_tensor; tensor *= 2)
      if (sizes_.heads % tensor == 0 && sizes_.key_value_heads % tensor == 0)
        for (context_degree_ = 1; context_degree_ <= (sizes_.convolves ? 1 : options_.most_context); context_degree_ *= 2) enumerate_pipelines(devices, tensor);
  }

  void enumerate_pipelines(const std::vector<DeviceId>& devices, int tensor) {
    const int together = tensor * context_degree_, groups = int(devices.size()) / together;
    if (groups * together != int(devices.size())) return;
    for (int pipeline = 1; pipeline <= std::min(groups, sizes_.layers); ++pipeline) {
      if (groups % pipeline != 0 || sizes_.layers % pipeline != 0) continue;
      const int batch = int(context_.workload.global_batch), data = groups / pipeline;
      if (batch % data != 0) continue;
      for (int micro_batch = 1; micro_batch <= batch / data; micro_batch *= 2)
        if (batch / data % micro_batch == 0) add_candidates(devices, tensor, pipeline, data, micro_batch);
    }
  }

  /// Experts follow the tensor axis, or are spread whole over any devices of a stage.
  void add_candidates(const std::vector<DeviceId>& devices, int tensor, int pipeline, int data, int micro_batch) {
    for (const Settings& settings : options_.settings)
      for (int expert = 1; expert <= std::min(sizes_.experts, tensor * data); expert *= 2)
        if ((tensor > 1 || !settings.slices) && sizes_.experts % expert == 0 && tensor * data % expert == 0)
          add_candidates(devices, tensor, pipeline, data, micro_batch, expert, settings);
  }

  void add_candidates(const std::vector<DeviceId>& devices, int tensor, int pipeline, int data, int micro_batch, int expert, const Settings& settings) {
    for (const RecomputeKind recompute : kRecomputes) {
      ShortPlan shape;
      shape.expert = expert;
      shape.tensor = tensor;
      shape.context = context_degree_;
      shape.pipeline = pipeline;
      shape.data = data;
      shape.micro_batch = micro_batch;
      shape.devices = devices;
      shape.settings = settings;
      shape.settings.recompute = Recompute{recompute, 1};
      Expanded expanded = expand(shape, cluster(), context_.workload);
      if (!expanded.why_not.empty()) continue;
      if (const auto wrong = expanded.plan.check(cluster(), context_.workload); wrong.empty())
        consider(std::move(expanded.plan));
      else if (first_problem_.empty())
        first_problem_ = wrong.front();
    }
  }

  void consider(Plan plan) {
    Candidate candidate{std::move(plan), {}};
    candidate.estimate = estimate_step(candidate.plan, cluster(), context_.workload, router_);
    if (candidate.estimate.memory.fits())
      candidates_.push_back(std::move(candidate));
    else
      miss(candidate.plan, candidate.estimate.memory);
  }

  void miss(const Plan& plan, const MemoryReport& memory) {
    reject(plan, shortfall_text(memory));
    if (!nearest_miss_ || memory.missing() < nearest_miss_->missing()) nearest_miss_ = memory;
  }

  void reject(const Plan& plan, std::string why) {
    if (rejected_.size() < kRejectedKept)
      rejected_.push_back({one_line(plan, cluster(), context_.workload), std::move(why)});
  }

  std::optional<UniformPlan> simulate_best() {
    std::ranges::stable_sort(candidates_, {}, [](const Candidate& c) { return c.estimate.step_time; });
    if (candidates_.size() > std::size_t(options_.simulate)) candidates_.resize(options_.simulate);
    std::vector<Plan> plans;
    for (const Candidate& candidate : candidates_) plans.push_back(candidate.plan);
    const std::vector<SimulationOutcome> outcomes = context_.simulator.simulate(plans);
    int best = -1;
    Seconds best_time{};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto* report = std::get_if<StepReport>(&outcomes[i]);
      if (!report) {
        reject(plans[i], std::get<SimulationError>(outcomes[i]).why);
      } else if (!report->memory.fits()) {
        miss(plans[i], report->memory);
      } else if (best < 0 || report->step_time < best_time) {
        best = int(i);
        best_time = report->step_time;
      }
    }
    if (best < 0) return std::nullopt;
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      if (const auto* report = std::get_if<StepReport>(&outcomes[i]); report && int(i) != best && report->memory.fits())
        reject(plans[i], "slower: " + to_text(report->step_time));
    return UniformPlan{{plans[best], candidates_[best].estimate.step_time, std::move(rejected_), false}, best_time};
  }

  const PlanningContext& context_;
  const UniformSearchOptions& options_;
  Router router_;
  ModelSizes sizes_;
  int context_degree_ = 1;               ///< of the candidates that are being listed
  std::vector<Candidate> candidates_;
  std::vector<Rejected> rejected_;
  std::optional<MemoryReport> nearest_miss_;
  std::string first_problem_;            ///< of the first candidate that Plan::check refuses
};

}  // namespace

UniformOrInfeasible search_uniform(const PlanningContext& context, const std::vector<NodeId>& nodes,
                                   const UniformSearchOptions& options) {
  return UniformSearch(context, options).search(nodes);
}

}  // namespace trainyard
