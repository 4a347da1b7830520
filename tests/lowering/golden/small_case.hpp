// What most pictures need: a Plan run for a step or two, and its settings at hand.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/lowering/golden/gantt.hpp"
#include "tests/lowering/golden/picture_file.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

namespace trainyard::golden {

struct SmallCase {
  Cluster cluster;
  Workload workload;
  Plan plan;

  SmallCase(const toy::ClusterShape& nodes, const toy::WorkloadShape& model, const toy::PlanShape& shape)
      : cluster(toy::make_cluster(nodes)),
        workload(toy::make_workload(model)),
        plan(toy::make_plan(shape, cluster, workload)) {}

  Part& part() { return plan.phases[0].parts[0]; }
  Settings& settings(int stage = 0) { return part().stages[stage].rules[0].settings; }
  /// Every kernel and collective a task of its own with `full_detail`.
  toy::RunResult run(bool full_detail = false, int steps = 1) const {
    CHECK(plan.check(cluster, workload) == std::vector<std::string>{});
    return toy::run_plan(plan, workload, cluster, {.symmetry = true, .full_detail = full_detail}, steps);
  }
};

/// Compares the picture of a run with the kept one.
inline void check_picture(const std::string& name, const toy::RunResult& run) {
  check_picture(name, gantt(run.unrolled, run.timeline));
}

}  // namespace trainyard::golden
