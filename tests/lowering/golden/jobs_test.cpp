// A picture of two jobs that meet on the fabric.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/gantt.hpp"
#include "tests/lowering/golden/picture_file.hpp"
#include "tests/lowering/run_jobs.hpp"
#include "tests/lowering/run_plan.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

TEST_CASE("picture: two_jobs") {
  const Cluster cluster = make_cluster({.nodes = 4, .nodes_per_leaf = 2, .oversubscription = 2});
  std::vector<Job> jobs{job_on({0, 2}, {.layers = 1, .parameters = 30e6}, cluster), job_on({1, 3}, {.layers = 2, .parameters = 7.5e6}, cluster)};
  for (Job& job : jobs) {
    job.workload.software.gradient_reduce_type = DataType::fp16;  // a ring of two moves 2 bytes a parameter, at 10 GB/s
    CHECK(near(run_plan(job.plan, job.workload, job.share.cluster, {}, 1).report.step_time, 9_ms));
  }
  const Together both = run_together(jobs, 1);
  CHECK(near(both.timeline.makespan, 12_ms));
  check_picture("two_jobs", gantt(both.composed.graph, both.timeline));
}
