// Papers' claims: how they are read, judged and printed.
#include "validation/claim.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/units/error.hpp"

using namespace trainyard;

namespace {

Claim claim_of(double ratio, bool known, bool up_to = false) {
  Claim claim;
  claim.system = "Mine";
  claim.claim = "fast";
  claim.paper = "a paper";
  claim.trust = "abstract";
  claim.ratio = ratio;
  claim.known_setup = known;
  claim.up_to = up_to;
  claim.slower = "megatron";
  claim.open = {"the cluster"};
  return claim;
}

/// A folder of its own with a claim and its scenario.
class Folder {
 public:
  explicit Folder(const std::string& claim) {
    std::string pattern = (std::filesystem::temp_directory_path() / "trainyard-claims-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    std::ofstream(path_ + "/mine.yaml") << claim;
    std::filesystem::create_directory(path_ + "/scenarios");
    std::ofstream(path_ + "/scenarios/two.yaml")
        << "cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 2, count: 1, price: 1 USD/h}], fabric: {kind: star}}\n"
           "workload: {model: gpt2, sequence_length: 1024, global_batch: 16, precision: bf16, optimizer: adam, software: megatron-core-2024}\n"
           "strategies: [megatron]\n";
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const char* const kClaim =
    "system: Mine\nclaim: twice as fast\npaper: none\ntrust: by hand\nratio: 2\nsetup: known\nscenario: scenarios/two.yaml\n"
    "faster: '{fixed: {data: 2, micro_batch: 8}}'\nslower: '{fixed: {data: 2, micro_batch: 1}}'\nopen: []\n";

}  // namespace

TEST_CASE("a ratio holds within a factor of 1.25, if the set-up is known") {
  // 4 / 1.25 = 3.2 and 4 x 1.25 = 5.
  const Claim claim = claim_of(4, true);
  CHECK(verdict_on(claim, 3.21) == Verdict::holds);
  CHECK(verdict_on(claim, 4.99) == Verdict::holds);
  CHECK(verdict_on(claim, 3.19) == Verdict::same_direction);
  CHECK(verdict_on(claim, 5.01) == Verdict::same_direction);
  CHECK(verdict_on(claim, 1.02) == Verdict::contradicted);
  CHECK(verdict_on(claim, 0.5) == Verdict::contradicted);
  CHECK(verdict_on(claim_of(4, false), 4) == Verdict::same_direction);
  CHECK(verdict_on(claim_of(4, true, true), 2) == Verdict::same_direction);
}

TEST_CASE("a claim is read, simulated and judged") {
  const Folder folder(kClaim);
  const std::vector<Claim> claims = read_claims(folder.path());
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].known_setup);
  CHECK_FALSE(claims[0].up_to);
  const WorkerNursery nursery = WorkerNursery::start();
  const ClaimOutcome outcome = simulate_claims(claims, 1, nursery).front();
  REQUIRE(outcome.ratio);
  CHECK(*outcome.ratio > 1);  // larger kernels are more efficient, and launches fewer
  CHECK(outcome.verdict == verdict_on(claims[0], *outcome.ratio));
}

TEST_CASE("a side without a Plan leaves the claim unsimulated, and says why") {
  std::string text = kClaim;
  text.replace(text.find("{data: 2, micro_batch: 1}"), 25, "{data: 3, micro_batch: 1}");
  const Folder folder(text);
  const WorkerNursery nursery = WorkerNursery::start();
  try {
    const ClaimOutcome outcome = simulate_claims(read_claims(folder.path()), 1, nursery).front();
    CHECK(outcome.verdict == Verdict::not_simulated);
    CHECK(outcome.why_not.find("fixed: ") == 0);
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("3") != std::string::npos);  // a written Plan is checked when the scenario is read
  }
}

TEST_CASE("every mistake of a claim has its place") {
  const Folder folder("system: Mine\nratios: 2\nsetup: guessed\n");
  try {
    (void)read_claims(folder.path());
    FAIL("no mistake was found");
  } catch (const UserError& error) {
    const std::string text = error.what();
    CHECK(text.find("mine.yaml:2:1: ratios: unknown key \"ratios\"; did you mean \"ratio\"?") != std::string::npos);
    CHECK(text.find("mine.yaml:3:8: setup: ") != std::string::npos);
  }
  CHECK_THROWS_AS(read_claims(folder.path() + "/nowhere"), UserError);
}

TEST_CASE("claims as a table and as CSV") {
  const std::vector<Claim> claims{claim_of(1.79, false, true), claim_of(2, true)};
  const std::vector<ClaimOutcome> outcomes{{1.5, "", Verdict::same_direction}, {std::nullopt, "megatron: does not fit", Verdict::not_simulated}};
  CHECK(claims_table(claims, outcomes) ==
        "  system         published  simulated   set-up    verdict         against\n"
        "  Mine          up to 1.79       1.50   stand-in  same direction  megatron\n"
        "  Mine                2.00          -   known     not simulated   megatron\n"
        "\n  Mine: fast (a paper; abstract)\n    open: the cluster\n"
        "\n  Mine: fast (a paper; abstract)\n    not simulated: megatron: does not fit\n    open: the cluster\n");
  CHECK(claims_csv(claims, outcomes) ==
        "system,published,up_to,simulated,setup,verdict,slower,paper\n"
        "\"Mine\",1.79,true,1.5,stand-in,same direction,\"megatron\",\"a paper\"\n"
        "\"Mine\",2,false,,known,not simulated,\"megatron\",\"a paper\"\n");
  CHECK(claims_json(claims, outcomes).find("\"simulated\": null") != std::string::npos);
}

TEST_CASE("the claims of this repository are complete, and their scenarios are there") {
  for (const Claim& claim : read_claims(default_claims())) {
    INFO(claim.file);
    CHECK(std::filesystem::is_regular_file(claim.scenario));
    CHECK_FALSE(claim.open.empty());
    CHECK(claim.ratio > 1);
  }
}
