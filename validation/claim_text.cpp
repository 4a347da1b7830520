// Claims and their verdicts as a table, JSON and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "validation/claim.hpp"

namespace trainyard {
namespace {

std::string published(const Claim& claim) { return fmt::format("{}{:.2f}", claim.up_to ? "up to " : "", claim.ratio); }
std::string simulated(const ClaimOutcome& outcome) { return outcome.ratio ? fmt::format("{:.2f}", *outcome.ratio) : "-"; }
const char* setup(const Claim& claim) { return claim.known_setup ? "known" : "stand-in"; }

std::string quoted(const std::string& text) {
  std::string inside;
  for (const char c : text) inside += c == '"' ? "\"\"" : std::string(1, c);
  return '"' + inside + '"';
}

}  // namespace

std::string claims_table(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes) {
  std::string text = fmt::format("  {:<12}{:>12}{:>11}   {:<10}{:<16}{}\n", "system", "published", "simulated", "set-up", "verdict", "against");
  for (std::size_t i = 0; i < claims.size(); ++i)
    text += fmt::format("  {:<12}{:>12}{:>11}   {:<10}{:<16}{}\n", claims[i].system, published(claims[i]), simulated(outcomes[i]), setup(claims[i]),
                        name(outcomes[i].verdict), claims[i].slower);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    text += fmt::format("\n  {}: {} ({}; {})\n", claims[i].system, claims[i].claim, claims[i].paper, claims[i].trust);
    if (!outcomes[i].why_not.empty()) text += fmt::format("    not simulated: {}\n", outcomes[i].why_not);
    for (const std::string& point : claims[i].open) text += fmt::format("    open: {}\n", point);
  }
  return text;
}

std::string claims_json(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    nlohmann::ordered_json row{{"system", claim.system}, {"claim", claim.claim},   {"paper", claim.paper},       {"trust", claim.trust},
                               {"published", claim.ratio}, {"up_to", claim.up_to}, {"setup", setup(claim)}, {"scenario", claim.scenario},
                               {"faster", claim.faster}, {"slower", claim.slower}};
    row["simulated"] = outcomes[i].ratio ? nlohmann::ordered_json(*outcomes[i].ratio) : nlohmann::ordered_json(nullptr);
    row["verdict"] = name(outcomes[i].verdict);
    row["reason"] = outcomes[i].why_not;
    row["open"] = claim.open;
    rows.push_back(std::move(row));
  }
  return nlohmann::ordered_json{{"schema", "trainyard/claims/1"}, {"claims", rows}}.dump(2) + "\n";
}

std::string claims_csv(const std::vector<Claim>& claims, const std::vector<ClaimOutcome>& outcomes) {
  std::string text = "system,published,up_to,simulated,setup,verdict,slower,paper\n";
  for (std::size_t i = 0; i < claims.size(); ++i)
    text += fmt::format("{},{},{},{},{},{},{},{}\n", quoted(claims[i].system), claims[i].ratio, claims[i].up_to,
                        outcomes[i].ratio ? fmt::format("{:.6g}", *outcomes[i].ratio) : "", setup(claims[i]), name(outcomes[i].verdict),
                        quoted(claims[i].slower), quoted(claims[i].paper));
  return text;
}

}  // namespace trainyard
