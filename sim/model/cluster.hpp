// What exists: nodes, devices, the links between them, and how fast each kind of device works.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/model/data_type.hpp"
#include "sim/model/operator_class.hpp"
#include "sim/model/software.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

enum class DeviceKind { gpu, cpu, storage, nic, switch_ };   ///< whatever computes or holds bytes
enum class MarketKind { on_demand, spot, reserved };

/// Efficiency of matrix products as a smooth function of the shape (fidelity.md §2):
///   t = ((2mnk (1 + k0/k) q^a / (peak e s))^3 + (bytes / (0.85 BW))^3)^(1/3) + t0
/// q: padded over true work with the best tile in whole waves of multiprocessors.
struct GemmCurve {
  double efficiency = 0.8;       ///< e: share of the peak that large isolated products reach
  double k_half = 0;             ///< k0
  double quantisation = 0;       ///< a
  double sustained = 1;          ///< s: training against isolated kernels
  Seconds launch{};              ///< t0
};

/// rate = peak_rate / (1 + half_length / S) on causal FLOPs (half of the full square), S the sequence length.
struct AttentionCurve {
  FlopsPerSecond forward{}, backward{};
  double forward_half_length = 0, backward_half_length = 0;
};

/// Facts and fitted parameters of one kind of device; a key of the GPU catalogue.
struct DeviceType {
  std::string name;                                    ///< e.g. "A100-SXM4-80GB"
  std::string vendor, generation;
  Bytes memory{};                                      ///< as the device reports it
  Bytes reserved{};                                    ///< context, communicators, library workspaces: not for tensors
  int multiprocessors = 0;
  std::map<DataType, FlopsPerSecond> peak;             ///< dense
  BytesPerSecond memory_bandwidth{};
  double memory_efficiency = 0.72;                     ///< share of it that memory-bound kernels reach
  Seconds kernel_launch{};                             ///< gap a memory-bound kernel costs
  std::map<DataType, GemmCurve> gemm;
  std::map<DataType, GemmCurve> grouped_gemm;          ///< one product an expert; a missing type: not measured
  std::map<AttentionKernel, AttentionCurve> attention; ///< a missing kernel: not available on this device
  double power_watts = 0;                              ///< board power
  double collective_share = 0;                         ///< of the multiprocessors, that a collective's kernel takes while it moves data
  std::vector<Interference> interference;              ///< how kernels slow collectives beside them
  std::string interference_source;                     ///< where the two were read; "": not known, taken as none
  bool extrapolated = false;                           ///< parameters inherited from another generation
};

struct Device {
  std::string name;              ///< GROUP.NODE.DEVICE, e.g. "a100.0.3"; cpu, ssd, nic with their word: "a100.0.cpu"
  DeviceKind kind = DeviceKind::gpu;
  DeviceTypeId type{};           ///< meaningful for gpu; others have types of their own
  NodeId node{};
  Bytes memory{};
  VertexId vertex{};
  double slowdown = 1;           ///< its kernels take so many times as long as its type says
};

/// What a protocol's messages cost: setup, each message between neighbours on the way, each further one inside a node on a way
/// between nodes, the ramp, and the share of the links' bandwidth that its bytes get.
struct MessageTimes {
  Seconds setup{}, step{}, inner{}, ramp{};
  double rate = 1;
};

/// What a library expects of a protocol when it chooses: setup + step · messages + inner · messages inside + x / rate, ramp 0.
struct Expectation {
  MessageTimes times;
  std::vector<double> by_size;   ///< factors of rate for messages of 64 B, 128 B, .. and all larger ones; empty: 1
};

/// One of the ways in which a library sends an algorithm's messages (NCCL: ll, ll128, simple).
struct Protocol {
  std::string name;              ///< "": the only one
  MessageTimes times;
  std::optional<Expectation> expected;  ///< by which the library chooses; absent: it knows the true times
};

/// One way of running a collective over a class of links.
struct AlgorithmTimes {
  std::vector<Protocol> protocols;       ///< at least one
  int from = 2;                  ///< members or nodes (whichever hops count) below which it is not chosen
  bool on_request = false;       ///< needs a switch or library that not every cluster has: never chosen unasked
  bool shared = false;           ///< all members' bytes pass one place (staging in host memory): `rate` is all members'
  double own = 0;                ///< all-to-all: share of a member's own part that costs as if it were sent
};

/// How a class of links behaves beyond its bandwidth; x = bytes on the busiest link / bandwidth. Transfers, and collectives without
/// measurements of their own:    t = setup + step · steps + x + sqrt(x · ramp)
/// A protocol's messages:         t = setup + hypot(step · messages + inner · messages inside, x / rate) + sqrt(x / rate · ramp)
struct Transport {
  std::string name;              ///< nvlink3, pcie4, infiniband, efa, ethernet, ..
  Seconds setup{};               ///< a0: a collective or transfer that does nothing
  Seconds step{};                ///< a1: each further step of its algorithm, there and back
  Seconds ramp{};                ///< c
  bool bridge = false;           ///< of a PCIe switch to a socket: peers that meet there go by its times, not those of the slots
  bool direct_memory = true;     ///< devices reach it without staging through the host
  std::string family{};          ///< of network cards: only equal families exchange memory directly; "": not a network
  std::optional<AlgorithmTimes> ring;  ///< absent: setup, step and ramp, which always hold for single transfers
  std::optional<AlgorithmTimes> tree, in_network, exchange;  ///< exchange: all-to-all
};

/// One direction of a link. `bandwidth` is what bulk traffic reaches (nominal × the transport's efficiency).
struct Link {
  std::string name;              ///< "": Cluster::name_of makes it from both ends, which saves memory
  VertexId from{}, to{};
  BytesPerSecond bandwidth{};
  BytesPerSecond nominal{};
  Seconds latency{};             ///< of one message over this link
  TransportId transport{};
};

struct Node {
  std::string group;             ///< name of its entry in `cluster.nodes`
  std::string instance;          ///< catalogue key, or ""
  std::string zone, region, vendor;
  MarketKind market = MarketKind::on_demand;
  DollarsPerSecond price{};      ///< of the whole node
  std::string price_source;      ///< where and when the price was read; "" = no price known
  std::vector<DeviceId> devices; ///< GPUs first, in order; then cpu, storage, nics
};

/// From now on the link has this share of its bandwidth; 0: it is dead.
struct LinkChange {
  LinkId link{};
  double factor = 1;
};
/// The device is gone from now on.
struct DeviceFailure {
  DeviceId device{};
};
/// Something that happens `at` this time after the start of the first simulated step.
struct ClusterEvent {
  Seconds at{};
  std::variant<LinkChange, DeviceFailure> what;
};

/// Vertices are device ports and switches; `vertices` counts them and links join them.
struct Cluster {
  std::string fabric;            ///< one line, for people
  std::vector<DeviceType> device_types;
  std::vector<Transport> transports;
  std::vector<Node> nodes;
  std::vector<Device> devices;   ///< node by node
  std::vector<Link> links;
  std::vector<std::string> vertices;  ///< names
  std::vector<ClusterEvent> events;   ///< in order of time
  [[nodiscard]] const DeviceType& type_of(DeviceId d) const { return device_types[index(devices[index(d)].type)]; }
  /// The link's own name, else FROM>TO.
  [[nodiscard]] std::string name_of(LinkId link) const;
  /// All GPUs, node by node: the default `devices` of a Plan.
  [[nodiscard]] std::vector<DeviceId> gpus() const;
};

}  // namespace trainyard
