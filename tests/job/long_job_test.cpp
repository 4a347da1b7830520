// Jobs over a horizon through scenario, market, strategy, recovery and simulation: what must hold whatever the figures are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/job/case.hpp"
#include "sim/job/node_classes.hpp"
#include "sim/job/subset.hpp"
#include "sim/model/node_events.hpp"
#include "sim/scenario/scenario.hpp"
#include "validation/scenario_cases.hpp"

using namespace trainyard;

namespace {

/// GPT-2 XL on `nodes` of one V100 with a stated price.
Scenario scenario(const std::string& market, const std::string& run, const std::string& strategies, int nodes = 4) {
  return load_scenario_text("cluster: {nodes: [{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: " + std::to_string(nodes) +
                                ", nics: 1, nic: 10 Gbps, price: 1 USD/h, market: spot, zone: a}], fabric: {kind: star}}\n"
                                "workload: {model: gpt2-xl, sequence_length: 1024, global_batch: 32, precision: fp16, optimizer: adam, software: megatron-core-2024}\n" +
                                (market.empty() ? "" : "market: {" + market + "}\n") + "run: {" + run + ", seed: 3}\nstrategies: [" + strategies + "]\n",
                            "test.yaml", ".");
}

std::vector<CaseResult> run(const Scenario& scenario, int jobs = 1) {
  const WorkerNursery nursery = WorkerNursery::start();
  std::vector<Case> cases;
  for (const StrategyChoice& choice : scenario.strategies) cases.push_back(case_of(scenario, scenario.variants[0], choice));
  return run_cases(cases, {}, jobs, nursery, nullptr);
}

const std::string kFour = "{fixed: {pipeline: 4, micro_batch: 1}}";
const std::string kAny = "{megatron: {simulate: 1, recovery: ";
constexpr const char* kExponential = "availability: {v: {process: exponential, up: 6 h, down: 20 min}}, store: {bandwidth: 1 GB/s}";

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

void check_sums(const CaseResult& result) {
  INFO(result.recovery << " " << result.reason);
  REQUIRE(result.status == CaseStatus::ok);
  CHECK(near(result.job->times.total().value, result.job->length.value));
  CHECK(result.job->times.useful.value >= 0);
  CHECK(result.job->tokens >= 0);
}

}  // namespace

TEST_CASE("without preemption the goodput is the throughput of a step") {
  const CaseResult result = run(scenario("", "horizon: 5 h", kFour)).front();
  check_sums(result);
  CHECK(near(result.job->goodput(), result.step.tokens_per_s()));
  CHECK(result.job->preemptions == 0);
  CHECK(near(result.job->money.total().value, 4 * 5));
  CHECK(near(result.job->gpu_hours, 4 * 5));
  // 300 W each: 15 % of it at rest.
  CHECK(near(result.job->energy_kwh, 4 * 5 * 0.3 * (0.15 + 0.85 * (1 - result.step.bubble_fraction))));
}

TEST_CASE("the same job on nodes that stay: no loss, the catalogue's price, Plans of its own rows") {
  const Scenario both = load_scenario_text(
      "cluster: {nodes: [{name: v, instance: aws.p3.2xlarge, count: 4, market: spot, price: 1 USD/h}], fabric: {kind: star}}\n"
      "workload: {model: gpt2, sequence_length: 1024, global_batch: 32, precision: fp16, optimizer: adam, software: megatron-core-2024}\n"
      "market: {availability: {v: {process: exponential, up: 1 h, down: 20 min}}, store: {bandwidth: 1 GB/s}}\nrun: {horizon: 10 h, seed: 3}\n"
      "strategies: [{megatron: {simulate: 1, recovery: none, market: on_demand}}, {megatron: {simulate: 1}}, {megatron: {simulate: 1, market: reserved}}]\n",
      "test.yaml", ".");
  const std::vector<CaseResult> results = run(both);
  for (const CaseResult& result : results) check_sums(result);
  const JobReport& stays = *results[0].job;
  CHECK(results[0].recovery == "none, nodes on demand");
  CHECK(stays.preemptions == 0);
  CHECK(near(stays.money.total().value, 4 * 10 * 3.06));
  CHECK(near(stays.goodput(), results[0].step.tokens_per_s()));
  CHECK(results[1].job->preemptions > 0);
  CHECK(results[1].job->goodput() < stays.goodput());
  CHECK(results[1].job->money.total().value < 40);
  CHECK(near(results[2].job->money.nodes.value, 4 * 10 * 1.99));
}

