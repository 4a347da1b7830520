#include <cmath>
#include <map>
#include <optional>

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
      : spec_(spec), builder_(builder), number_(number), prefix_(spec.name + "." + std::to_string(number) + ".") {}

  NodeId build() {
    add_entry();
    add_gpus();
    if (spec_.inside == InsideKind::nvswitch) join_gpus(builder_.add_vertex(prefix_ + "nvswitch"));
    if (spec_.inside == InsideKind::domain) join_gpus(builder_.domain(domain_name()));
    if (spec_.inside == InsideKind::nvlink_mesh) add_mesh();
    if (spec_.inside == InsideKind::full_mesh) add_full_mesh();
    if (spec_.inside == InsideKind::listed) {
      add_devices_of_host();
      add_nics();
      add_listed();
      return node_;
    }
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

  [[nodiscard]] std::string domain_name() const {
    return spec_.name + ".nvlink" + std::to_string(number_ / spec_.domain_nodes);
  }

  void join_gpus(VertexId to) {
    for (VertexId gpu : gpus_) builder_.join(gpu, to, spec_.direct);
  }

  void add_full_mesh() {
    for (std::size_t a = 0; a < gpus_.size(); ++a)
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) builder_.join(gpus_[a], gpus_[b], spec_.direct);
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
    for (std::size_t a = 0; a < sockets_.size(); ++a)
      for (std::size_t b = a + 1; b < sockets_.size(); ++b) builder_.join(sockets_[a], sockets_[b], spec_.sockets);
  }

  void add_host() {
    add_devices_of_host();
    for (VertexId socket : sockets_) builder_.join(socket, cpu_, spec_.memory);
    if (drives_) builder_.join(sockets_[0], *drives_, spec_.storage);
  }

  void add_devices_of_host() {
    cpu_ = builder_.vertex_of(
        builder_.add_device(prefix_ + "cpu", DeviceKind::cpu, builder_.add_type(host_type(spec_)), node_));
    if (spec_.storage.nominal.value == 0) return;
    drives_ = builder_.vertex_of(
        builder_.add_device(prefix_ + "ssd", DeviceKind::storage, builder_.add_type(plain_type("storage")), node_));
  }

  /// GPUs, NICs and the host by their words, every other name a switch. The host's memory is behind a bridge, and the
  /// drives too.
  void add_listed() {
    std::map<std::string, VertexId> places;
    for (std::size_t g = 0; g < gpus_.size(); ++g) places[std::to_string(g)] = gpus_[g];
    for (std::size_t n = 0; n < nics_.size(); ++n) places["nic" + std::to_string(n)] = nics_[n];
    places["cpu"] = builder_.add_vertex(prefix_ + "bridge");
    builder_.join(places["cpu"], cpu_, spec_.memory);
    if (drives_) builder_.join(places["cpu"], *drives_, spec_.storage);
    for (const ListedLink& link : spec_.listed) {
      for (const std::string& end : {link.a, link.b})
        if (!places.contains(end)) places[end] = builder_.add_vertex(prefix_ + end);
      for (int k = 0; k < link.count; ++k)
        builder_.join(places[link.a], places[link.b], link.kind, link.count > 1 ? "#" + std::to_string(k) : "");
    }
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
        builder_.join(pcie, sockets_[static_cast<std::size_t>(socket)], spec_.bridge);
        if (!nics_.empty()) builder_.join(pcie, nics_[static_cast<std::size_t>(block)], spec_.pcie);
        ++number;
      }
    }
  }

  const NodeSpec& spec_;
  ClusterBuilder& builder_;
  int number_;
  std::string prefix_;
  NodeId node_{};
  VertexId cpu_{};
  std::optional<VertexId> drives_;
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
  size.links = 4 * gpus + 4 * switches + 2 * nics + 8 + (spec.inside == InsideKind::nvlink_mesh ? 48 : 0) +
               (spec.inside == InsideKind::full_mesh ? gpus * gpus : 0);
  return size;
}

NodeId add_node(const NodeSpec& spec, int number, ClusterBuilder& builder) {
  return NodeBuilder(spec, number, builder).build();
}

}  // namespace trainyard
