#include "validation/prediction.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>

#include "sim/job/case.hpp"
#include "sim/job/error_bands.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/ablation.hpp"

namespace trainyard {
namespace {

/// The message of the first mistake, without the place: that is a generated text which nobody can open.
std::string first_mistake(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  for (int colons = 0; colons < 3; ++colons)
    if (const std::size_t colon = line.find(':'); colon != std::string::npos) line = line.substr(colon + 1);
  const std::size_t start = line.find_first_not_of(' ');
  return start == std::string::npos ? text : line.substr(start);
}

/// Scenarios without their plans. Many rows share a cluster and a workload.
class Heads {
 public:
  struct Head {
    std::optional<Scenario> scenario;
    std::string refused;
  };

  explicit Heads(Ablation without) : without_(without) {}

  const Head& of(const Measurement& m) {
    const std::string text =
        fmt::format("cluster: {}\nworkload: {}\nstrategies: [megatron]\n", cluster_of(m), m.workload);
    const auto [entry, is_new] = heads_.try_emplace(text);
    if (is_new) load(text, entry->second);
    return entry->second;
  }

 private:
  [[nodiscard]] std::string cluster_of(const Measurement& m) const {
    return without_ == Ablation::interference && m.cluster.starts_with("{")
               ? "{interference: catalogue, " + m.cluster.substr(1)
               : m.cluster;
  }

  void load(const std::string& text, Head& head) const {
    try {
      head.scenario = load_scenario_text(text, "measurement", ".");
      ablate(without_, head.scenario->variants.front());
    } catch (const UserError& error) {
      head.refused = first_mistake(error.what());
    }
  }
  Ablation without_;
  std::map<std::string, Head> heads_;
};

void skip(Prediction& prediction, const std::string& reason) {
  prediction.status = PredictionStatus::skipped;
  prediction.reason = reason;
}

/// Libraries' workspaces are part of what a device reserves, but PyTorch's allocator counts them: one of cuBLAS for
/// each of the forward and the backward thread's handles, 32 MiB each (CUBLAS_WORKSPACE_CONFIG=:4096:8, and its default
/// on Hopper). Source: PyTorch 2 documentation, "CUDA semantics", cuBLAS workspaces.
constexpr Bytes kAllocatedWorkspaces(2 * 32 * 1048576.0);

/// Reserved memory is no allocation of the framework, but for the workspaces in it.
double comparable_bytes(const StepReport& step, MemoryKind kind) {
  const Bytes reserved = step.memory.at_peak[static_cast<std::size_t>(MemoryClass::reserved)];
  switch (kind) {
    case MemoryKind::device:
      return step.memory.peak.value;
    case MemoryKind::last_stage:
      return (step.last_stage_memory + kAllocatedWorkspaces).value;
    default:
      return (step.memory.peak - reserved + kAllocatedWorkspaces).value;
  }
}

void take(const CaseResult& result, const Measurement& measurement, Prediction& prediction) {
  if (result.status == CaseStatus::error) {
    prediction.status = result.user_error ? PredictionStatus::skipped : PredictionStatus::error;
    prediction.reason = result.user_error && result.reason.starts_with("measurement:")
                            ? first_mistake(result.reason)
                            : result.reason.substr(0, result.reason.find('\n'));
    return;
  }
  prediction.ground = result.ground;
  if (result.step.step_time.value > 0) prediction.step_time_s = result.step.step_time.value;
  if (result.step.flops_known && result.step.peak.value > 0)
    prediction.ideal_time_s = (result.step.model_flops / result.step.peak).value;
  if (result.step.memory.capacity.value > 0) {
    prediction.peak_memory_bytes = comparable_bytes(result.step, measurement.memory_kind);
    prediction.out_of_memory = !result.step.memory.fits();
    prediction.fill = result.step.memory.peak / result.step.memory.capacity;
  }
  if (!prediction.step_time_s && !prediction.out_of_memory) skip(prediction, result.reason);
}

/// The rows that can be simulated, with what their Cases point to. Equal configurations (one job measured with several
/// releases) are one case.
struct Batch {
  Heads heads;
  std::deque<ConfigValue> plans;
  std::vector<Case> cases;
  std::vector<std::vector<std::size_t>> rows;  ///< [case]
  std::map<std::string, std::size_t> known;

  void add(const Measurement& m, std::size_t row, Prediction& prediction) {
    if (!m.unmapped.empty()) return skip(prediction, m.unmapped);
    const Heads::Head& head = heads.of(m);
    if (!head.scenario) return skip(prediction, head.refused);
    const Variant& variant = head.scenario->variants.front();
    prediction.parameters = variant.workload.modules.empty() ? 0 : parameter_count(variant.workload.modules.front());
    prediction.architecture = architecture_of(variant.workload);
    prediction.sequence_length = variant.workload.data.sequence_length;
    prediction.global_batch = variant.workload.global_batch;
    const auto [entry, is_new] = known.try_emplace(m.cluster + m.workload + m.plan, cases.size());
    if (!is_new) return rows[entry->second].push_back(row);
    Diagnostics diagnostics;
    plans.push_back(read_yaml_text(m.plan, "measurement", diagnostics));
    if (!diagnostics.empty()) {
      known.erase(entry);
      return skip(prediction, first_mistake(diagnostics.text()));
    }
    cases.push_back({m.id, "", "fixed", &variant.cluster, &variant.workload, &plans.back(), ".", 1});
    rows.push_back({row});
  }
};

}  // namespace

std::vector<Prediction> predict(const std::vector<Measurement>& measurements, int jobs, const WorkerNursery& nursery,
                                const std::function<void(std::size_t, std::size_t)>& progress, Ablation without) {
  std::vector<Prediction> predictions(measurements.size());
  Batch batch{Heads(without), {}, {}, {}, {}};
  for (std::size_t i = 0; i < measurements.size(); ++i) batch.add(measurements[i], i, predictions[i]);
  CaseOptions options;
  options.alone_communication = without == Ablation::alone_communication;
  const std::vector<CaseResult> results = run_cases(batch.cases, options, jobs, nursery, progress);
  for (std::size_t r = 0; r < results.size(); ++r)
    for (const std::size_t row : batch.rows[r]) take(results[r], measurements[row], predictions[row]);
  return predictions;
}

}  // namespace trainyard