TEST_CASE("time is conserved and money is the price of what was held, for every recovery") {
  const Scenario all = scenario(kExponential, "horizon: 48 h", kAny + "none}}, " + kAny + "restart_from_checkpoint}}, " + kAny +
                                    "{restart_from_checkpoint: {every: 10 min, to: [host, store], on_notice: true}}}}, " + kAny +
                                    "asynchronous_checkpoint}}, " + kAny + "pipeline_templates}}, " + kAny +
                                    "proactive_migration}}, " + kAny + "layer_local_first}}, " + kAny + "peer_replication}}");
  const NodeEvents events = node_events(all.variants[0].market, all.variants[0].cluster, Seconds(48 * 3600), 3);
  double held = 0;
  for (const NodeSpan& span : events.spans) held += (span.until - span.acquired).value / 3600;
  for (const CaseResult& result : run(all)) {
    check_sums(result);
    CHECK(near(result.job->money.nodes.value, held));
    CHECK(result.job->preemptions == preemptions(events));
    CHECK(result.job->detailed_steps < 100);
  }
}

TEST_CASE("the timeline's dollars are the price of what was held up to each entry") {
  const std::string market = std::string(kExponential) + ", prices: {v: 2 USD/h}";
  const Scenario one = scenario(market, "horizon: 24 h", "{fixed: {data: 1, pipeline: 4, micro_batch: 1, recovery: restart_from_checkpoint}}");
  const NodeEvents events = node_events(one.variants[0].market, one.variants[0].cluster, Seconds(24 * 3600), 3);
  const CaseResult result = run(one).front();
  check_sums(result);
  for (const JobEntry& entry : result.job->timeline) {
    double held = 0, now = 0;
    for (const NodeSpan& span : events.spans) {
      held += std::max(0.0, (std::min(span.until, entry.at) - span.acquired).value / 3600);
      now += span.acquired <= entry.at && entry.at < span.until;
    }
    CHECK(std::abs(entry.usd.value - 2 * held) < 1e-9 * (1 + held));
    CHECK(near(in_dollars_per_hour(entry.price), 2 * now));
  }
  const JobEntry& last = result.job->timeline.back();
  CHECK(near((last.usd + last.price * (result.job->length - last.at)).value, result.job->money.total().value));
}

TEST_CASE("results over a horizon do not depend on the number of jobs") {
  const Scenario one = scenario(kExponential, "horizon: 24 h", "{fixed: {pipeline: 4, recovery: restart_from_checkpoint}}, {fixed: {pipeline: 4, recovery: asynchronous_checkpoint}}");
  const auto a = run(one, 1), b = run(one, 2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].job->tokens == b[i].job->tokens);
    CHECK(a[i].job->timeline.size() == b[i].job->timeline.size());
    CHECK(a[i].job->detailed_steps == b[i].job->detailed_steps);
  }
}

TEST_CASE("all nodes lost at once, and none for hours") {
  const Scenario none = scenario("availability: {v: {process: bursts, every: 2 h, away: 3 h, share: 1}}, store: {bandwidth: 1 GB/s}", "horizon: 30 h",
                                 kAny + "restart_from_checkpoint}}");
  const CaseResult result = run(none).front();
  check_sums(result);
  CHECK(result.job->times.idle > Seconds(3600));
  CHECK(result.job->rollbacks > 0);
}

