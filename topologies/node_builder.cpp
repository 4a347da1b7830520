#include <cmath>

#include "topologies/cluster_builder.hpp"

namespace trainyard {
namespace {

DeviceType host_type(const NodeSpec& spec) {
  DeviceType type;
  type.name = spec.name + ".cpu";
  type.memory = spec.host.memory;
  type.multiprocessors = static_cast<int>(std::ceil(spec.host.cores));
  type.memory_bandwidth = spec.memory.bandwidth * spec.socket_count();
  return type;
}

DeviceType plain_type(const char* name) {
  DeviceType type;
  type.name = name;
  return type;
}

/// Builds one node: GPUs, what joins them, PCIe switches, sockets, host, drives, NICs.
class NodeBuilder {
 public:
  NodeBuilder(const NodeSpec& spec, int number, ClusterBuilder& builder)
      : spec_(spec), builder_(builder), prefix_(spec.name + "." + std::to_string(number) + ".") {}

  NodeId build() {
    add_entry();
    add_gpus();
    if (spec_.inside == InsideKind::nvswitch) add_nvswitch();
    if (spec_.inside == InsideKind::nvlink_mesh) add_mesh();
    add_sockets();
    add_host();
    add_nics();
    add_pcie();
    return node_;
  }

 private:
  void add_entry() {
    node_ = id_at<NodeId>(builder_.cluster.nodes.size());
    Node& node = builder_.cluster.nodes.emplace_back();
    node.group = spec_.name;
    node.instance = spec_.instance;
    node.zone = spec_.zone;
    node.region = spec_.region;
    node.vendor = spec_.gpu->type.vendor;
    node.market = spec_.market;
    node.price = spec_.price.price;
    node.price_source = spec_.price.source;
    node.devices.reserve(static_cast<std::size_t>(spec_.gpus + spec_.nics + 2));
  }

  void add_gpus() {
    const DeviceTypeId type = builder_.add_type(spec_.gpu->type);
    for (int g = 0; g < spec_.gpus; ++g) {
      const DeviceId gpu = builder_.add_device(prefix_ + std::to_string(g), DeviceKind::gpu, type, node_);
      gpus_.push_back(builder_.vertex_of(gpu));
    }
  }

  void add_nvswitch() {
    const VertexId nvswitch = builder_.add_vertex(prefix_ + "nvswitch");
    for (VertexId gpu : gpus_) builder_.join(gpu, nvswitch, spec_.direct);
  }

  void add_mesh() {
    for (const MeshPair& pair : mesh_pairs(spec_.gpus))
      for (int link = 0; link < pair.links; ++link)
        builder_.join(gpus_[static_cast<std::size_t>(pair.a)], gpus_[static_cast<std::size_t>(pair.b)], spec_.direct,
                      "#" + std::to_string(link));
  }

  void add_sockets() {
    for (int s = 0; s < spec_.socket_count(); ++s)
      sockets_.push_back(builder_.add_vertex(prefix_ + "socket" + std::to_string(s)));
    if (sockets_.size() == 2) builder_.join(sockets_[0], sockets_[1], spec_.sockets);
  }

  void add_host() {
    const DeviceId cpu =
        builder_.add_device(prefix_ + "cpu", DeviceKind::cpu, builder_.add_type(host_type(spec_)), node_);
    for (VertexId socket : sockets_) builder_.join(socket, builder_.vertex_of(cpu), spec_.memory);
    if (spec_.storage.nominal.value == 0) return;
    const DeviceId drives =
        builder_.add_device(prefix_ + "ssd", DeviceKind::storage, builder_.add_type(plain_type("storage")), node_);
    builder_.join(sockets_[0], builder_.vertex_of(drives), spec_.storage);
  }

  void add_nics() {
    if (spec_.nics == 0) return;
    const DeviceTypeId type = builder_.add_type(plain_type("nic"));
    for (int n = 0; n < spec_.nics; ++n) {
      const DeviceId nic = builder_.add_device(prefix_ + "nic" + std::to_string(n), DeviceKind::nic, type, node_);
      nics_.push_back(builder_.vertex_of(nic));
    }
  }

  /// GPU g belongs to NIC floor(g nics / gpus); the switches of a NIC's GPUs reach it directly. Traffic between two
  /// such GPUs does not pass the NIC: routing sees to that.
  void add_pcie() {
    const int blocks = nics_.empty() ? 1 : spec_.nics, switches = spec_.switches();
    int gpu = 0;
    for (int block = 0, number = 0; block < blocks; ++block) {
      while (gpu < spec_.gpus && gpu * blocks / spec_.gpus == block) {
        const VertexId pcie = builder_.add_vertex(prefix_ + "pcie" + std::to_string(number));
        const int socket = number * static_cast<int>(sockets_.size()) / switches;
        for (int k = 0; k < spec_.gpus_per_switch && gpu < spec_.gpus && gpu * blocks / spec_.gpus == block; ++k, ++gpu)
          builder_.join(gpus_[static_cast<std::size_t>(gpu)], pcie, spec_.pcie);
        builder_.join(pcie, sockets_[static_cast<std::size_t>(socket)], spec_.pcie);
        if (!nics_.empty()) builder_.join(pcie, nics_[static_cast<std::size_t>(block)], spec_.pcie);
        ++number;
      }
    }
  }

  const NodeSpec& spec_;
  ClusterBuilder& builder_;
  std::string prefix_;
  NodeId node_{};
  std::vector<VertexId> gpus_, sockets_, nics_;
};

}  // namespace

// nvidia-smi topo -m of a DGX-1V (also AWS p3.16xlarge): every GPU has six links. Recalled.
std::vector<MeshPair> mesh_pairs(int gpus) {
  std::vector<MeshPair> pairs{{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}};
  if (gpus == 4) return pairs;
  for (const MeshPair& across : {MeshPair{0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}}) pairs.push_back(across);
  for (const MeshPair& other : {MeshPair{4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}})
    pairs.push_back(other);
  return pairs;
}

ClusterSize size_of_node(const NodeSpec& spec) {
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  const std::size_t gpus = count(spec.gpus), switches = count(spec.switches()), nics = count(spec.nics);
  ClusterSize size;
  size.nodes = 1;
  size.devices = gpus + nics + 2;
  size.vertices = size.devices + switches + 3;
  size.links = 4 * gpus + 4 * switches + 2 * nics + 8 + (spec.inside == InsideKind::nvlink_mesh ? 48 : 0);
  return size;
}

NodeId add_node(const NodeSpec& spec, int number, ClusterBuilder& builder) {
  return NodeBuilder(spec, number, builder).build();
}

}  // namespace trainyard
