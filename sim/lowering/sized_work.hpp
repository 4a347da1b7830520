// What the micro-batches of a cell take, where they differ: their work and their memory.
#pragma once

#include <functional>
#include <vector>

#include "sim/cost/stage_work.hpp"
#include "sim/lowering/cell_memory.hpp"

namespace trainyard {

/// Micro-batches of equal size share one.
struct SizedWork {
  EqualSequences size{};
  ExchangedRows exchanged{};
  StageWork work;
  CellMemory memory;                     ///< by devices as in Resources::cell_devices
};

class SizedWorks {
 public:
  /// `measure`: of the role as it is for one micro-batch.
  SizedWorks(const StageRole& role, const std::function<SizedWork(const StageRole&)>& measure);

  [[nodiscard]] const SizedWork& of(int micro_batch) const { return all_[std::size_t(of_.size() == 1 ? of_[0] : of_[std::size_t(micro_batch)])]; }
  [[nodiscard]] const std::vector<SizedWork>& all() const { return all_; }
  /// One micro-batch of each, all together.
  [[nodiscard]] Flops recomputed(int micro_batches) const;

 private:
  std::vector<SizedWork> all_;
  std::vector<int> of_;                  ///< [micro-batch]: index into `all_`; one for all where they are alike
};

}  // namespace trainyard
