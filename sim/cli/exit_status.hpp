// Exit statuses of the program (design.md §3).
#pragma once

#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

namespace exit_status {
inline constexpr int kDone = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kWrongInput = 2;
inline constexpr int kNothingFits = 3;
inline constexpr int kCaseFailed = 4;
inline constexpr int kBug = 70;
inline constexpr int kCannotWrite = 74;
inline constexpr int kInterrupted = 130;
}  // namespace exit_status

/// Of all cases: 4 if one ended in an error, else 2 if one met a mistake of the user, else 3 if for some variant of
/// some scenario no strategy found a plan that fits, else 0. The cases of one variant stand together.
[[nodiscard]] int status_of(const std::vector<CaseResult>& results);

}  // namespace trainyard
