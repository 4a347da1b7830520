// Graphs of several jobs as one: each on devices of its own, meeting on the links that they share.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/lowering/lower.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// A lowered job and how many of its steps run in a row.
struct JobSteps {
  const Lowered* lowered = nullptr;
  std::span<const LinkId> links;         ///< [link of its cluster] the link of the whole cluster
  int steps = 1;
};

/// The jobs' steps in one graph: jobs never wait for each other.
struct ComposedJobs {
  /// Where a job's tasks lie in `graph`.
  struct Part {
    std::size_t first = 0, tasks = 0;
  };
  TaskGraph graph;
  EventTrace events;
  std::vector<Part> parts;               ///< [job]
  /// What happened to one job, by its own ids.
  [[nodiscard]] Timeline part_of(const Timeline& timeline, std::size_t job) const;
};

/// Channels of the same link of the whole become one. Every job must have been lowered with the links that others use as `apart`.
[[nodiscard]] ComposedJobs compose(std::span<const JobSteps> jobs);

/// Links that more than one of these jobs use, ascending.
[[nodiscard]] std::vector<LinkId> links_in_common(std::span<const std::vector<LinkId>> links_of_jobs);

}  // namespace trainyard
