#include "validation/claim.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/job/case.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/scenario_cases.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr double kHoldsWithin = 1.25, kFaster = 1.02;

Schema claim_schema() {
  using namespace schema;
  return object({required("system", text("name of the system")), required("claim", text("what the paper says, in one line")),
                 required("paper", text("citation")), required("trust", text("where the number was read")),
                 required("ratio", number(above(0, 1e6), "published rate of the faster over that of the slower")),
                 optional("of", choice({"rate", "idle_time", "samples_per_usd", "recovery"},
                                        "what is compared: samples a second, the time that GPUs wait for each other, longer over shorter, samples a dollar, or the mean time of a "
                                        "change of Plan, longer over shorter"), "rate"),
                 optional("faster_with", list(text("KEY=VALUE"), between(1, 20), "what the scenario says for the faster alone"), "[]"),
                 optional("slower_with", list(text("KEY=VALUE"), between(1, 20), "the same for the slower"), "[]"),
                 optional("up_to", boolean("the largest of several cases"), "false"),
                 required("setup", choice({"known", "stand_in"}, "whether the scenario is the paper's or only stands for it")),
                 required("scenario", text("FILE, from the folder of this one")),
                 required("faster", text("an entry of `strategies:`")), required("slower", text("another")),
                 required("open", list(text("one point"), between(0, 100), "what the set-up leaves open"))},
                "a paper's claim");
}

/// Rate of a case, or the reason why there is none.
struct Rate {
  double value = 0;
  std::string why_not;
};

ClaimMeasure measure_of(const std::string& word) {
  if (word == "idle_time") return ClaimMeasure::idle_time;
  if (word == "samples_per_usd") return ClaimMeasure::samples_per_usd;
  return word == "recovery" ? ClaimMeasure::recovery : ClaimMeasure::rate;
}

Rate rate_over_horizon(const CaseResult& result, ClaimMeasure measure) {
  const JobReport& job = *result.job;
  if (measure == ClaimMeasure::rate) return {job.samples / job.length.value, ""};
  if (measure == ClaimMeasure::idle_time) return {0, result.strategy + ": bubbles are those of one step, not of a horizon"};
  if (measure == ClaimMeasure::samples_per_usd && job.money.known) return {job.samples / job.money.total().value, ""};
  if (measure == ClaimMeasure::samples_per_usd) return {0, result.strategy + ": a node has no price"};
  if (job.times.reconfiguration.value <= 0) return {0, result.strategy + ": no change of Plan took time"};
  return {double(job.reconfigurations) / job.times.reconfiguration.value, ""};
}

Rate rate_of(const CaseResult& result, ClaimMeasure measure) {
  if (result.status != CaseStatus::ok) return {0, fmt::format("{}: {}", result.strategy, result.reason)};
  if (result.job) return rate_over_horizon(result, measure);
  if (measure == ClaimMeasure::samples_per_usd || measure == ClaimMeasure::recovery) return {0, result.strategy + ": its scenario has no horizon"};
  const bool of_idle_time = measure == ClaimMeasure::idle_time;
  if (of_idle_time && result.step.time.bubble <= Seconds(0)) return {0, result.strategy + ": no GPU waits for another"};
  if (of_idle_time) return {1 / result.step.time.bubble.value, ""};
  return {result.step.samples / result.step.step_time.value, ""};
}

std::vector<std::string> texts_of(const View& list) {
  std::vector<std::string> all;
  for (std::size_t i = 0; list && i < list.size(); ++i) all.push_back(list.at(i).text());
  return all;
}

using KeyValues = std::vector<std::pair<std::string, std::string>>;

KeyValues key_values(const Claim& claim, const std::vector<std::string>& with) {
  KeyValues settings;
  for (const std::string& one : with) {
    const std::size_t at = one.find('=');
    if (at == std::string::npos) throw UserError(fmt::format("{}: {:?} is not KEY=VALUE", claim.file, one));
    settings.emplace_back(one.substr(0, at), one.substr(at + 1));
  }
  return settings;
}

/// The sides of all claims: each is simulated once, and those of one scenario stand in it together.
class Sides {
 public:
  void add(const Claim& claim, const std::string& strategy, const std::vector<std::string>& with) {
    std::vector<std::string>& strategies = strategies_[{claim.scenario, key_values(claim, with)}];
    if (std::ranges::find(strategies, strategy) == strategies.end()) strategies.push_back(strategy);
  }

