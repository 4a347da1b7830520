#include "sim/cli/exit_status.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

namespace {

CaseResult a_case(const std::string& variant, CaseStatus status, bool user_error = false) {
  CaseResult result;
  result.variant = variant;
  result.status = status;
  result.user_error = user_error;
  return result;
}

const CaseResult kOk = a_case("v", CaseStatus::ok), kInfeasible = a_case("v", CaseStatus::infeasible),
                 kFailed = a_case("v", CaseStatus::error), kWrong = a_case("v", CaseStatus::error, true);

}  // namespace

TEST_CASE("the exit status of several cases is the most severe") {
  CHECK(status_of({}) == 0);
  CHECK(status_of({kOk, kOk}) == 0);
  CHECK(status_of({kOk, kInfeasible}) == 0);  // one strategy found a plan
  CHECK(status_of({kInfeasible, kInfeasible}) == 3);
  CHECK(status_of({kOk, kInfeasible, kFailed}) == 4);
  CHECK(status_of({kOk, kWrong}) == 2);
  CHECK(status_of({kWrong, kFailed}) == 4);
}

TEST_CASE("a variant for which nothing fits counts though another has a plan") {
  CHECK(status_of({kOk, a_case("w", CaseStatus::infeasible)}) == 3);
  CHECK(status_of({a_case("w", CaseStatus::infeasible), kOk}) == 3);
}
