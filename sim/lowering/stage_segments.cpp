#include "sim/lowering/stage_segments.hpp"

#include <algorithm>

namespace trainyard {

StageSegments::StageSegments(const Emission& emission, int cell, const StageRole& role) : emission_(emission), cell_(cell), role_(role) {
  for (std::size_t c = 0; c < role.chunks.size(); ++c) chunks_.push_back({role.first_of(int(c)), role.first_of(int(c)) + role.chunks[c].size()});
  cut_by_bucket();
}

std::vector<Segment> StageSegments::of(int chunk, bool by_bucket) const {
  const Segment& whole = chunks_[chunk];
  std::vector<Segment> own;
  if (by_layer()) {
    for (std::size_t i = whole.from; i < whole.to; ++i) own.push_back({i, i + 1, -1});
    return own;
  }
  if (!by_bucket) return {whole};
  for (const Segment& segment : buckets_)
    if (segment.from >= whole.from && segment.to <= whole.to) own.push_back(segment);
  return own;
}

/// Layers that no other cell holds join what stands before them.
void StageSegments::cut_by_bucket() {
  std::vector<int> bucket_of(role_.layers.size(), -1);
  for (std::size_t b = 0; b < emission_.buckets.size(); ++b)
    for (const LayerId layer : emission_.buckets[b].layers) {
      const auto at = std::ranges::find(role_.layers, layer);
      if (at != role_.layers.end() && emission_.traffic.runs[emission_.buckets[b].run].held_by(cell_)) bucket_of[at - role_.layers.begin()] = int(b);
    }
  for (std::size_t i = 0; i < bucket_of.size(); ++i) {
    const bool new_chunk = std::ranges::any_of(chunks_, [&](const Segment& chunk) { return chunk.from == i; });
    if (new_chunk || bucket_of[i] != bucket_of[i - 1])
      buckets_.push_back({i, i, bucket_of[i] < 0 ? -1 : emission_.buckets[bucket_of[i]].run});
    buckets_.back().to = i + 1;
  }
}

}  // namespace trainyard
