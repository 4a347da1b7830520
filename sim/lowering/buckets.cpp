#include "sim/lowering/buckets.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/cost/memory.hpp"

namespace trainyard {
namespace {

constexpr double kBucketParameters = 40e6;

void add_run(const Placement& placement, const LayerRun& run, int id, double least, std::vector<Bucket>& buckets) {
  LayerCut cut = placement.role(run.cells.front()).cut;
  cut.tensor = run.slices(placement);
  Bucket open{id, {}, 0, 0};
  const auto close = [&] {
    if (open.parameters + open.experts > 0) buckets.push_back(std::move(open));
    open = {id, {}, 0, 0};
  };
  for (auto layer = run.layers.rbegin(); layer != run.layers.rend(); ++layer) {
    if (placement.role(run.cells.front()).home(*layer).gradients.place != Place::device) {  // added up in the host's memory
      close();
      continue;
    }
    open.layers.insert(open.layers.begin(), *layer);
    open.parameters += trained_dense_parameters(*placement.module, std::span(&*layer, 1), cut);
    open.experts += trained_expert_parameters(*placement.module, std::span(&*layer, 1), placement.role(run.cells.front()).cut);
    if (open.parameters + open.experts >= least) close();
  }
  close();
}

/// Fewest parameters of a bucket of a run; a Plan's settings are worked out once a stage and layer.
class LeastParameters {
 public:
  LeastParameters(const Placement& placement, const Workload& workload) : placement_(placement), workload_(workload) {}

  double of(const LayerRun& run) {
    const int cell = run.cells.front();
    const auto [known, is_new] = known_.try_emplace({placement_.cells[cell].stage, run.layers.front()});
    if (is_new) known->second = worked_out(cell, run.layers.front());
    return known->second;
  }

 private:
  [[nodiscard]] double worked_out(int cell, LayerId layer) const {
    const Settings settings = settings_of(placement_.part->stages[index(placement_.cells[cell].stage)], layer, workload_);
    if (settings.sync->bucket) return *settings.sync->bucket / element_size(placement_.role(cell).gradient_type(workload_.software));
    return workload_.software.overlap_gradient_reduce || settings.zero == 2 ? kBucketParameters : std::numeric_limits<double>::infinity();
  }

  const Placement& placement_;
  const Workload& workload_;
  std::map<std::pair<StageId, LayerId>, double> known_;
};

}  // namespace

std::vector<Bucket> make_buckets(const Placement& placement, const TrafficMap& traffic, const Workload& workload) {
  std::vector<Bucket> buckets;
  LeastParameters least(placement, workload);
  for (int run = int(traffic.runs.size()) - 1; run >= 0; --run)
    if (std::max(traffic.runs[run].holders(placement), traffic.runs[run].expert_holders(placement)) > 1 && placement.role(traffic.runs[run].cells.front()).zero < 3)
      add_run(placement, traffic.runs[run], run, least.of(traffic.runs[run]), buckets);
  return buckets;
}

}  // namespace trainyard
