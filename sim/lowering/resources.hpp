// Processors, streams, channels and paths of the graph: one for each class of devices, links and communicators.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "sim/lowering/lower.hpp"
#include "sim/lowering/symmetry.hpp"

namespace trainyard {

/// Streams that every simulated device has; the transfers' once a lane, since messages of different
/// chunks and to different peers pass each other.
/// `refresh` carries updated weights to the device, beside the fetches of `h2d`; `host`: the device's worker on its host.
enum class DeviceStream {
  compute, tensor, context, expert, data, h2d, d2h, refresh, host, forward_send, forward_receive, backward_send, backward_receive
};
inline constexpr int kCommonStreams = 9, kTransferStreams = 4;

/// How a class of communicators runs: its path in the graph, its rate and what it shares.
struct CommunicatorClass {
  const Communicator* first = nullptr;
  PathId path{};
  BytesPerSecond ring_rate{};            ///< with only its own class on the links
  BytesPerSecond lone_rate{};            ///< with only itself on the links
  std::vector<int> devices;              ///< classes of its members, ascending, each once
  std::vector<int> senders, receivers;   ///< transfers: classes of either side
  int send_lane = 0, receive_lane = 0;   ///< transfers: streams of either side
  ProcessorId host{};                    ///< copies and host work: the host
  int per_host = 1;                      ///< the same: communicators of this class on each host
};

/// Communicator classes of a cell's groups and of the expert groups that its devices are in, by axis.
struct GroupClasses {
  std::array<std::vector<int>, 7> by_axis;
  [[nodiscard]] const std::vector<int>& of(LayerGroup axis) const { return by_axis[std::size_t(axis)]; }
};

/// The part of the graph that all tasks stand on, and how to find it.
struct Resources {
  std::vector<CommunicatorClass> communicators;  ///< [communicator class]
  std::vector<int> channel_of;           ///< [link class]; -1: its capacity is its one path's limit
  std::vector<GroupClasses> groups_of_cell;  ///< [cell class]
  std::vector<bool> groups_are_private;  ///< [cell class]: nobody else's traffic meets its collectives, except its own gradients
  std::vector<bool> groups_meet_gradients;   ///< [cell class]: gradients travel over links of its groups
  std::vector<std::vector<int>> cell_devices;    ///< [cell class]: classes of its members, ascending, each once
  std::vector<int> reshardings;          ///< communicator classes of changes of layout inside a stage
  int lanes = 1;                         ///< most in one direction of a device
  [[nodiscard]] StreamId stream(int device_class, DeviceStream which, int lane = 0) const {
    const int of_device = device_class * (kCommonStreams + kTransferStreams * lanes);
    return id_at<StreamId>(std::size_t(of_device + lane * kTransferStreams + int(which)));
  }
};

/// Fills processors, streams, channels and paths of `lowered.graph`. A path lists a link's class as often as communicators of its
/// class cross one such link. Links that only one class of communicators uses, and whose bandwidth stays, become the path's limit,
/// unless kernels slow flows or others use the link (`apart`).
[[nodiscard]] Resources make_resources(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic,
                                       const Symmetry& symmetry, bool overlap_pipeline, std::span<const LinkId> apart, Lowered& lowered);

}  // namespace trainyard
