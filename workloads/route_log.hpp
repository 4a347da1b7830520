// Logs of which expert each token took.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct RouteLog {
  std::map<int, std::vector<double>> hits;   ///< [layer][expert]: how often it was taken
  std::string problem;                       ///< one line; "": none
};

/// One JSON object a line; those of type `route` have `layer` and `topk_ids` (moe_routes: vLLM with a logging patch). `skip_warm_up` leaves
/// out runs of 16 or more routes of a layer that all choose the same experts, as an engine's warm-up makes them.
[[nodiscard]] RouteLog read_route_log(std::string_view text, bool skip_warm_up);

}  // namespace trainyard
