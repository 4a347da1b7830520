#include "sim/cli/exit_status.hpp"

#include <algorithm>

namespace trainyard {
namespace {

bool same_variant(const CaseResult& a, const CaseResult& b) {
  return a.scenario == b.scenario && a.variant == b.variant;
}

/// Whether a variant has cases and none of them is ok.
bool nothing_fits(const std::vector<CaseResult>& results) {
  const auto ok = [](const CaseResult& r) { return r.status == CaseStatus::ok; };
  for (auto first = results.begin(); first != results.end();) {
    const auto last =
        std::find_if_not(first, results.end(), [&](const CaseResult& r) { return same_variant(*first, r); });
    if (std::none_of(first, last, ok)) return true;
    first = last;
  }
  return false;
}

}  // namespace

int status_of(const std::vector<CaseResult>& results) {
  const auto failed = [](const CaseResult& r) { return r.status == CaseStatus::error && !r.user_error; };
  const auto wrong_input = [](const CaseResult& r) { return r.status == CaseStatus::error && r.user_error; };
  if (std::any_of(results.begin(), results.end(), failed)) return exit_status::kCaseFailed;
  if (std::any_of(results.begin(), results.end(), wrong_input)) return exit_status::kWrongInput;
  return nothing_fits(results) ? exit_status::kNothingFits : exit_status::kDone;
}

}  // namespace trainyard