  [[nodiscard]] std::vector<Case> cases() {
    std::vector<Case> cases;
    for (const auto& [where, strategies] : strategies_) {
      KeyValues settings = where.second;
      settings.emplace_back("strategies", fmt::format("[{}]", fmt::join(strategies, ", ")));
      const Scenario& scenario = *scenarios_.emplace_back(std::make_unique<Scenario>(load_scenario_with(where.first, settings)));
      first_[where] = cases.size();
      for (const StrategyChoice& choice : scenario.strategies) cases.push_back(case_of(scenario, scenario.variants[0], choice));
    }
    return cases;
  }

  [[nodiscard]] std::size_t case_at(const Claim& claim, const std::string& strategy, const std::vector<std::string>& with) const {
    const Where where{claim.scenario, key_values(claim, with)};
    const std::vector<std::string>& strategies = strategies_.at(where);
    return first_.at(where) + std::size_t(std::ranges::find(strategies, strategy) - strategies.begin());
  }

 private:
  using Where = std::pair<std::string, KeyValues>;  ///< scenario file and what it says for this side
  std::map<Where, std::vector<std::string>> strategies_;
  std::map<Where, std::size_t> first_;   ///< case
  std::vector<std::unique_ptr<Scenario>> scenarios_;  ///< that cases refer to
};

ClaimOutcome outcome_of(const Claim& claim, const CaseResult& faster, const CaseResult& slower) {
  ClaimOutcome outcome;
  const Rate first = rate_of(faster, claim.measure), second = rate_of(slower, claim.measure);
  outcome.why_not = first.why_not.empty() ? second.why_not : first.why_not;
  if (!outcome.why_not.empty()) return outcome;
  outcome.ratio = first.value / second.value;
  outcome.verdict = verdict_on(claim, *outcome.ratio);
  return outcome;
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::same_direction:
      return "same direction";
    case Verdict::contradicted:
      return "contradicted";
    case Verdict::not_simulated:
      return "not simulated";
  }
  return "";
}

Verdict verdict_on(const Claim& claim, double simulated) {
  if (simulated <= kFaster) return Verdict::contradicted;
  const bool near = simulated <= claim.ratio * kHoldsWithin && simulated >= claim.ratio / kHoldsWithin;
  return claim.known_setup && near ? Verdict::holds : Verdict::same_direction;
}

Claim read_claim(const std::string& file) {
  Diagnostics diagnostics;
  const ConfigValue document = read_yaml_file(file, diagnostics);
  if (diagnostics.empty()) (void)check(document, claim_schema(), diagnostics);
  diagnostics.throw_if_any();
  const View view(document);
  Claim claim{file, view["system"].text(), view["claim"].text(), view["paper"].text(), view["trust"].text(), view["ratio"].number(),
              view["up_to"].boolean_or(false), view["setup"].text() == "known", "", view["faster"].text(), view["slower"].text(),
              measure_of(view["of"] ? view["of"].text() : "rate"), texts_of(view["faster_with"]), texts_of(view["slower_with"]), texts_of(view["open"])};
  claim.scenario = (fs::path(file).parent_path() / view["scenario"].text()).lexically_normal().string();
  return claim;
}

std::vector<Claim> read_claims(const std::string& folder) {
  if (!fs::is_directory(folder)) throw UserError(fmt::format("no folder {:?}", folder));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::ranges::sort(files);
  std::vector<Claim> claims;
  for (const std::string& file : files) claims.push_back(read_claim(file));
  if (claims.empty()) throw UserError(fmt::format("no claims in {:?}", folder));
  return claims;
}

std::string default_claims() { return TRAINYARD_SOURCE_FOLDER "/validation/claims"; }

std::vector<ClaimOutcome> simulate_claims(const std::vector<Claim>& claims, int jobs, const WorkerNursery& nursery,
                                          const std::function<void(std::size_t, std::size_t)>& progress) {
  Sides sides;
  for (const Claim& claim : claims) {
    sides.add(claim, claim.faster, claim.faster_with);
    sides.add(claim, claim.slower, claim.slower_with);
  }
  const std::vector<CaseResult> results = run_cases(sides.cases(), CaseOptions{}, jobs, nursery, progress);
  std::vector<ClaimOutcome> outcomes;
  for (const Claim& claim : claims)
    outcomes.push_back(outcome_of(claim, results[sides.case_at(claim, claim.faster, claim.faster_with)],
                                  results[sides.case_at(claim, claim.slower, claim.slower_with)]));
  return outcomes;
}

}  // namespace trainyard
