// A small cluster and workload made by hand, and Plans from text.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard::test {

/// `count` nodes of `gpus` GPUs of one type, with a cpu, an ssd and a nic each.
struct Group {
  std::string name, type;
  int count = 1, gpus = 8;
};
Cluster cluster_of(const std::vector<Group>& groups);
/// Embedding, `layers` decoder layers with 32 heads (8 key-value heads), head; one pass "train"; fp16.
Workload workload_of(int layers, double global_batch);

struct ReadPlan {
  SymbolicPlan plan;
  std::string errors;  ///< one line a mistake: `line:column: path: message`
};
ReadPlan read_text(const std::string& yaml);
/// Reads and requires that there is no mistake.
SymbolicPlan symbolic(const std::string& yaml);

struct ResolvedPlan {
  Plan plan;
  std::string errors;
};
ResolvedPlan resolve_text(const std::string& yaml, const Cluster& cluster, const Workload& workload);
/// Requires that there is no mistake.
Plan plan_of(const std::string& yaml, const Cluster& cluster, const Workload& workload);

/// What Plan::check says, one line each.
std::string checked(const std::string& yaml, const Cluster& cluster, const Workload& workload);

/// The documents of tests/plan/examples.yaml.
std::vector<ConfigValue> examples();

std::vector<DeviceId> devices(int first, int count, int step = 1);
std::vector<LayerId> layers(int first, int last);

}  // namespace trainyard::test
