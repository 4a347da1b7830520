// A schema with every type of value, as a scenario file would have them.
#pragma once

#include <string>

#include "sim/config/schema.hpp"

namespace trainyard::test {

inline Schema node_schema() {
  using namespace schema;
  const Schema gpu = choice({"A100-SXM4-80GB", "V100-SXM2-16GB", "H100-SXM5-80GB"}, "product name");
  return object({required("name", text("group name")), required("gpu", gpu),
                 optional("count", integer(between(1, 100000), "nodes"), "1"),
                 optional("memory", quantity(Dimension::bytes, above(0, 1e15), "memory of a node")),
                 optional("nic", quantity(Dimension::bytes_per_second, above(0, 1e15), "rate of a NIC")),
                 optional("price", quantity(Dimension::dollars_per_second, between(0, 1e3), "price of a node"))},
                "a group of equal nodes");
}

inline Schema sample_schema() {
  using namespace schema;
  const Schema fabric = object({required("kind", choice({"fat_tree", "rail", "dragonfly"}, "topology")),
                                optional("oversubscription", number(between(1, 64), "down over up"), "1"),
                                optional("latency", quantity(Dimension::seconds, between(0, 1), "one way")),
                                optional("adaptive", boolean("adaptive routing"), "false")},
                               "the network between nodes");
  const Schema micro_batch = one_of({integer(between(1, 1024), "samples"), choice({"auto"}, "searched")}, "size");
  const Schema model =
      one_of({text("catalogue name"), object({required("config", text("a file"))}, "a file")}, "model");
  return object({required("nodes", list(node_schema(), between(1, 4), "the nodes")), optional("fabric", fabric),
                 optional("model", model), optional("micro_batch", micro_batch),
                 optional("variants", mapping("variant", number(between(0, 1), "share"), "named alternatives")),
                 optional("options", any("anything"))},
                "a sample");
}

}  // namespace trainyard::test
