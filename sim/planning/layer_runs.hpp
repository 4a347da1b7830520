// Runs of neighbouring layers, for planners that try every cut: sums and maxima in constant time (but `transient`, which looks at each).
#pragma once

#include <vector>

#include "sim/planning/layer_costs.hpp"

namespace trainyard {

/// All of [first, last), one micro-batch.
class LayerRuns {
 public:
  LayerRuns() = default;
  explicit LayerRuns(const std::vector<LayerCost>& layers);

  [[nodiscard]] int layers() const { return int(output_.size()); }
  [[nodiscard]] Seconds forward(int first, int last) const { return forward_[last] - forward_[first]; }
  [[nodiscard]] Seconds backward(int first, int last) const { return backward_[last] - backward_[first]; }
  [[nodiscard]] Seconds time(int first, int last) const { return forward(first, last) + backward(first, last); }
  [[nodiscard]] Bytes states(int first, int last) const { return states_[last] - states_[first]; }
  [[nodiscard]] Bytes optimizer(int first, int last) const { return optimizer_[last] - optimizer_[first]; }
  [[nodiscard]] Bytes kept(int first, int last) const { return kept_[last] - kept_[first]; }
  [[nodiscard]] Bytes gradients(int first, int last) const { return gradients_[last] - gradients_[first]; }
  [[nodiscard]] Bytes weights(int first, int last) const { return weights_[last] - weights_[first]; }
  /// Most that one of them adds while its backward pass runs.
  [[nodiscard]] Bytes transient(int first, int last) const;
  /// Of layer `last` - 1.
  [[nodiscard]] Bytes output(int last) const { return output_[last - 1]; }
  /// Held by a device that keeps `in_flight` micro-batches and shares the optimizer's states with `holders` - 1 others (ZeRO 1).
  [[nodiscard]] Bytes held(int first, int last, int in_flight, int holders = 1) const {
    return states(first, last) - optimizer(first, last) * (1 - 1.0 / holders) + kept(first, last) * double(in_flight) + transient(first, last);
  }
  /// What a micro-batch of every layer needs of the slower of two devices in lock step.
  void keep_slower(const LayerRuns& other);

 private:
  void sum(const std::vector<LayerCost>& layers);
  std::vector<LayerCost> each_;
  std::vector<Seconds> forward_, backward_;                   ///< [layers before]
  std::vector<Bytes> states_, optimizer_, kept_, gradients_, weights_;    ///< [layers before]
  std::vector<Bytes> output_;                                 ///< [layer]
};

}  // namespace trainyard
