#include "sim/scenario/variants.hpp"

#include <catch2/catch.hpp>

#include "sim/units/error.hpp"
#include "tests/scenario/base.hpp"

using namespace trainyard;

namespace {

Scenario with_variants(const std::string& variants) {
  return load(kBase + "strategies: [plain_planner]\nvariants:\n" + variants);
}

std::string mistakes(const std::string& variants) {
  try {
    (void)with_variants(variants);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a variant replaces values by path, elements by name or index") {
  const Scenario scenario = with_variants(
      "  as_is: {}\n"
      "  by_name: {cluster.nodes.fast.count: 4}\n"
      "  by_index: {cluster.nodes.1.count: 3}\n"
      "  in_brackets: {'cluster.nodes[0].gpus_per_node': 4, workload.global_batch: 128}\n");
  REQUIRE(scenario.variants.size() == 4);
  CHECK(scenario.variants[0].name == "as_is");
  CHECK(scenario.variants[0].cluster.gpus().size() == 20);
  CHECK(scenario.variants[1].cluster.gpus().size() == 36);
  CHECK(scenario.variants[2].cluster.gpus().size() == 28);
  CHECK(scenario.variants[3].cluster.gpus().size() == 12);
  CHECK(scenario.variants[3].workload.global_batch == 128);
  CHECK(scenario.variants[1].workload.global_batch == 64);
}

TEST_CASE("a group of zero nodes is left out") {
  const Scenario scenario = with_variants("  fast_only: {cluster.nodes.slow.count: 0}\n");
  CHECK(scenario.variants[0].cluster.gpus().size() == 16);
}

TEST_CASE("a known key that is not there is created, with what leads to it") {
  const Scenario scenario = with_variants(
      "  spot: {cluster.nodes.fast.market: spot}\n"
      "  tree: {cluster.fabric.kind: fat_tree, cluster.fabric.leaf: 2}\n"
      "  tree_at_once: {cluster.fabric: {kind: fat_tree, leaf: 2}}\n");
  CHECK(scenario.variants[0].cluster.nodes[0].market == MarketKind::spot);
  CHECK(scenario.variants[1].cluster.fabric == scenario.variants[2].cluster.fabric);
  CHECK(scenario.variants[1].cluster.fabric != scenario.variants[0].cluster.fabric);
}

TEST_CASE("paths that lead nowhere get one line each") {
  const std::string text = mistakes(
      "  a: {cluster.nodes.fats.count: 4}\n"
      "  b: {cluster.fabrik.leaf: 4}\n"
      "  c: {cluster.nodes.7.count: 4}\n"
      "  d: {run.seed: 4}\n"
      "  e: {workload.global_batch.size: 4}\n"
      "  f: {cluster..count: 4}\n");
  CHECK_THAT(text, Catch::Contains("no element of cluster.nodes \"fats\"; did you mean \"fast\"?"));
  CHECK_THAT(text, Catch::Contains("no key of cluster \"fabrik\"; did you mean \"fabric\"?"));
  CHECK_THAT(text, Catch::Contains("no element of cluster.nodes \"7\"; known: fast, slow"));
  CHECK_THAT(text, Catch::Contains("a variant may change values of \"cluster\", \"workload\" and \"market\", not of \"run\""));
  CHECK_THAT(text, Catch::Contains("workload.global_batch is a single value, it has no \"size\""));
  CHECK_THAT(text, Catch::Contains("an empty name in the path"));
}

TEST_CASE("a bad value of a variant is shown where it stands") {
  const std::string text = mistakes("  thin: {cluster.nodes.fast.nic: 25}\n");
  CHECK_THAT(text, Catch::Contains("test.yaml:8:") && Catch::Contains("variants.thin.cluster.nodes.fast.nic"));
}

TEST_CASE("a mistake that only some variants make names them; a mistake of all is said once") {
  Diagnostics base, one, two, three;
  const SourcePlace place{nullptr, 3, 1, "cluster.nodes"};
  base.add(place, "in the base");
  one.add(place, "in the base");
  one.add(place, "in one");
  one.add(place, "in all");
  two.add(place, "in two and three");
  two.add(place, "in all");
  three.add(place, "in two and three");
  three.add(place, "in all");
  VariantMistakes mistakes(base);
  mistakes.add("1", one);
  mistakes.add("2", two);
  mistakes.add("3", three);
  Diagnostics all;
  mistakes.move_to(all);
  REQUIRE(all.all().size() == 3);
  CHECK(all.all()[0].message == "in one (variant \"1\")");
  CHECK(all.all()[1].message == "in all");
  CHECK(all.all()[2].message == "in two and three (variants \"2\", \"3\")");
}