TEST_CASE("a trace tells the same times as the report, and who fetched what from whom") {
  const Scenario one = scenario(kExponential, "horizon: 24 h", kAny + "{layer_local_first: {every: 5 min}}}}");
  const WorkerNursery nursery = WorkerNursery::start();
  CaseOptions options;
  options.keep_trace = true;
  const CaseResult result = run_cases({case_of(one, one.variants[0], one.strategies[0])}, options, 1, nursery, nullptr).front();
  check_sums(result);
  REQUIRE(result.job_trace);
  std::map<JobActivity, Seconds> spent;
  Seconds at{};
  for (const JobStretch& stretch : result.job_trace->stretches) {
    CHECK(stretch.from.value == Approx(at.value).margin(1e-6));
    at = stretch.until;
    spent[stretch.what] += stretch.until - stretch.from;
  }
  CHECK(near(at.value, result.job->length.value));
  CHECK(spent[JobActivity::changing].value == Approx(result.job->times.reconfiguration.value));
  CHECK(spent[JobActivity::waiting].value == Approx(result.job->times.waiting.value).margin(1e-6));
  CHECK(spent[JobActivity::idle].value == Approx(result.job->times.idle.value).margin(1e-6));
  CHECK((spent[JobActivity::steps] + spent[JobActivity::lost] + spent[JobActivity::saving]).value ==
        Approx((result.job->times.useful + result.job->times.lost_work + result.job->times.checkpoint).value));
  double fetched = 0;
  for (const StateFetch& fetch : result.job_trace->fetches) {
    fetched += fetch.bytes.value;
    CHECK((fetch.from <= fetch.until && !fetch.source.empty() && fetch.target.starts_with("v.")));
  }
  const JobTraffic& traffic = result.job->traffic;
  CHECK(near(fetched, (traffic.from_devices + traffic.from_hosts + traffic.from_store).value));
  CHECK(std::ranges::count(result.job_trace->nodes, true, &HeldNode::preempted) == result.job->preemptions);
}

TEST_CASE("cases that share Plans and steps give what they give alone") {
  const Scenario two = scenario(kExponential, "horizon: 24 h", kAny + "restart_from_checkpoint}}, " + kAny + "layer_local_first}}");
  const auto together = run(two, 1), apart = run(two, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(together[i].job->tokens == apart[i].job->tokens);
    CHECK(together[i].job->detailed_steps == apart[i].job->detailed_steps);
  }
}

TEST_CASE("copies that do not fit in the hosts' memory are refused with what is lacking") {
  const auto small = [](const std::string& recovery) {
    return load_scenario_text("cluster: {nodes: [{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 4, nics: 1, nic: 10 Gbps, price: 1 USD/h, market: spot, host: {memory: 4 GB}}], "
                              "fabric: {kind: star}}\nworkload: {model: gpt2-xl, sequence_length: 1024, global_batch: 32, precision: fp16, optimizer: adam, software: megatron-core-2024}\n"
                              "market: {store: {bandwidth: 1 GB/s}}\nrun: {horizon: 1 h}\nstrategies: [{fixed: {pipeline: 4, micro_batch: 1, recovery: " + recovery + "}}]\n",
                              "test.yaml", ".");
  };
  CHECK(run(small("restart_from_checkpoint")).front().status == CaseStatus::ok);
  const CaseResult lacking = run(small("asynchronous_checkpoint")).front();
  CHECK(lacking.status == CaseStatus::infeasible);
  CHECK_THAT(lacking.reason, Catch::Contains("of host memory for copies of the state"));
}

TEST_CASE("tokens to a quality: the time and the dollars of the steps that convergence needs") {
  // 1.5 x 1000 x (1 + 32 / 32) = 3000 steps.
  Scenario one = scenario("", "horizon: 5 h", kFour);
  one.variants[0].workload.convergence = {{1000, 32, 1.5}};
  const CaseResult result = run(one).front();
  REQUIRE((result.job->time_to_target && result.job->usd_to_target));
  CHECK(near(result.job->time_to_target->value, 3000 * result.step.step_time.value));
  CHECK(near(result.job->usd_to_target->value, 4 * 3000 * result.step.step_time.value / 3600));
}

