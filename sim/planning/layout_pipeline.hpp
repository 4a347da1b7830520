// Pipelines of stages whose layers have layouts of their own: what Galvatron and Galvatron-BMW share.
#pragma once

#include <optional>
#include <vector>

#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_layouts.hpp"

namespace trainyard {

/// Equal groups of neighbouring GPUs in order, one a stage.
struct LayoutPipeline {
  int stages = 1, micro_batch = 1;
  double memory_share = 1;
  std::vector<int> bounds;               ///< stage s holds layers [bounds[s], bounds[s + 1])
};

struct PricedPipeline {
  std::vector<LayoutAnswer> stages;
  std::vector<Seconds> times;            ///< [stage] of a micro-batch, with its transfer
  Seconds step{};                        ///< sum + (micro-batches - 1) · slowest + the longest exposed exchange
};

class LayoutPipelines {
 public:
  LayoutPipelines(const PlanningContext& context, const Router& router, std::vector<RecomputeKind> recomputes);

  /// Stages that divide the GPUs and micro-batch sizes that divide the batch, up to eight samples a GPU.
  [[nodiscard]] std::vector<LayoutPipeline> shapes() const;
  /// The numbered layers in equal runs, the first with what stands before them, the last with what follows.
  [[nodiscard]] std::vector<int> even_bounds(int stages) const;
  /// Nothing where a stage fits no layouts.
  [[nodiscard]] std::optional<PricedPipeline> price(const LayoutPipeline& pipeline, Budget& budget);
  void add_to(Finalists& finalists, const LayoutPipeline& pipeline, const PricedPipeline& priced) const;
  [[nodiscard]] LayoutSearch& search() { return search_; }
  [[nodiscard]] std::vector<DeviceId> devices_of(const LayoutPipeline& pipeline, int stage) const;

 private:
  [[nodiscard]] int micro_batches(const LayoutPipeline& pipeline) const;
  [[nodiscard]] Plan plan(const LayoutPipeline& pipeline, const PricedPipeline& priced) const;

  const PlanningContext& context_;
  const Router& router_;
  LayoutSearch search_;
  std::vector<DeviceId> gpus_;
};

}  // namespace trainyard
