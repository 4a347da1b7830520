// The `market:` section: what it may hold, what it becomes, and what is refused.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/model/node_events.hpp"
#include "topologies/market.hpp"
#include "topologies/spot_import.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

const std::string kCluster =
    "nodes:\n  - {name: p3, instance: aws.p3.2xlarge, count: 4, market: spot, zone: us-east-1a}\n"
    "  - {name: p4, instance: aws.p4d.24xlarge, count: 2, market: spot}\n  - {name: own, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 1, nics: 8, nic: 100 Gbps}\n"
    "  - {name: none, instance: aws.p3.2xlarge, count: 0, market: spot}\nfabric: {kind: star}\n";

struct Built {
  Cluster cluster;
  Market market;
  std::string mistakes;
};

Built build(const std::string& text, const std::string& directory = ".") {
  Built built;
  Diagnostics diagnostics;
  const ConfigValue cluster = read_yaml_text(kCluster, "cluster.yaml", diagnostics);
  REQUIRE(check(cluster, cluster_schema(), diagnostics));
  built.cluster = build_cluster(cluster, directory, diagnostics);
  REQUIRE(diagnostics.empty());
  const ConfigValue section = read_yaml_text(text, "market.yaml", diagnostics);
  const bool none = section.kind == ConfigValue::Kind::null;
  if (none || check(section, market_schema(), diagnostics))
    built.market = build_market(none ? nullptr : &section, {built.cluster, cluster, directory}, diagnostics);
  built.mistakes = diagnostics.text();
  return built;
}

Market good(const std::string& text, const std::string& directory = ".") {
  const Built built = build(text, directory);
  INFO(built.mistakes);
  REQUIRE(built.mistakes.empty());
  return built.market;
}

/// The first line of what is wrong.
std::string refused(const std::string& text) {
  const std::string mistakes = build(text).mistakes;
  return mistakes.substr(0, mistakes.find('\n'));
}

}  // namespace

TEST_CASE("spot nodes have the notice of their instance unless the section says another") {
  CHECK(build("").market.notice == std::map<std::string, Seconds>{{"p3", 120_s}, {"p4", 120_s}});
  CHECK(good("notice: 30 s").notice.at("p3") == 30_s);
  CHECK(good("notice: {p3: 30 s}").notice == std::map<std::string, Seconds>{{"p3", 30_s}, {"p4", 120_s}});
}

TEST_CASE("one source is for every group of spot nodes, a map for those it names") {
  const Market all = good("availability: {process: exponential, up: 8 h, down: 20 min}");
  CHECK(all.availability.size() == 2);
  CHECK(std::get<WeibullProcess>(all.availability.at("p4")) == WeibullProcess{Seconds(8 * 3600), 1200_s, 1, 1});
  const Market some = good("availability: {p3: {process: bursts, every: 1 d, away: 3 h, share: 0.5}, none: {process: exponential, up: 1 h, down: 0 s}}");
  CHECK(some.availability.size() == 1);
  CHECK(std::get<BurstProcess>(some.availability.at("p3")) == BurstProcess{Seconds(86400), Seconds(10800), 0.5});
  const Market weibull = good("availability: {process: weibull, up: 8 h, up_shape: 0.7, down: 1 h}");
  CHECK(std::get<WeibullProcess>(weibull.availability.at("p3")).up_shape == 0.7);
}

TEST_CASE("a chain as import prints it") {
  const Market market = good("availability: {process: markov, victims: newest, levels: [{nodes: 4, hold: 1 h, to: {0: 0.25, 2: 0.75}}, "
                             "{nodes: 0, hold: 2 h, to: {4: 1}}, {nodes: 2, hold: 60 s}]}");
  const auto& chain = std::get<MarkovProcess>(market.availability.at("p3"));
  CHECK(chain.victims == Victims::newest);
  CHECK(chain.levels == std::vector<MarkovLevel>{{4, 3600_s, {{0, 0.25}, {2, 0.75}}}, {0, 7200_s, {{4, 1}}}, {2, 60_s, {}}});
}

TEST_CASE("an imported record and its fit are sections of a market") {
  const fs::path folder = fs::temp_directory_path() / ("trainyard-market-" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "trace.json") << "{\"metadata\": {\"gap_seconds\": 3600}, \"data\": [4, 1, 1, 3]}";
  const std::string file = (folder / "trace.json").string();
  const auto inner = [](const std::string& text) {  // the `market:` line stands above its keys
    return text.substr(text.find("  availability"));
  };
  const Market record = good(inner(import_spot(file, {})));
  CHECK(std::get<LevelTrace>(record.availability.at("p3")).levels == std::vector<NodeLevel>{{0_s, 4}, {3600_s, 1}, {10800_s, 3}});
  SpotImport fit;
  fit.fit = true;
  CHECK(std::get<MarkovProcess>(good(inner(import_spot(file, fit))).availability.at("p3")).levels[1] == MarkovLevel{1, 7200_s, {{3, 1}}});
  const Market looped = good("availability: {trace: trace.json, format: skypilot, after_end: loop, victims: newest}", folder.string());
  CHECK(std::get<LevelTrace>(looped.availability.at("p4")).after_end == AfterEnd::loop);
  CHECK(std::get<LevelTrace>(looped.availability.at("p4")).victims == Victims::newest);
  std::ofstream(folder / "gpus.json") << "[{\"Time\": 0, \"GPUs\": 17}, {\"Time\": 60, \"GPUs\": 7}]";
  const Market gpus = good("availability: {trace: gpus.json}", folder.string());
  CHECK(std::get<LevelTrace>(gpus.availability.at("p4")).levels == std::vector<NodeLevel>{{0_s, 2}, {60_s, 0}});
  CHECK(std::get<LevelTrace>(gpus.availability.at("p3")).levels[0].nodes == 17);
  fs::remove_all(folder);
}

