// Requests and results as bytes, for the way between the program and its workers (same machine, same build).
#pragma once

#include <string>
#include <string_view>

#include "sim/engine/workers.hpp"

namespace trainyard {

[[nodiscard]] std::string encode(const SimulationRequest& request);
[[nodiscard]] std::string encode(const SimulationResult& result);

/// The inverse. InternalError if the bytes are cut short, go on too long or cannot be such a message.
[[nodiscard]] SimulationRequest decode_request(std::string_view bytes);
[[nodiscard]] SimulationResult decode_result(std::string_view bytes);

}  // namespace trainyard
