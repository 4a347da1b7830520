#include "sim/lowering/buckets.hpp"

#include <algorithm>
#include <limits>

#include "sim/cost/memory.hpp"

namespace trainyard {
namespace {

constexpr double kBucketParameters = 40e6;

void add_run(const Placement& placement, const LayerRun& run, int id, double least, std::vector<Bucket>& buckets) {
  const LayerCut& cut = placement.role(run.cells.front()).cut;
  Bucket open{id, {}, 0};
  for (auto layer = run.layers.rbegin(); layer != run.layers.rend(); ++layer) {
    open.layers.insert(open.layers.begin(), *layer);
    open.parameters += parameters_on_device(*placement.module, std::span(&*layer, 1), cut);
    if (open.parameters < least) continue;
    buckets.push_back(std::move(open));
    open = {id, {}, 0};
  }
  if (!open.layers.empty()) buckets.push_back(std::move(open));
}

}  // namespace

std::vector<Bucket> make_buckets(const Placement& placement, const TrafficMap& traffic, const Workload& workload) {
  std::vector<Bucket> buckets;
  const double least = workload.software.overlap_gradient_reduce ? kBucketParameters : std::numeric_limits<double>::infinity();
  for (int run = int(traffic.runs.size()) - 1; run >= 0; --run)
    if (traffic.runs[run].cells.size() > 1) add_run(placement, traffic.runs[run], run, least, buckets);
  return buckets;
}

}  // namespace trainyard
