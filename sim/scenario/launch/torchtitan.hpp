// torchtitan's table. Private to sim/scenario/launch.
#pragma once

#include "sim/scenario/launch/framework.hpp"

namespace trainyard::launch {

[[nodiscard]] const ArgumentTable& torchtitan_table();

}  // namespace trainyard::launch
