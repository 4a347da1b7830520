// Two jobs on one fabric, against closed forms.
#include <catch2/catch.hpp>

#include "sim/engine/simgrid_executor.hpp"
#include "tests/lowering/run_jobs.hpp"
#include "tests/lowering/run_plan.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// Leaves of two nodes; over-subscribed, an up-link carries what one NIC does: 10 GB/s.
Cluster leaves(int nodes, double oversubscription) {
  return make_cluster({.nodes = nodes, .nodes_per_leaf = 2, .oversubscription = oversubscription});
}

}  // namespace

TEST_CASE("two jobs whose all-reduces meet on one up-link take twice as long for them, and on full bisection not") {
  const bool full = GENERATE(false, true);
  const Cluster cluster = leaves(4, full ? 1 : 2);
  // 8 M parameters in fp32 on a ring of two: 32 MB, 3.2 ms at 10 GB/s.
  const WorkloadShape shape{.layers = 1, .parameters = 8e6};
  const std::vector<Job> jobs{job_on({0, 2}, shape, cluster), job_on({1, 3}, shape, cluster)};
  SimGridExecutor executor;
  const Together both = run_together(jobs, 4, true, full ? nullptr : &executor);
  const Seconds alone = run_plan(jobs[0].plan, jobs[0].workload, jobs[0].share.cluster).report.step_time;
  CHECK(near(alone, 6.2_ms));
  for (const std::size_t job : {0, 1}) CHECK(near(both.step(job), full ? alone : 9.4_ms));
  CHECK(near((both.step(0) - 3_ms) / (alone - 3_ms) * 1_s, (full ? 1.0 : 2.0) * 1_s));
}

TEST_CASE("jobs that share no link have nothing to do with each other") {
  const Cluster cluster = leaves(4, 2);
  const WorkloadShape shape{.layers = 1, .parameters = 8e6};
  const std::vector<Job> jobs{job_on({0, 1}, shape, cluster), job_on({2, 3}, shape, cluster)};
  const Together both = run_together(jobs, 4);
  CHECK(near(both.step(0), 6.2_ms));
  CHECK(both.lowered[0].graph.channels.empty());  // limits of their paths suffice
}

TEST_CASE("a job that leaves the network alone does not slow one that needs it") {
  const Cluster cluster = leaves(4, 2);
  const std::vector<Job> jobs{job_on({0, 2}, {.layers = 1, .parameters = 8e6}, cluster), job_on({1, 3}, {.layers = 5, .parameters = 0}, cluster)};
  const Together both = run_together(jobs, 4);
  CHECK(near(both.step(0), 6.2_ms));
  CHECK(near(both.step(1), 15_ms));
}

TEST_CASE("jobs reduced by symmetry and device by device agree") {
  const Cluster cluster = leaves(8, 3);
  const std::vector<Job> jobs{job_on({0, 2, 4, 6}, {.layers = 3, .parameters = 8e6}, cluster),
                              job_on({1, 3, 5}, {.layers = 2, .parameters = 5e6}, cluster)};
  const Together reduced = run_together(jobs, 4, true), full = run_together(jobs, 4, false);
  REQUIRE(reduced.composed.graph.processors.size() < full.composed.graph.processors.size());
  for (const std::size_t job : {0, 1}) CHECK(near(reduced.step(job), full.step(job)));
}

TEST_CASE("a composed graph is in order, and each job finds its own tasks in it") {
  const Cluster cluster = leaves(4, 2);
  const std::vector<Job> jobs{job_on({0, 2}, {.layers = 1, .parameters = 8e6}, cluster), job_on({1, 3}, {.layers = 2, .parameters = 8e6}, cluster)};
  const Together both = run_together(jobs, 4);
  CHECK(problems(both.composed.graph).empty());
  CHECK(both.composed.graph.channels.size() == 4);  // two leaves, up and down
  for (const std::size_t job : {0, 1}) {
    const TaskGraph own = unroll(both.lowered[job].graph, 4);
    const ComposedJobs::Part part = both.composed.parts[job];
    REQUIRE(part.tasks == own.tasks.size());
    for (std::size_t i = 0; i < part.tasks; ++i) CHECK(both.composed.graph.tasks[part.first + i].label == own.tasks[i].label);
  }
}

TEST_CASE("a link that changes is changed for both jobs, once") {
  Cluster cluster = leaves(4, 2);
  for (std::size_t i = 0; i < cluster.links.size(); ++i)
    if (cluster.links[i].name.starts_with("leaf")) cluster.events.push_back({1_ms, LinkChange{id_at<LinkId>(i), 0.5}});
  const WorkloadShape shape{.layers = 1, .parameters = 8e6};
  const std::vector<Job> jobs{job_on({0, 2}, shape, cluster), job_on({1, 3}, shape, cluster)};
  const Together both = run_together(jobs, 4);
  CHECK(both.composed.events.size() == 4);
  CHECK(near(both.step(0), 3_ms + 12.8_ms));
}

TEST_CASE("a share keeps its nodes, the fabric between them and nobody else's devices") {
  Cluster whole = leaves(4, 2);
  whole.events = {{1_s, DeviceFailure{whole.nodes[1].devices[0]}}, {2_s, DeviceFailure{whole.nodes[3].devices[0]}}};
  const ClusterShare share = share_of(whole, {false, true, false, true});
  REQUIRE(share.cluster.nodes.size() == 2);
  CHECK(share.cluster.gpus().size() == 2);
  CHECK(share.cluster.devices[0].name == "n.1.0");
  CHECK(share.links.size() == whole.links.size() / 2 + 2);  // half of the nodes' links, and both leaves'
  for (std::size_t i = 0; i < share.links.size(); ++i) CHECK(share.cluster.links[i].name == whole.links[index(share.links[i])].name);
  REQUIRE(share.cluster.events.size() == 2);
  CHECK(std::get<DeviceFailure>(share.cluster.events[1].what).device == share.cluster.nodes[1].devices[0]);
}
