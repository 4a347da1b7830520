#include "tests/lowering/run_jobs.hpp"

#include <algorithm>

#include "sim/lowering/step_report.hpp"
#include "tests/reference/reference_executor.hpp"

namespace trainyard::toy {
namespace {

std::vector<LinkId> in_whole(const Job& job) {
  std::vector<LinkId> links = links_used(job.plan, job.workload, Router(job.share.cluster));
  for (LinkId& link : links) link = job.share.links[index(link)];
  return links;
}

std::vector<LinkId> in_share(const ClusterShare& share, const std::vector<LinkId>& links) {
  std::vector<LinkId> own;
  for (std::size_t i = 0; i < share.links.size(); ++i)
    if (std::ranges::find(links, share.links[i]) != links.end()) own.push_back(id_at<LinkId>(i));
  return own;
}

}  // namespace

Job job_on(const std::vector<int>& nodes, const WorkloadShape& shape, const Cluster& cluster) {
  std::vector<bool> chosen(cluster.nodes.size(), false);
  for (const int node : nodes) chosen[std::size_t(node)] = true;
  Job job{share_of(cluster, chosen), make_workload(shape), {}};
  job.workload.global_batch = double(nodes.size());
  job.plan = make_plan({.data = int(nodes.size())}, job.share.cluster, job.workload);
  return job;
}

Seconds Together::step(std::size_t job) const {
  return step_times(lowered[job].graph, composed.part_of(timeline, job)).last(2).step_time();
}

Together run_together(const std::vector<Job>& jobs, int steps, bool symmetry, Executor* executor) {
  std::vector<std::vector<LinkId>> links;
  for (const Job& job : jobs) links.push_back(in_whole(job));
  const std::vector<LinkId> common = links_in_common(links);
  Together all;
  for (const Job& job : jobs) {
    const LoweringOptions options{.symmetry = symmetry, .full_detail = false, .jitter = {}, .apart = in_share(job.share, common)};
    all.lowered.push_back(lower(job.plan, job.workload, job.share.cluster, Router(job.share.cluster), options));
  }
  std::vector<JobSteps> parts;
  for (std::size_t j = 0; j < jobs.size(); ++j) parts.push_back({&all.lowered[j], jobs[j].share.links, steps});
  all.composed = compose(parts);
  ReferenceExecutor reference;
  RunOn controller;
  all.timeline = (executor != nullptr ? *executor : reference).run(all.composed.graph, all.composed.events, controller);
  return all;
}

}  // namespace trainyard::toy
