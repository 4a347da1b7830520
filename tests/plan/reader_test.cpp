// Mistakes in a Plan's text, each with its place and exact line.
#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

TEST_CASE("short and long form are told apart") {
  CHECK(symbolic("{tensor: 8}").short_form);
  CHECK(symbolic("{}").short_form);
  CHECK(symbolic("{zero: 1, devices: a}").short_form);
  CHECK_FALSE(symbolic("{layout: [data: 8]}").short_form);
  CHECK_FALSE(symbolic("{batch: 64}").short_form);
  CHECK_FALSE(symbolic("{chunks: [[0-3], [4-7]]}").short_form);
  CHECK(symbolic("{tensor: 8, chunks: 2, layers: even}").short_form->chunks == 2);
}

TEST_CASE("keys in the wrong place") {
  const auto errors = [](const std::string& yaml) { return read_text(yaml).errors; };
  CHECK(errors("{layout: [data: 8], recomput: full}") ==
        "1:21: recomput: no key \"recomput\"; did you mean \"recompute\"?\n");
  CHECK(errors("{tensor: 8, micro_batchs: 2}") ==
        "1:13: micro_batchs: no key \"micro_batchs\"; did you mean \"micro_batch\"?\n");
  CHECK(errors("{batch: 8, pipelines: [{batch: 8}]}") ==
        "1:2: batch: `batch` belongs to a pipeline: write it in each of `pipelines`\n");
  CHECK(errors("{stages: [{switch: {}}, {order: gpipe}]}") ==
        "1:12: stages[0].switch: `switch` belongs to the whole Plan, not to a stage\n"
        "1:26: stages[1].order: `order` belongs to a part, not to a stage\n");
  CHECK(errors("{tensor: 8, layout: [data: 8]}") ==
        "1:2: tensor: `tensor` belongs to the short form, which has none of layout, stages, pipelines, parts and "
        "phases\n");
  CHECK(errors("{tensor: 8, batch: 8}") ==
        "1:13: batch: `batch` belongs to the long form, which gives `layout` in place of tensor, data, pipeline and "
        "the like\n");
  CHECK(errors("[1]") == "1:1: : expected a Plan: a map such as {tensor: 8, data: 2}, or {layout: [data: 16]}, got a list\n");
}

TEST_CASE("values that are none") {
  const auto errors = [](const std::string& yaml) { return read_text(yaml).errors; };
  CHECK(errors("layout: {data: 8}") == "1:9: layout: expected axes such as [data: 2, tensor: 8], outermost first, got a map\n");
  CHECK(errors("layout: [dat: 8]") == "1:10: layout[0].dat: no axis \"dat\"; did you mean \"data\"?\n");
  CHECK(errors("{layout: [data: []]}") == "1:17: layout[0].data: an axis has at least one member\n");
  CHECK(errors("{devices: a.b, batch: 8}") ==
        "1:11: devices: expected devices such as a100, a100.0-3, a100.0.0-7:2 or a100.0.cpu (GROUP[.NODES[.DEVICES]]), "
        "or a "
        "list of them, got text \"a.b\"\n");
  CHECK(errors("{devices: [], batch: 8}") == "1:11: devices: no devices: the list is empty\n");
  CHECK(errors("{batch: 8, order: [{compute: F0 G1}]}") ==
        "1:30: order[0].compute: \"G1\" is no operation; write F3, B3, W3, O3, R3, with a chunk F3.1, with a condition "
        "R0@F2, "
        "with a part encoder:F3\n");
  CHECK(errors("{batch: 8, iterations: 9-3}") ==
        "1:24: iterations: expected a range such as 0-7 (both ends count), or one number, got text \"9-3\"\n");
  CHECK(errors("{batch: 8, layers: 0-3, chunks: [[0-3]]}") ==
        "1:33: chunks: `chunks` beside `layers`: one of the two says what the stage holds\n");
  CHECK(errors("{batch: 8, home: {weight: host}}") ==
        "1:19: home.weight: no key \"weight\"; did you mean \"weights\"?\n");
  CHECK(errors("parts: [a]") ==
        "1:8: parts: expected parts by the name of their pass, such as {encoder: {..}, train: {..}}, got a list\n");
  CHECK(errors("{layout: [data: 2], owners: [0-9999999]}") == "1:30: owners[0]: item 9999999 is above 1000000\n");
}

TEST_CASE("every mistake of a Plan is reported") {
  const ReadPlan read = read_text(
      "zero: 4\nregather: 1\nrecompute: half\nupdate: now\nsync: {what: gradient, every: 0, lag: -1, bucket: 3}\n"
      "wire: {weights: fp17, share: 2, all_reduce: star}\nslices: {rows: 0}\nstreams: {dta: compute}\n"
      "context_kind: rings\nlayout: [data: 0]\nbatch: -8\nmicro_batches: 1.5\nin_flight: none\n");
  INFO(read.errors);
  for (const char* start :
       {"1:7: zero: ", "2:11: regather: ", "3:12: recompute: ", "4:9: update: ", "5:14: sync.what: ",
        "5:31: sync.every: ", "5:39: sync.lag: ", "5:51: sync.bucket: ", "6:17: wire.weights: ", "6:30: wire.share: ",
        "6:45: wire.all_reduce: ", "7:16: slices.rows: ", "8:11: streams.dta: ", "9:15: context_kind: ",
        "10:16: layout[0].data: ", "11:8: batch: ", "12:16: micro_batches: ", "13:12: in_flight: "})
    CHECK(read.errors.find(start) != std::string::npos);
  CHECK(std::count(read.errors.begin(), read.errors.end(), '\n') == 18);
}
