// One published figure with the configuration that it was measured on.
#pragma once

#include <optional>
#include <string>

namespace trainyard {

/// What a published memory figure counts.
enum class MemoryKind {
  allocated,  ///< tensors of the framework, without context, communicators and the allocator's slack
  last_stage, ///< the same, on the last stage of the pipeline: the rank that logs
  device      ///< everything that the device holds, as its driver says
};

struct Measurement {
  std::string id;        ///< unique in its file
  std::string source;    ///< name of the mapping, e.g. "bridge"
  std::string file;      ///< table it was read from
  std::string citation;  ///< where the figure was published
  std::string gpu, model;
  int gpus = 0;
  std::string group;  ///< equal for near-copies of one job; whole groups are calibrate or test

  std::optional<double> step_time_s, peak_memory_bytes;
  std::optional<bool> out_of_memory;
  MemoryKind memory_kind = MemoryKind::allocated;

  std::string cluster, workload, plan;  ///< YAML in one line each; empty when `unmapped` says why
  std::string unmapped;
};

/// "calibrate" or "test": parameters may be fitted on the first only. By a hash of the group.
[[nodiscard]] std::string split_of(const Measurement& measurement);

}  // namespace trainyard
