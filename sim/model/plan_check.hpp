// The parts of Plan::check; nobody else includes this.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard::plan_check {

using Problems = std::vector<std::string>;

/// One part of a Plan in its surroundings; `where` ("phase 1: part llm: ") is "" where there is only one.
struct PartView {
  const Part& part;
  const Cluster& cluster;
  const Workload& workload;
  std::string where;
  [[nodiscard]] const Module& module() const;
  [[nodiscard]] std::string stage_name(std::size_t stage) const;
  [[nodiscard]] std::string pipeline_name(std::size_t pipeline) const;
  [[nodiscard]] std::string layer_name(LayerId layer) const;
};

/// Ids out of range: nothing else is looked at where there are any.
void check_ids(const PartView& view, Problems& problems);
/// What a stage says by itself: devices, layouts, heads, counts.
void check_stages(const PartView& view, Problems& problems);
/// Layers and batches of the pipelines.
void check_pipelines(const PartView& view, Problems& problems);
/// Order tables that can be run, and the shapes that some schedules need; layers and batches are as they should be.
void check_orders(const PartView& view, const PlanPhase& phase, Problems& problems);
/// Whether the devices used have the workload's data type and attention kernel.
void check_device_types(const PartView& view, Problems& problems);
/// Whether measured layers were measured where and how the Plan runs them.
void check_profiles(const PartView& view, const PlanPhase& phase, Problems& problems);
/// Constructs of the grammar that the lowering does not know, by name; the Plan's ids are in range.
void check_constructs(const Plan& plan, const Cluster& cluster, const Workload& workload, Problems& problems);

/// `layer 3`, `layers 3-5, head`, by name.
[[nodiscard]] std::string layer_list(const Module& module, const std::vector<LayerId>& layers);

}  // namespace trainyard::plan_check
