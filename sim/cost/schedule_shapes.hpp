// Schedules that are given as a fixed sequence of phases rather than by a bound on what is held.
#pragma once

#include "sim/cost/schedule.hpp"

namespace trainyard {

/// zb_v: the stage holds chunk i on the way there and chunk 2p - 1 - i on the way back.
[[nodiscard]] StageOrder v_shaped_order(const StagePosition& at);

/// dualpipe: this stage's share of what its device does for both directions, by turn. Needs an even number of stages p and at least p
/// micro-batches in each direction.
[[nodiscard]] StageOrder bidirectional_order(const StagePosition& at);

/// colocated: the first stage works on the devices of all others. All its forward passes, then 1f1b over the others, then its backward passes.
/// Source: Megatron-LM, models/mimo/colocated_schedule.py (three phases), arXiv 2605.27678.
[[nodiscard]] StageOrder encoder_first_order(const StagePosition& at);

}  // namespace trainyard
