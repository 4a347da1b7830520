// Plan::check: the walk over the tree, and the rules that concern names and ids.
#include "sim/model/plan_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/model/plan_words.hpp"

namespace trainyard {
namespace plan_check {
namespace {

template <class Id>
bool within(Id id, std::size_t count) {
  return static_cast<std::int64_t>(id) >= 0 && index(id) < count;
}

void check_rule_ids(const PartView& view, std::size_t stage, const Rule& rule, Problems& problems) {
  for (const LayerId layer : rule.layers)
    if (!within(layer, view.module().layers.size()))
      problems.push_back(fmt::format("{}: a rule names layer number {}, which does not exist", view.stage_name(stage),
                                     static_cast<int>(layer)));
  for (const DeviceId device : rule.devices)
    if (!within(device, view.cluster.devices.size()))
      problems.push_back(fmt::format("{}: a rule names device number {}, which does not exist", view.stage_name(stage),
                                     static_cast<int>(device)));
}

void check_stage_ids(const PartView& view, std::size_t stage, Problems& problems) {
  const Stage& s = view.part.stages[stage];
  for (const DeviceId device : s.devices)
    if (!within(device, view.cluster.devices.size()))
      problems.push_back(
          fmt::format("{}: device number {} does not exist", view.stage_name(stage), static_cast<int>(device)));
  for (const auto& chunk : s.chunks)
    for (const LayerId layer : chunk)
      if (!within(layer, view.module().layers.size()))
        problems.push_back(
            fmt::format("{}: layer number {} does not exist", view.stage_name(stage), static_cast<int>(layer)));
  for (const Rule& rule : s.rules) check_rule_ids(view, stage, rule, problems);
}

void check_schedule(const Part& part, bool has_lanes, const std::string& where, Problems& problems) {
  if (part.schedule == "table" && has_lanes) return;
  if (std::ranges::find(schedule_names(), part.schedule) == schedule_names().end())
    problems.push_back(
        fmt::format("{}unknown schedule \"{}\"; known: {}", where, part.schedule, fmt::join(schedule_names(), ", ")));
}

std::string place_of(const Plan& plan, std::size_t phase, const Part& part, const Workload& workload) {
  std::string where;
  if (plan.phases.size() > 1) where += fmt::format("phase {}: ", phase);
  if (plan.phases[phase].parts.size() > 1) where += fmt::format("part {}: ", workload.passes[index(part.pass)].name);
  return where;
}

/// False where an id is out of range, so that no other rule can be looked at.
bool check_part(const PartView& view, const PlanPhase& phase, Problems& problems) {
  const std::size_t before = problems.size();
  check_ids(view, problems);
  if (problems.size() > before) return false;
  check_stages(view, problems);
  check_pipelines(view, problems);
  check_device_types(view, problems);
  check_profiles(view, phase, problems);
  if (problems.size() == before) check_orders(view, phase, problems);
  return true;
}

}  // namespace

const Module& PartView::module() const { return workload.modules[index(workload.passes[index(part.pass)].module)]; }

std::string PartView::stage_name(std::size_t stage) const {
  const std::string& given = part.stages[stage].name;
  return given.empty() ? fmt::format("{}stage {}", where, stage) : fmt::format("{}stage {}", where, given);
}

std::string PartView::pipeline_name(std::size_t pipeline) const {
  return fmt::format("{}pipeline {}", where, pipeline);
}

std::string PartView::layer_name(LayerId layer) const { return module().layers[index(layer)].name; }

void check_ids(const PartView& view, Problems& problems) {
  for (std::size_t s = 0; s < view.part.stages.size(); ++s) check_stage_ids(view, s, problems);
  for (std::size_t p = 0; p < view.part.pipelines.size(); ++p)
    for (const StageId stage : view.part.pipelines[p].stages)
      if (!within(stage, view.part.stages.size()))
        problems.push_back(
            fmt::format("{}: stage number {} does not exist", view.pipeline_name(p), static_cast<int>(stage)));
}

std::string layer_list(const Module& module, const std::vector<LayerId>& layers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && index(layers[last + 1]) == index(layers[last]) + 1) ++last;
    const std::string& first = module.layers[index(layers[i])].name;
    runs.push_back(last == i ? first : fmt::format("{}-{}", first, module.layers[index(layers[last])].name));
    i = last + 1;
  }
  return fmt::format("{} {}", layers.size() == 1 ? "layer" : "layers", fmt::join(runs, ", "));
}

}  // namespace plan_check

std::vector<std::string> Plan::check(const Cluster& cluster, const Workload& workload) const {
  plan_check::Problems problems;
  if (phases.empty()) return {"the Plan has no phases"};
  bool complete = true;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    if (phases[p].parts.empty()) problems.push_back(fmt::format("phase {} has no parts", p));
    for (const Part& part : phases[p].parts) {
      if (static_cast<int>(part.pass) < 0 || index(part.pass) >= workload.passes.size()) {
        problems.push_back(fmt::format("pass number {} does not exist", static_cast<int>(part.pass)));
        complete = false;
        continue;
      }
      const std::string where = plan_check::place_of(*this, p, part, workload);
      plan_check::check_schedule(part, !phases[p].lanes.empty(), where, problems);
      complete = plan_check::check_part({part, cluster, workload, where}, phases[p], problems) && complete;
    }
  }
  if (complete) plan_check::check_constructs(*this, cluster, workload, problems);
  return problems;
}

}  // namespace trainyard
