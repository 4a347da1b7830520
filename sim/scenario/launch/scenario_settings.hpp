// Settings to scenario YAML, and a Plan with its workload to settings. Private to sim/scenario/launch.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"
#include "sim/scenario/launch/framework.hpp"
#include "workloads/architecture.hpp"

namespace trainyard::launch {

/// `plan.data` and the global batch from the number of processes; missing settings and sizes that do not divide go to
/// `diagnostics` under the framework's names.
void complete_sizes(const Framework& framework, Reading& reading, Diagnostics& diagnostics);

/// `workload:` and `strategies:`.
[[nodiscard]] std::string workload_yaml(const Framework& framework, const Settings& settings);
[[nodiscard]] std::string strategies_yaml(const Settings& settings, const std::string& devices);

/// Why a Plan has no settings: one line.
struct Inexpressible {
  std::string why;
};
/// What a Plan of equal stages on equal devices is in the short form, its model and its software: all keys, defaults
/// too.
[[nodiscard]] std::variant<Settings, Inexpressible> settings_of_plan(const Plan& plan, const Cluster& cluster,
                                                                     const Workload& workload,
                                                                     const Architecture& model);

/// `model.*` of an architecture; sizes that do not matter are left out.
void add_model(const Architecture& model, Settings& settings);

/// Devices in the order of the framework's ranks: tensor, context, data (shard inside), pipeline, fastest first; with
/// `pipeline_before_data` the last two change places.
[[nodiscard]] std::vector<DeviceId> devices_by_rank(const Plan& plan, bool pipeline_before_data);
/// The rank file, and the devices of one.
[[nodiscard]] std::string rank_file(const std::vector<DeviceId>& devices, const Settings& settings,
                                    const Cluster& cluster);
[[nodiscard]] std::vector<std::string> devices_in_rank_file(const std::string& text, const std::string& file,
                                                            Diagnostics& diagnostics);

/// Switches of a software by the scenario's names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> switches_of(const Software& software);

}  // namespace trainyard::launch
