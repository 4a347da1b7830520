// Parts of a page's document: what its charts draw, small enough to send by mail.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/model/case_result.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// What one page may hold of timelines. Beyond `spans`, neighbours on a stream are drawn as one.
struct PageBudget {
  std::size_t spans = 12'000;  ///< of one case
  std::size_t points = 240;    ///< of a course over time
  std::size_t devices = 12;    ///< kinds of devices whose memory is shown, the fullest first
  std::size_t links = 12;      ///< the busiest
};

/// The last simulated step: what every stream of one device of each class does, bytes held, links' loads. Times in
/// whole microseconds from the step's start.
[[nodiscard]] nlohmann::ordered_json step_view(const StepTrace& trace, const PageBudget& budget);

/// Nodes and the switches between them in tiers. Those that are in the same place (the coarsest partition in which
/// equal ones send as much to every class) are one point with a count; a line says what one of the lower point sends
/// up.
[[nodiscard]] nlohmann::ordered_json topology_view(const Cluster& cluster);

/// Nodes, goodput and cost over the horizon in columns, as means over `points` equal parts where there are more
/// entries.
[[nodiscard]] nlohmann::ordered_json job_view(const nlohmann::ordered_json& record, std::size_t points);

}  // namespace trainyard
