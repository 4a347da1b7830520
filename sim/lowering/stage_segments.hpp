// The layers of a stage cut into runs that one chain of tasks works on.
#pragma once

#include <vector>

#include "sim/lowering/emission.hpp"

namespace trainyard {

/// Layers [from, to) of a stage, as positions in StageRole::layers, and the layer run whose bucket they belong to (-1: none).
struct Segment {
  std::size_t from = 0, to = 0;
  int run = -1;
};

class StageSegments {
 public:
  StageSegments(const Emission& emission, int cell, const StageRole& role);

  /// Whether every layer's pass is a chain of its own.
  [[nodiscard]] bool by_layer() const { return role_.shards > 1 || role_.leaves_device(); }
  /// The chunk as one segment, one a bucket, or one a layer.
  [[nodiscard]] std::vector<Segment> of(int chunk, bool by_bucket) const;

 private:
  void cut_by_bucket();

  const Emission& emission_;
  int cell_;
  const StageRole& role_;
  std::vector<Segment> chunks_, buckets_;
};

}  // namespace trainyard