TEST_CASE("prices of spot nodes, written out or constant") {
  const Built built = build("prices: {p3: 0.9 USD/h, p4: {steps: [{at: 0 s, price: 10 USD/h}, {at: 1 h, price: 12 USD/h}]}}");
  REQUIRE(built.mistakes.empty());
  CHECK(bill(built.market, built.cluster.nodes[0], 0_s, 7200_s).value == Approx(1.8));
  CHECK(bill(built.market, built.cluster.nodes[4], 0_s, 7200_s).value == Approx(22));
  CHECK(refused("prices: {p4: {steps: [{at: 1 h, price: 10 USD/h}, {at: 1 h, price: 12 USD/h}]}}") ==
        "market.yaml:1:51: prices.p4.steps[1]: not later than the price before it");
  CHECK_THAT(refused("prices: {p3: 0 USD/h}"), Catch::StartsWith("market.yaml:1:14: prices.p3: "));
}

TEST_CASE("failures at a rate of one's own or a published one") {
  const Market own = good("failures: {every: 100 d, repair: 1 h}");
  CHECK(own.failures.size() == 3);
  CHECK(own.failures.at("own") == HardwareFailures{Seconds(100 * 86400.0), 3600_s, "scenario"});
  const Market like = good("failures: {own: {like: meta-rsc-1, repair: 10 min}}");
  CHECK(like.failures.at("own").every.value / 86400 == Approx(1000 / 6.5).epsilon(1e-4));
  CHECK_THAT(like.failures.at("own").source, Catch::Contains("arXiv 2410.21680"));
  CHECK(refused("failures: {like: meta, repair: 1 h}") ==
        "market.yaml:1:18: failures.like: no rate of failures \"meta\"; did you mean \"meta-rsc-1\"?");
}

TEST_CASE("the store, billing, traffic, and the time to get a node") {
  const Market market = good("acquire: 40 s\nboot: 3 min\nstore: {bandwidth: 5 GB/s, per_node: 1 GB/s, latency: 20 ms, price_per_month: 0.023 USD/GB, egress: 0.09 USD/GB}\n"
                             "billing: {period: 1 h, minimum: 60 s}\negress: {between_zones: 0.01 USD/GB}");
  CHECK(market.acquire == 40_s);
  CHECK(market.boot == 180_s);
  CHECK(market.store.bandwidth == 5.0_GBps);
  CHECK(market.store.per_node == 1.0_GBps);
  CHECK(market.store.latency == 20_ms);
  CHECK(market.store.price_per_month.value == Approx(0.023e-9));
  CHECK(market.store.egress.value == Approx(0.09e-9));
  CHECK(market.billing == Billing{3600_s, 60_s});
  CHECK(market.egress.between_zones.value == Approx(0.01e-9));
  CHECK_FALSE(good("boot: 1 min").store.exists());
}

TEST_CASE("a market that is wrong says where") {
  CHECK(refused("availability: {p5: {process: exponential, up: 1 h, down: 1 h}}") ==
        "market.yaml:1:20: availability.p5: no group of nodes \"p5\"; known: p3, p4, own, none");
  CHECK(refused("availability: {trace: nowhere.json}") == "market.yaml:1:23: availability.trace: ./nowhere.json: no such file");
  CHECK_THAT(refused("availability: {process: poisson, up: 1 h, down: 1 h}"), Catch::Contains("poisson"));
  CHECK_THAT(refused("availability: {process: exponential, up: 0 s, down: 1 h}"), Catch::StartsWith("market.yaml:1:42: availability.up: "));
  CHECK_THAT(refused("availability: {process: exponential, up: 1 h}"), Catch::Contains("down"));
  CHECK(refused("availability: {process: markov, levels: [{nodes: 4, hold: 1 h, to: {3: 1}}]}") ==
        "market.yaml:1:72: availability.levels[0].to.3: \"3\" is no other level of the chain");
  CHECK(refused("availability: {process: markov, levels: [{nodes: 4, hold: 1 h, to: {0: 0.5}}, {nodes: 0, hold: 1 h}]}") ==
        "market.yaml:1:68: availability.levels[0].to: probabilities add up to 0.5, not to 1");
  CHECK(refused("availability: {process: markov, levels: [{nodes: 4, hold: 1 h}, {nodes: 4, hold: 1 h}]}") ==
        "market.yaml:1:65: availability.levels[1]: the level of 4 nodes stands twice");
  CHECK_THAT(refused("avail: {}"), Catch::Contains("availability"));
}

TEST_CASE("the text of a market gives its figures") {
  const Built built = build("availability: {process: exponential, up: 8 h, down: 20 min}\nprices: {p3: 0.9 USD/h}\nstore: {bandwidth: 5 GB/s}");
  const std::string text = market_text(built.market, built.cluster);
  CHECK_THAT(text, Catch::Contains("p3: each node on its own, up for 8 h, away for 20 min"));
  CHECK_THAT(text, Catch::Contains("p3: 0.90 USD/h"));
  CHECK_THAT(text, Catch::Contains("p4: 2 min of notice"));
  CHECK_THAT(text, Catch::Contains("store: 5 GB/s"));
}
