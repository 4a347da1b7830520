// What papers claim for their systems, beside the same ratio simulated.
#pragma once

#include <optional>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/workers.hpp"

namespace trainyard {

/// What a ratio compares: samples a second (over a horizon: those that last), the time of bubbles (the slower's over the faster's), samples a
/// dollar over a horizon, or the mean time of a change of Plan (the slower's over the faster's).
enum class ClaimMeasure { rate, idle_time, samples_per_usd, recovery };

/// One system against another in one scenario, by samples a second or by the time that GPUs wait for each other.
struct Claim {
  std::string file, system, claim, paper;
  std::string trust;                     ///< where the number was read: abstract, code, ..
  double ratio = 0;                      ///< published: the faster over the slower
  bool up_to = false;                    ///< the largest of several cases
  bool known_setup = false;              ///< else the scenario only stands for the paper's, and only the order is compared
  std::string scenario;                  ///< file
  std::string faster, slower;            ///< entries of `strategies:`
  ClaimMeasure measure = ClaimMeasure::rate;
  std::vector<std::string> faster_with, slower_with;  ///< KEY=VALUE of the scenario that only one side has
  std::vector<std::string> open;         ///< what the paper's set-up leaves open, or is otherwise here
};

/// A ratio holds within a factor of 1.25 of the published one, even one that was reached "up to"; the direction is the same where the first
/// is faster by more than 2 %. Where the set-up is not known only the direction is judged.
enum class Verdict { holds, same_direction, contradicted, not_simulated };
[[nodiscard]] const char* name(Verdict verdict);

struct ClaimOutcome {
  std::optional<double> ratio;           ///< simulated
  std::string why_not;                   ///< without a ratio
  Verdict verdict = Verdict::not_simulated;
};

[[nodiscard]] Verdict verdict_on(const Claim& claim, double simulated);

/// Claims of one file, or of a folder's *.yaml in order of their names. UserError with every mistake.
[[nodiscard]] Claim read_claim(const std::string& file);
[[nodiscard]] std::vector<Claim> read_claims(const std::string& folder);
[[nodiscard]] std::string default_claims();

/// In the order of `claims`. A side without a Plan makes its claim `not_simulated`, with the reason.
[[nodiscard]] std::vector<ClaimOutcome> simulate_claims(const std::vector<Claim>& claims, int jobs, const WorkerNursery& nursery,
                                                        const std::function<void(std::size_t done, std::size_t all)>& progress = {});

[[nodiscard]] std::string claims_table(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes);
[[nodiscard]] std::string claims_json(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes);
[[nodiscard]] std::string claims_csv(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes);

}  // namespace trainyard
