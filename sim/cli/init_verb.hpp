// `trainyard init`: a scenario to start from.
#pragma once

#include <string>

#include "sim/scenario/starter.hpp"

namespace trainyard {

/// A commented scenario that loads as it stands: a Plan of one's own that the cluster or the model does not take is
/// left a comment. Throws UserError with the first mistake where nothing helps.
[[nodiscard]] std::string init_text(const StarterOptions& options);

}  // namespace trainyard
