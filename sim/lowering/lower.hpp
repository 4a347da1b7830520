// Plan + Workload + Cluster -> TaskGraph of one training step.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/event_trace.hpp"
#include "sim/model/jitter.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/workload.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

struct LoweringOptions {
  bool symmetry = true;                  ///< one simulated device a class; false: every device
  bool full_detail = false;              ///< every kernel and collective a task of its own
  Jitter jitter{};
  std::vector<LinkId> apart{};           ///< links that others' traffic travels over, too: each a channel of its own
  bool alone_communication = false;      ///< communication in closed form: it never meets other traffic (for ablations)
};

/// What a simulated processor stands for.
struct SimulatedDevice {
  DeviceId first{};                      ///< of its class
  int devices = 1;
  int tensor = 1;                        ///< size of its tensor group
  bool last_stage = false;               ///< it runs the end of a pipeline
};

/// One step as a graph (loop-carried edges lead to the next step), with what reports need to know.
struct Lowered {
  TaskGraph graph;
  std::vector<LinkId> channel_links;     ///< [channel] the first of the links that it stands for
  EventTrace events;                     ///< of the cluster, on what the Plan uses
  std::vector<SimulatedDevice> devices;  ///< [processor]
  std::vector<DeviceId> used;            ///< all devices of the Plan
  Flops recomputed{};                    ///< of the step, all devices, by model convention
  double expert_imbalance = 0;           ///< tokens of the busiest expert rank over the mean; 0: no experts
  std::vector<std::string> extrapolated; ///< what lies outside measured ground; what was drawn
};

/// The Plan must have passed Plan::check.
[[nodiscard]] Lowered lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const Router& router,
                            const LoweringOptions& options);

/// All links that exchanges between devices of the Plan use, ascending.
[[nodiscard]] std::vector<LinkId> links_used(const Plan& plan, const Workload& workload, const Router& router);

}  // namespace trainyard
