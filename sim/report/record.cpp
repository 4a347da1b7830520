#include "sim/report/record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.hpp"
#include "sim/report/job_record.hpp"
#include "sim/report/replay_text.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string_view status_name(CaseStatus status) {
  switch (status) {
    case CaseStatus::ok:
      return "ok";
    case CaseStatus::infeasible:
      return "infeasible";
    case CaseStatus::error:
      return "error";
  }
  require(false, "a case has a status");
  return {};
}

Json plan_of(const std::string& plan_json) {
  if (plan_json.empty()) return nullptr;
  Json plan = Json::parse(plan_json, nullptr, false);
  require(!plan.is_discarded(), "the text of a Plan is JSON");
  return plan;
}

void add_rates(Json& record, const Figures& figures) {
  record["gpus"] = or_null(figures.gpus);
  record["step_time_s"] = or_null(figures.step_time_s);
  record["first_step_s"] = or_null(figures.first_step_s);
  record["tokens_per_s"] = or_null(figures.tokens_per_s);
  record["samples_per_s"] = or_null(figures.samples_per_s);
  record["tokens_per_s_per_gpu"] = or_null(figures.tokens_per_s_per_gpu);
  record["model_tflops_per_gpu"] = or_null(figures.model_tflops_per_gpu);
  record["hardware_tflops_per_gpu"] = or_null(figures.hardware_tflops_per_gpu);
  record["mfu"] = or_null(figures.mfu);
  record["hfu"] = or_null(figures.hfu);
  record["bubble_fraction"] = or_null(figures.bubble_fraction);
  record["exposed_communication_fraction"] = or_null(figures.exposed_communication_fraction);
}

Json time_breakdown(const CaseResult& result) {
  const TimeBreakdown& time = result.step.time;
  Json breakdown;
  const auto add = [&](const char* key, Seconds value) {
    breakdown[key] = result.status == CaseStatus::ok ? Json(value.value) : Json(nullptr);
  };
  add("forward", time.forward);
  add("backward", time.backward);
  add("recompute", time.recompute);
  add("tensor", time.tensor);
  add("pipeline", time.pipeline);
  add("data", time.data);
  add("expert", time.expert);
  add("context", time.context);
  add("optimizer", time.optimizer);
  add("offload", time.offload);
  add("bubble", time.bubble);
  add("other", time.other);
  return breakdown;
}

void add_memory(Json& record, const CaseResult& result, const Figures& figures) {
  const MemoryReport& memory = result.step.memory;
  const bool known = has_memory(result);
  record["peak_memory_bytes"] = known ? Json(memory.peak.value) : Json(nullptr);
  record["memory_capacity_bytes"] = known ? Json(memory.capacity.value) : Json(nullptr);
  record["peak_host_memory_bytes"] = or_null(figures.peak_host_memory_bytes);
  record["fullest_device"] = known ? Json(memory.device) : Json(nullptr);
  Json& breakdown = record["memory_breakdown_bytes"];
  for (int i = 0; i < kMemoryClasses; ++i) {
    const double bytes = memory.at_peak[static_cast<std::size_t>(i)].value;
    breakdown[name(static_cast<MemoryClass>(i))] = known ? Json(bytes) : Json(nullptr);
  }
}

Json band_of(const std::optional<ErrorBand>& band) {
  const auto number = [&](double ErrorBand::*of) { return band ? Json((*band).*of) : Json(nullptr); };
  return {{"group", band ? Json(band->group) : Json(nullptr)}, {"rows", band ? Json(band->rows) : Json(nullptr)},
          {"median", number(&ErrorBand::median)},              {"low", number(&ErrorBand::low)},
          {"high", number(&ErrorBand::high)},                  {"eight_of_ten", number(&ErrorBand::eight_of_ten)}};
}

/// Tokens are null where the workload has none.
Json jobs_of(const CaseResult& result) {
  Json jobs = Json::array();
  for (const JobResult& job : result.jobs)
    jobs.push_back({{"name", job.name},
                    {"strategy", job.strategy},
                    {"plan", plan_of(job.plan_json)},
                    {"gpus", job.step.gpus},
                    {"step_time_s", job.step.step_time.value},
                    {"alone_step_time_s", job.alone_step_time.value},
                    {"tokens_per_s", job.step.tokens > 0 ? Json(job.step.tokens_per_s()) : Json(nullptr)},
                    {"samples_per_s", job.step.samples / job.step.step_time.value}});
  return jobs;
}

