#include "sim/planning/layer_runs.hpp"

#include <algorithm>

namespace trainyard {
namespace {

template <class T>
std::vector<T> sums(const std::vector<LayerCost>& layers, T LayerCost::*what) {
  std::vector<T> before(1);
  for (const LayerCost& layer : layers) before.push_back(before.back() + layer.*what);
  return before;
}

}  // namespace

LayerRuns::LayerRuns(const std::vector<LayerCost>& layers) { sum(layers); }

void LayerRuns::sum(const std::vector<LayerCost>& layers) {
  forward_ = sums(layers, &LayerCost::forward);
  backward_ = sums(layers, &LayerCost::backward);
  states_ = sums(layers, &LayerCost::states);
  optimizer_ = sums(layers, &LayerCost::optimizer);
  kept_ = sums(layers, &LayerCost::kept);
  gradients_ = sums(layers, &LayerCost::gradients);
  weights_ = sums(layers, &LayerCost::weights);
  output_.clear();
  for (const LayerCost& layer : layers) output_.push_back(layer.output);
  each_ = layers;
}

Bytes LayerRuns::transient(int first, int last) const {
  Bytes most{};
  for (int layer = first; layer < last; ++layer) most = std::max(most, each_[layer].transient);
  return most;
}

void LayerRuns::keep_slower(const LayerRuns& other) {
  std::vector<LayerCost> slower = each_;
  for (std::size_t i = 0; i < slower.size(); ++i) {
    slower[i].forward = std::max(slower[i].forward, other.each_[i].forward);
    slower[i].backward = std::max(slower[i].backward, other.each_[i].backward);
    slower[i].kept = std::max(slower[i].kept, other.each_[i].kept);
    slower[i].transient = std::max(slower[i].transient, other.each_[i].transient);
  }
  sum(slower);
}

}  // namespace trainyard
