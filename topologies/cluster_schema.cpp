#include "topologies/calibration.hpp"
#include "topologies/catalogue_reader.hpp"
#include "topologies/cluster_troubles.hpp"
#include "topologies/fabric.hpp"
#include "topologies/node_spec.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

using namespace schema;

namespace {

Schema bandwidth(std::string help) { return quantity(Dimension::bytes_per_second, above(0, 1e14), std::move(help)); }

Schema nic_schema() {
  std::vector<SchemaField> fields = link_fields();
  fields.insert(fields.begin(), required("rate", bandwidth("of one NIC, one direction")));
  return one_of(
      {bandwidth("rate of one NIC, one direction"), object(std::move(fields), "the same with its parameters")},
      "network card; more NICs than GPUs are taken together, so that every GPU has one");
}

}  // namespace

Schema transport_schema() {
  return choice({"infiniband", "roce", "ethernet", "efa", "efa2"},
                "how NICs talk; default: the fabric's, the instance's, infiniband");
}

namespace {

Schema node_schema() {
  return object({required("name", text("of this group of equal nodes: letters, digits, - and _")),
                 optional("count", integer(between(0, 100000), "nodes; 0 leaves the group out"), "1"),
                 optional("instance", text("catalogue key; instead of gpu")),
                 optional("gpu", text("catalogue key; instead of instance")),
                 optional("gpus_per_node", integer(between(1, 1024), "GPUs of one node, beside gpu")),
                 optional("inside", inside_schema()), optional("nics", integer(between(0, 64), "NICs of one node")),
                 optional("nic", nic_schema()), optional("transport", transport_schema()),
                 optional("market", choice({"on_demand", "spot", "reserved"}, "how it is paid"), "on_demand"),
                 optional("price", quantity(Dimension::dollars_per_second, between(0, 10),
                                            "of one node; default: the instance's")),
                 optional("zone", text("availability zone")), optional("region", text("region")),
                 optional("host", host_schema())},
                "a group of equal nodes");
}

}  // namespace

Schema cluster_schema() {
  return object({required("nodes", list(node_schema(), between(1, 1000), "groups of nodes")),
                 optional("fabric", fabric_schema(ready_made_names())), optional("slowdown", slowdown_schema()),
                 optional("failures", failures_schema()), optional("interference", interference_schema(), "none"),
                 optional("calibration", calibration_schema())},
                "what there is to train on");
}

}  // namespace trainyard