/// As a share of the step, too.
Json path_of(const CaseResult& result) {
  Json path = Json::array();
  for (const PathPart& part : result.critical_path)
    path.push_back({{"kind", part.kind},
                    {"pipeline", part.pipeline < 0 ? Json(nullptr) : Json(part.pipeline)},
                    {"stage", part.stage < 0 ? Json(nullptr) : Json(part.stage)},
                    {"device", text_or_null(part.device)},
                    {"gpu", text_or_null(part.model)},
                    {"time_s", part.time.value},
                    {"share", part.time / result.step.step_time}});
  return path;
}

Json sensitivity_of(const CaseResult& result) {
  Json gains = Json::array();
  for (const ResourceGain& gain : result.sensitivity) {
    const bool known = gain.why_not.empty();
    gains.push_back({{"resource", gain.resource},
                     {"factor", gain.factor},
                     {"step_time_s", known ? Json(gain.step_time.value) : Json(nullptr)},
                     {"throughput_gain", known ? Json(gain.throughput_gain) : Json(nullptr)},
                     {"usd_per_token_change", known && result.step.price_known ? Json(gain.cost_change) : Json(nullptr)},
                     {"reason", text_or_null(gain.why_not)}});
  }
  return gains;
}

Json rejected_of(const CaseResult& result) {
  Json rejected = Json::array();
  for (const RejectedPlan& plan : result.rejected) rejected.push_back({{"plan", plan.what}, {"reason", plan.why}});
  return rejected;
}

void add_explanation(Json& record, const CaseResult& result) {
  record["error_band"] = or_null(result.error_band);
  record["pareto_front"] = or_null(result.pareto_front);
  record["critical_path"] = path_of(result);
  record["sensitivity"] = sensitivity_of(result);
  record["rejected"] = rejected_of(result);
}

void add_rest(Json& record, const CaseResult& result, const Figures& figures) {
  const bool ok = result.status == CaseStatus::ok;
  record["price_usd_per_h"] = or_null(figures.price_usd_per_h);
  record["usd_per_million_tokens"] = or_null(figures.usd_per_million_tokens);
  record["planner_estimate_step_time_s"] =
      result.planner_estimate ? Json(result.planner_estimate->value) : Json(nullptr);
  record["planner_remarks"] = result.remarks;
  record["planner_truncated"] = result.planner_truncated;
  record["simulated_tasks"] = ok ? Json(result.step.simulated_tasks) : Json(nullptr);
  record["device_classes"] = ok ? Json(result.step.device_classes) : Json(nullptr);
  record["alone_step_time_s"] = result.alone_step_time ? Json(result.alone_step_time->value) : Json(nullptr);
  record["jobs"] = jobs_of(result);
  add_explanation(record, result);
  record["error_band_from"] = band_of(result.error_band_from);
  record["extrapolated"] = result.step.extrapolated;
}

}  // namespace

bool any_over_horizon(const std::vector<CaseResult>& results) {
  return std::any_of(results.begin(), results.end(), [](const CaseResult& result) { return result.job.has_value(); });
}

Json to_record(const CaseResult& result, bool timings, bool over_horizon) {
  const Figures figures = figures_of(result);
  Json record;
  record["scenario"] = result.scenario;
  record["variant"] = text_or_null(result.variant);
  record["strategy"] = result.strategy;
  record["status"] = status_name(result.status);
  record["reason"] = text_or_null(result.reason);
  record["plan"] = plan_of(result.plan_json);
  record["plan_line"] = text_or_null(result.plan_line);
  add_rates(record, figures);
  if (result.step.expert_imbalance > 0) record["expert_imbalance"] = result.step.expert_imbalance;
  record["time_breakdown_s"] = time_breakdown(result);
  add_memory(record, result, figures);
  add_rest(record, result, figures);
  if (over_horizon || result.job) add_job_record(record, result);
  if (result.replay) record["replay"] = replay_record(*result.replay);
  if (timings) {
    record["planner_wall_s"] = result.planner_wall.value;
    record["simulation_wall_s"] = result.simulation_wall.value;
  }
  return record;
}

}  // namespace trainyard
