// Order tables and the shapes that zb_v and dualpipe need: what Plan::check says of them.
#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {

/// Two stages of four layers, two micro-batches.
std::string with_tables(const std::string& first, const std::string& second) {
  return checked("{batch: 64, micro_batches: 2, layout: [data: 8], stages: [{devices: a.0, layers: [embedding, 0-3]}, {devices: a.1, "
                 "layers: [4-7, head]}], order: [{compute: " + first + "}, {compute: " + second + "}]}",
                 cluster_of({{"a", "A100-SXM4-80GB", 2, 8}}), workload_of(8, 64));
}

std::string check_on_two_nodes(const std::string& yaml) {
  return checked(yaml, cluster_of({{"a", "A100-SXM4-80GB", 2, 8}}), workload_of(8, 64));
}

}  // namespace

TEST_CASE("tables that can be run") {
  CHECK(with_tables("F0 F1 B0 B1", "F0 B0 F1 B1").empty());
  CHECK(with_tables("F1 F0 B1 B0 W0 W1", "F1 B1 W1 F0 B0").empty());
}

TEST_CASE("tables that say too much, too little or the wrong order") {
  CHECK(with_tables("F0 F1 B0", "F0 B0 F1 B1") == "stage 0: order: B1 is missing\n");
  CHECK(with_tables("F0 F1 B0 B1", "F0 B0 B0 F1 B1") == "stage 1: order: B0 stands twice\n");
  CHECK(with_tables("F0 B0 B1 F1", "F0 B0 F1 B1") == "stage 0: order: B1 stands before its F\n");
  CHECK(with_tables("F0 W0 F1 B0 B1", "F0 B0 F1 B1") == "stage 0: order: W0 stands before its B\n");
  CHECK(with_tables("F0 F1 F2 B0 B1", "F0 B0 F1 B1") ==
        "stage 0: order: F2: the pipeline has micro-batches 0-1, the stage chunks 0-0\n");
}

TEST_CASE("tables that wait for each other") {
  CHECK(with_tables("F0 B0 F1 B1", "F0 F1 B0 B1") == "stage 0: order: the tables wait for each other: B0 waits for B0 of stage 1\n");
}

TEST_CASE("zb_v goes there and back") {
  CHECK(check_on_two_nodes("{devices: a, pipeline: 2, data: 8, chunks: 2, schedule: zb_v, micro_batch: 4}").empty());
  CHECK(check_on_two_nodes("{batch: 64, micro_batches: 2, order: zb_v, layout: [data: 8], stages: [{devices: a.0, chunks: [[embedding, 0-1], "
                           "[4-5]]}, {devices: a.1, chunks: [[2-3], [6-7, head]]}]}") ==
        "stage 1: zb_v visits the stages in order and then back\n");
}

TEST_CASE("dualpipe needs two equal pipelines in opposite directions") {
  CHECK(check_on_two_nodes("{devices: a, pipeline: 2, data: 8, schedule: dualpipe, micro_batch: 2}").empty());
  CHECK(check_on_two_nodes("{devices: a, pipeline: 2, data: 8, schedule: dualpipe, micro_batch: 4}") ==
        "dualpipe needs equal numbers of micro-batches in both pipelines, at least one a stage, not 1 and 1\n");
  CHECK(check_on_two_nodes("{batch: 64, order: dualpipe, layout: [data: 16]}") ==
        "dualpipe needs 2 pipelines, one in each direction, not 1\n");
}

TEST_CASE("colocated needs a first stage on the devices of all others") {
  const std::string stages = ", layers: [embedding, 0-1]}, {devices: a.0, layers: [2-3], layout: [data: 8]}, {devices: a.1, layers: [4-7, head], layout: [data: 8]}]}";
  CHECK(check_on_two_nodes("{batch: 64, micro_batches: 2, order: colocated, stages: [{devices: a, layout: [data: 16]" + stages).empty());
  CHECK(check_on_two_nodes("{batch: 64, micro_batches: 2, order: colocated, stages: [{devices: a.0, layout: [data: 8]" + stages) ==
        "pipeline 0: schedule colocated needs a first stage on all devices of the other stages, which share none\n");
}

TEST_CASE("schedules that say themselves what is held take no bound") {
  CHECK(check_on_two_nodes("{batch: 64, order: breadth_first, in_flight: 2, layout: [data: 16]}") ==
        "stage 0: in_flight has no meaning with schedule breadth_first\n");
}

TEST_CASE("a context axis that exchanges heads needs enough of them") {
  CHECK(check_on_two_nodes("{layout: [context: 16], context_kind: ulysses}").empty());
  CHECK(checked("{layout: [context: 8, tensor: 8], context_kind: ulysses}", cluster_of({{"a", "A100-SXM4-80GB", 8, 8}}), workload_of(8, 64)) ==
        "stage 0: 32 attention heads do not divide over tensor: 8 x ulysses context: 8\n");
}