TEST_CASE("a Plan of all nodes waits while one is missing") {
  const CaseResult result = run(scenario(kExponential, "horizon: 48 h", "{fixed: {pipeline: 4, micro_batch: 1, recovery: restart_from_checkpoint}}")).front();
  check_sums(result);
  CHECK(result.job->times.waiting > Seconds(0));
  CHECK(result.job->plans == 1);
}

TEST_CASE("a job ends when its tokens are trained") {
  const CaseResult result = run(scenario("", "tokens: 1e8", kFour)).front();
  check_sums(result);
  CHECK(result.job->tokens >= 1e8);
  CHECK(result.job->tokens < 1e8 + 32 * 1024);
  CHECK(result.job->time_to_target == result.job->length);
}

TEST_CASE("planning takes the time that the scenario says, whatever it took here") {
  const auto quick = run(scenario("", "horizon: 1 h", kFour)).front(), slow = run(scenario("", "horizon: 1 h, planning: 100 s", kFour)).front();
  CHECK(slow.job->times.reconfiguration == Seconds(100));
  CHECK(quick.job->times.reconfiguration == Seconds(0));
}

TEST_CASE("an upload slows the steps that travel beside it") {
  const auto results = run(scenario("store: {bandwidth: 100 GB/s}", "horizon: 5 h",
                                    "{fixed: {data: 16, micro_batch: 1, zero: 1, recompute: full, recovery: {restart_from_checkpoint: {every: 10 min, to: [host]}}}}, "
                                    "{fixed: {data: 16, micro_batch: 1, zero: 1, recompute: full, recovery: {asynchronous_checkpoint: {every: 10 min}}}}", 16));
  const auto each = [](const CaseResult& result) { return result.job->times.checkpoint.value / double(result.job->saves); };
  for (const CaseResult& result : results) check_sums(result);
  CHECK(each(results[1]) > 1.05 * each(results[0]));  // the snapshot alone, and with what the upload takes of the gradients' way
}

TEST_CASE("a job that no cluster of its nodes fits says why") {
  const CaseResult result = run(scenario("", "horizon: 1 h", "{fixed: {pipeline: 1, data: 4, micro_batch: 8}}")).front();
  CHECK(result.status == CaseStatus::infeasible);
  CHECK(result.reason.find("does not fit") == 0);
}

TEST_CASE("alike sets of nodes share their arrangement, others do not") {
  const auto cluster_of = [](const std::string& fabric) {
    return load_scenario_text("cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 8, nics: 8, nic: 200 Gbps}], fabric: " + fabric +
                                  "}\nworkload: {model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: bf16}\nstrategies: [megatron]\n",
                              "test.yaml", ".").variants[0].cluster;
  };
  const auto nodes = [](std::vector<int> ids) {
    std::vector<NodeId> all;
    for (const int id : ids) all.push_back(NodeId(id));
    return all;
  };
  const Cluster star = cluster_of("{kind: star}"), tree = cluster_of("{kind: fat_tree, leaf: 4, oversubscription: 2}");
  const NodeClasses in_star(star), in_tree(tree);
  CHECK(in_star.count() == 1);
  CHECK(in_tree.count() == 2);
  CHECK(in_star.arrange(nodes({0, 1, 5})).key == in_star.arrange(nodes({2, 3, 4})).key);
  CHECK(in_tree.arrange(nodes({0, 1, 5})).key == in_tree.arrange(nodes({2, 6, 7})).key);
  CHECK(in_tree.arrange(nodes({0, 1, 5})).key != in_tree.arrange(nodes({0, 1, 2})).key);
  const auto first = in_tree.arrange(nodes({0, 1, 5})), second = in_tree.arrange(nodes({2, 6, 7}));
  const Cluster a = subset(tree, first.order), b = subset(tree, second.order);
  REQUIRE(a.devices.size() == b.devices.size());
  for (std::size_t i = 0; i < a.devices.size(); ++i) CHECK(a.devices[i].name == b.devices[i].name);
  CHECK(a.links.size() == b.links.size());
  CHECK(a.gpus().size() == 24);
}
