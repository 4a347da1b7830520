#include "sim/lowering/sized_work.hpp"

#include <algorithm>

namespace trainyard {

SizedWorks::SizedWorks(const StageRole& role, const std::function<SizedWork(const StageRole&)>& measure) {
  for (int m = 0; m < (role.sizes.empty() ? 1 : role.micro_batches); ++m) {
    const EqualSequences size = role.sizes.empty() ? EqualSequences{} : role.sizes[std::size_t(m)];
    const StageRole own = role.in(m);
    const auto known = std::ranges::find_if(all_, [&](const SizedWork& work) { return work.size == size && work.exchanged == own.exchanged; });
    of_.push_back(int(known - all_.begin()));
    if (known != all_.end()) continue;
    all_.push_back(measure(own));
    all_.back().size = size;
    all_.back().exchanged = own.exchanged;
  }
}

Flops SizedWorks::recomputed(int micro_batches) const {
  if (of_.size() == 1) return all_[0].work.recomputed * double(micro_batches);
  Flops sum{};
  for (int m = 0; m < micro_batches; ++m) sum += of(m).work.recomputed;
  return sum;
}

}  // namespace trainyard
