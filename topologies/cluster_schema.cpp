#include "topologies/catalogue_reader.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

using namespace schema;

namespace {

Schema bandwidth(std::string help) { return quantity(Dimension::bytes_per_second, above(0, 1e14), std::move(help)); }

/// Keys that replace the catalogue's parameters of a class of links.
std::vector<SchemaField> link_fields() {
  const auto time = [](std::string help) { return quantity(Dimension::seconds, between(0, 10), std::move(help)); };
  return {optional("latency", time("of one link, beyond what setup and step contain"), "0 s"),
          optional("efficiency", number(above(0, 1), "share of the rate that bulk traffic reaches")),
          optional("setup", time("fixed time of a collective or transfer")),
          optional("step", time("each further member of a collective")),
          optional("ramp", time("c of x + sqrt(x c), x the time on the wire"))};
}

Schema inside_schema() {
  std::vector<SchemaField> fields = link_fields();
  fields.insert(fields.begin(), required("kind", text("nvswitch, nvlink_mesh or pcie")));
  fields.push_back(
      optional("bandwidth", bandwidth("one direction of a GPU's port (nvswitch), link (nvlink_mesh) or slot (pcie)")));
  fields.push_back(optional("gpus_per_switch", integer(between(1, 16), "GPUs under one PCIe switch"), "2"));
  return one_of({text("nvswitch, nvlink_mesh or pcie"), object(std::move(fields), "the same with its parameters")},
                "how the GPUs of a node are joined; default: the instance's or the GPU's");
}

Schema nic_schema() {
  std::vector<SchemaField> fields = link_fields();
  fields.insert(fields.begin(), required("rate", bandwidth("of one NIC, one direction")));
  return one_of(
      {bandwidth("rate of one NIC, one direction"), object(std::move(fields), "the same with its parameters")},
      "network card; more NICs than GPUs are taken together, so that every GPU has one");
}

Schema transport_schema() {
  return choice({"infiniband", "roce", "ethernet", "efa"},
                "how NICs talk; default: the fabric's, the instance's, infiniband");
}

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

Schema fabric_schema() {
  return object(
      {optional("kind", choice({"star", "fat_tree", "rail", "dragonfly", "torus", "regions"},
                               "shape; star and fat_tree are simulated")),
       optional("import", text("file of a measured or generated network")),
       optional("leaf", integer(between(1, 100000), "fat_tree: nodes under one leaf switch")),
       optional("oversubscription", number(above(0, 1000), "fat_tree: bandwidth below a leaf over bandwidth above it"),
                "1"),
       optional("latency", quantity(Dimension::seconds, between(0, 10), "of one link between switches or to a NIC"),
                "0 s"),
       optional("transport", transport_schema())},
      "what joins the nodes; default: a star");
}

}  // namespace

Schema cluster_schema() {
  return object({required("nodes", list(node_schema(), between(1, 1000), "groups of nodes")),
                 optional("fabric", fabric_schema())},
                "what there is to train on");
}

}  // namespace trainyard
