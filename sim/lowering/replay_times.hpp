// How long a node of a trace computes on a device of the cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/execution_trace.hpp"

namespace trainyard {

/// Times of computing, and how many nodes each rule was used for.
class ReplayClock {
 public:
  explicit ReplayClock(const TraceReplay& replay) : replay_(replay) {}

  /// recorded: as it is. scaled: times the ratio of peaks for products, of memory bandwidths for everything else.
  /// model: the cost model's time of the product and of the bytes, the longer of the two, where the node has any; else
  /// as recorded. A slower device's factor comes on top of the last two.
  [[nodiscard]] Seconds time_of(const TraceNode& node, const RankTrace& file, const Device& device,
                                const DeviceType& type);
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  [[nodiscard]] Seconds scaled(const TraceNode& node, const DeviceType& type) const;
  [[nodiscard]] std::optional<Seconds> modelled(const TraceNode& node, const RankTrace& file,
                                                const DeviceType& type) const;

  const TraceReplay& replay_;
  std::int64_t products_ = 0, others_ = 0, modelled_ = 0, kept_ = 0, unknown_ = 0;
};

}  // namespace trainyard
