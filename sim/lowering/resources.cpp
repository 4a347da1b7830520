#include "sim/lowering/resources.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "sim/lowering/host_traffic.hpp"

namespace trainyard {
namespace {

/// Share of a pass's tensor traffic below which a message does not count beside it.
constexpr double kSmallMessage = 0.05;
constexpr std::array kCommonNames{"compute", "tensor", "context", "expert", "data", "h2d", "d2h", "h2d update", "host"};
constexpr std::array kTransferNames{"forward send", "forward receive", "backward send", "backward receive"};
static_assert(kCommonNames.size() == kCommonStreams && kTransferNames.size() == kTransferStreams);

class ResourceMaker {
 public:
  ResourceMaker(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic, const Symmetry& symmetry,
                bool overlap_pipeline, std::span<const LinkId> apart, Lowered& lowered)
      : cluster_(cluster),
        placement_(placement),
        traffic_(traffic),
        symmetry_(symmetry),
        overlap_pipeline_(overlap_pipeline),
        apart_(apart),
        lowered_(lowered) {}

  Resources make() {
    find_changes();
    for (const StageRole& role : placement_.roles) chunks_ = std::max(chunks_, int(role.chunks.size()));
    for (int c = 0; c < symmetry_.communicators.classes(); ++c) find_members(c);
    add_processors();
    add_hosts();
    find_cell_links();
    count_uses();
    add_channels();
    for (int c = 0; c < symmetry_.communicators.classes(); ++c) add_path(c);
    find_groups();
    for (int c = 0; c < symmetry_.cells.classes(); ++c) add_cell(c);
    return std::move(resources_);
  }

 private:
  [[nodiscard]] bool runs_last_layer(const StageRole& role) const {
    const LayerId end = id_at<LayerId>(placement_.module->layers.size() - 1);
    return std::ranges::find(role.layers, end) != role.layers.end();
  }

  void add_processors() {
    const Partition& devices = symmetry_.devices;
    std::vector<int> tensor(cluster_.devices.size(), 1);
    std::vector<bool> last(cluster_.devices.size(), false);
    for (std::size_t cell = 0; cell < placement_.cells.size(); ++cell)
      for (const DeviceId member : placement_.cells[cell].members) {
        tensor[index(member)] = std::max(tensor[index(member)], placement_.role(int(cell)).cut.tensor);
        if (runs_last_layer(placement_.role(int(cell)))) last[index(member)] = true;
      }
    for (int c = 0; c < devices.classes(); ++c) {
      const Device& device = cluster_.devices[devices.first[c]];
      lowered_.graph.processors.push_back(
          {device.name, cluster_.device_types[index(device.type)].name, int(device.node), device.memory, devices.size[c],
           cluster_.device_types[index(device.type)].interference});
      kernels_slow_flows_ = kernels_slow_flows_ || !cluster_.device_types[index(device.type)].interference.empty();
      lowered_.devices.push_back({id_at<DeviceId>(devices.first[c]), devices.size[c], tensor[devices.first[c]], last[devices.first[c]]});
      add_streams(id_at<ProcessorId>(c));
    }
  }

  /// Behind the devices: they hold bytes and no streams.
  void add_hosts() {
    for (int c = 0; c < symmetry_.hosts.classes(); ++c) {
      const auto node = id_at<NodeId>(std::size_t(symmetry_.hosts.first[c]));
      const Device& host = cluster_.devices[index(host_of(cluster_, node))];
      lowered_.graph.processors.push_back(
          {host.name, cluster_.device_types[index(host.type)].name, int(node), host.memory, symmetry_.hosts.size[c]});
    }
  }

  /// Of which class a host is, and how often it stands among the communicators of a class.
  void place_on_host(int c, const Communicator& group, CommunicatorClass& made) const {
    const int host_class = symmetry_.hosts.class_of[index(*group.host)];
    made.host = id_at<ProcessorId>(std::size_t(symmetry_.devices.classes() + host_class));
    made.per_host = 0;
    for (std::size_t i = 0; i < traffic_.all.size(); ++i)
      made.per_host += symmetry_.communicators.class_of[i] == c && traffic_.all[i].host == group.host;
  }

  /// Passes that hide each other's exchanges take kernels and collectives as they become ready.
  void add_streams(ProcessorId processor) {
    const bool hides = std::ranges::any_of(placement_.roles, &StageRole::hides_exchanges);
    for (int i = 0; i < kCommonStreams; ++i) {
      const bool woven = hides && i <= int(DeviceStream::expert);
      lowered_.graph.streams.push_back({processor, kCommonNames[std::size_t(i)], woven ? Discipline::priority : Discipline::program_order});
    }
    for (int lane = 0; lane < resources_.lanes; ++lane)
      for (const std::string name : kTransferNames)
        lowered_.graph.streams.push_back({processor, name + lane_name(lane), Discipline::program_order});
  }

  std::string lane_name(int lane) const {
    const std::string chunk = chunks_ == 1 ? "" : " " + std::to_string(lane % chunks_);
    return lane < chunks_ ? chunk : chunk + " peer " + std::to_string(lane / chunks_);
  }

  /// The first stream of these devices that is free for a chunk's messages: each class of communicators has its own.
  int take_lane(const std::vector<int>& devices, DeviceStream stream, int chunk) {
    const auto is_taken = [&](int lane) {
      return std::ranges::any_of(devices, [&](int device) { return taken_lanes_.contains({device, stream, lane}); });
    };
    int lane = chunk;
    while (is_taken(lane)) lane += chunks_;
    for (const int device : devices) taken_lanes_.insert({device, stream, lane});
    resources_.lanes = std::max(resources_.lanes, (lane / chunks_ + 1) * chunks_);
    return lane;
  }

  void find_changes() {
    changes_.assign(symmetry_.links.classes(), false);
    for (const LinkId link : apart_)
      if (const int link_class = symmetry_.links.class_of[index(link)]; link_class >= 0) changes_[link_class] = true;
    for (const ClusterEvent& event : cluster_.events)
      if (const auto* change = std::get_if<LinkChange>(&event.what))
        if (const int link_class = symmetry_.links.class_of[index(change->link)]; link_class >= 0) changes_[link_class] = true;
  }

  bool changes(LinkId link) const { return changes_[symmetry_.links.class_of[index(link)]]; }

  void find_cell_links() {
    cell_links_.resize(placement_.cells.size());
    if (std::ranges::none_of(traffic_.all, [](const Communicator& group) { return is_transfer(group.kind); })) return;  // only they ask
    for (const Communicator& group : traffic_.all)
      if (axis_of(group.kind))
        for (const int cell : group.cells)
          for (const auto& use : group.links) cell_links_[cell].insert(use.first);
  }

  /// A message that is small beside the tensor collectives of the operation that sends it is not let meet them on their own links,
  /// or every collective of every layer would have to be simulated as a flow for it. What it could delay is at most its own time.
  bool is_too_small_to_meet(const Communicator& group, LinkId link) const {
    if (!is_transfer(group.kind) || !overlap_pipeline_ || changes(link)) return false;
    return std::ranges::any_of(group.cells, [&](int cell) { return cell_links_[cell].contains(link) && message_share(cell) <= kSmallMessage; });
  }

  /// Copies of each token that a layer sends to its experts.
  double copies_sent(const StageRole& role, std::size_t layer) const {
    const int ranks = role.cut.experts.apart ? role.cut.experts.ranks : 1;
    if (ranks == 1 || role.loads[layer].empty()) return 0;
    double copies = 0;
    for (const Operator& op : placement_.module->types[index(placement_.module->layers[index(role.layers[layer])].type)].operators)
      if (op.exchange == ItemExchange::dispatch) copies = op.items_per_token * (ranks - 1) / ranks;
    return copies;
  }

  /// Bytes of a message over those of a pass's collectives through a port: 1/t of the activations (all of them if they are not
  /// sliced) against four times (t-1)/t of them for each layer of the smallest chunk, and two for each copy of a token sent to experts.
  double message_share(int cell) const {
    const StageRole& role = placement_.role(cell);
    std::size_t layers = role.layers.size();
    for (const auto& chunk : role.chunks) layers = std::min(layers, chunk.size());
    if (role.cut.grid.members() > 1) return 1.0;
    const double t = role.cut.tensor, message = role.cut.sequence_parallel ? 1 / t : 1.0;
    double copies = 0;
    for (std::size_t i = 0; i < layers; ++i) copies += copies_sent(role, i);
    const double collectives = 4.0 * double(layers) * (t - 1) / t + 2 * copies / t;
    return collectives == 0 ? 1.0 : message / collectives;
  }

  /// For each link class: how often each communicator class crosses its first link, and which communicators use it.
  void count_uses() {
    uses_.resize(symmetry_.links.classes());
    users_.resize(symmetry_.links.classes());
    for (std::size_t c = 0; c < traffic_.all.size(); ++c)
      for (const auto& [link, times] : traffic_.all[c].links) {
        const int link_class = symmetry_.links.class_of[index(link)];
        if (symmetry_.links.first[link_class] != int(index(link)) || is_too_small_to_meet(traffic_.all[c], link)) continue;
        uses_[link_class][symmetry_.communicators.class_of[c]] += times;
        users_[link_class].push_back(int(c));
      }
  }

  /// Only links that several classes of communicators share need a channel; the others are limits of their one path.
  void add_channels() {
    resources_.channel_of.assign(uses_.size(), -1);
    for (std::size_t link_class = 0; link_class < uses_.size(); ++link_class) {
      if (uses_[link_class].size() < 2 && !changes_[link_class] && !kernels_slow_flows_) continue;
      const auto link = id_at<LinkId>(std::size_t(symmetry_.links.first[link_class]));
      resources_.channel_of[link_class] = int(lowered_.graph.channels.size());
      lowered_.channel_links.push_back(link);
      lowered_.graph.channels.push_back({cluster_.name_of(link), cluster_.links[index(link)].bandwidth});
    }
  }

  void find_members(int c) {
    const Communicator& group = traffic_.all[symmetry_.communicators.first[c]];
    CommunicatorClass made;
    made.first = &group;
    made.devices = device_classes(group.members.begin(), group.members.end());
    if (is_transfer(group.kind)) {
      const bool forward = group.kind == CommunicatorKind::forward_transfer;
      const auto middle = group.members.begin() + std::ptrdiff_t(placement_.cells[group.cells[0]].members.size());
      made.senders = device_classes(group.members.begin(), middle);
      made.receivers = device_classes(middle, group.members.end());
      made.send_lane = take_lane(made.senders, forward ? DeviceStream::forward_send : DeviceStream::backward_send, group.from_chunk);
      made.receive_lane = take_lane(made.receivers, forward ? DeviceStream::forward_receive : DeviceStream::backward_receive, group.to_chunk);
    }
    if (group.host) place_on_host(c, group, made);
    if (group.kind == CommunicatorKind::reshard_forward || group.kind == CommunicatorKind::reshard_backward) resources_.reshardings.push_back(c);
    resources_.communicators.push_back(std::move(made));
  }

  void add_path(int c) {
    CommunicatorClass& made = resources_.communicators[c];
    made.path = id_at<PathId>(lowered_.graph.paths.size());
    lowered_.graph.paths.push_back(make_path(c, *made.first, made));
  }

  Path make_path(int c, const Communicator& group, CommunicatorClass& made) const {
    Path path;
    std::map<int, int> by_class;
    for (const auto& [link, times] : group.links) {
      const int link_class = symmetry_.links.class_of[index(link)];
      const BytesPerSecond capacity = cluster_.links[index(link)].bandwidth;
      const bool meets_nobody = is_too_small_to_meet(group, link);
      const int together = meets_nobody ? times : uses_[link_class].at(c);
      if (!meets_nobody) by_class[link_class] = together;
      lower(made.lone_rate, capacity / double(times));
      lower(made.ring_rate, capacity / double(together));
      if (meets_nobody || resources_.channel_of[link_class] < 0) lower(path.limit, capacity / double(together));
    }
    if (group.limit.value > 0) lower(path.limit, group.limit);
    if (kernels_slow_flows_) lower(path.limit, made.lone_rate);  // what kernels leave is a share of what the path has alone
    for (const auto& [link_class, together] : by_class)
      if (resources_.channel_of[link_class] >= 0) path.channels.emplace_back(id_at<ChannelId>(resources_.channel_of[link_class]), together);
    return path;
  }

  static void lower(BytesPerSecond& rate, BytesPerSecond bound) {
    if (rate.value == 0 || bound < rate) rate = bound;
  }

  template <class Iterator>
  std::vector<int> device_classes(Iterator from, Iterator to) const {
    std::set<int> classes;
    for (; from != to; ++from) classes.insert(symmetry_.devices.class_of[index(*from)]);
    return {classes.begin(), classes.end()};
  }

  void add_cell(int c) {
    const int cell = symmetry_.cells.first[c];
    const auto& members = placement_.cells[cell].members;
    resources_.cell_devices.push_back(device_classes(members.begin(), members.end()));
    const GroupClasses& groups = resources_.groups_of_cell[c];
    std::vector<int> all;
    for (const std::vector<int>& axis : groups.by_axis) all.insert(all.end(), axis.begin(), axis.end());
    resources_.groups_are_private.push_back(std::ranges::all_of(all, [&](int group) { return joins_one_class(group) && is_private(group); }));
    resources_.groups_meet_gradients.push_back(std::ranges::any_of(all, [&](int group) { return meets_gradients(group); }));
  }

  void find_groups() {
    resources_.groups_of_cell.resize(symmetry_.cells.classes());
    for (int c = 0; c < symmetry_.communicators.classes(); ++c) {
      const Communicator& first = *resources_.communicators[c].first;
      const auto axis = axis_of(first.kind);
      if (!axis) continue;
      for (const int cell : cell_classes_of(first)) resources_.groups_of_cell[cell].by_axis[std::size_t(*axis)].push_back(c);
    }
  }

  std::set<int> cell_classes_of(const Communicator& group) const {
    std::set<int> classes;
    for (const int cell : group.cells) classes.insert(symmetry_.cells.class_of[cell]);
    return classes;
  }

  /// Whether all who meet in it do so at the same times by themselves.
  bool joins_one_class(int group) const { return cell_classes_of(*resources_.communicators[group].first).size() == 1; }

  static bool is_transfer(CommunicatorKind kind) {
    return kind == CommunicatorKind::forward_transfer || kind == CommunicatorKind::backward_transfer;
  }

  /// Gradients wait for the last backward pass of every member, so a gradient group that has a member in the cell cannot meet the
  /// cell's collectives (unless it is overlapped with them, which is decided micro-batch by micro-batch). Transfers that
  /// block both sides run between operations of the cells that they join.
  bool is_private(int group) const {
    const Communicator& own = *resources_.communicators[group].first;
    return std::ranges::all_of(own.links, [&](const auto& use) {
      const int link_class = symmetry_.links.class_of[index(use.first)];
      return !changes_[link_class] && std::ranges::all_of(users_[link_class], [&](int user) { return user_is_harmless(user, group); });
    });
  }

  bool meets_gradients(int group) const {
    return std::ranges::any_of(resources_.communicators[group].first->links, [&](const auto& use) {
      return std::ranges::any_of(users_[symmetry_.links.class_of[index(use.first)]], [&](int user) {
        const CommunicatorKind kind = traffic_.all[user].kind;
        return !axis_of(kind) && !is_transfer(kind);
      });
    });
  }

  /// Groups of the same devices take turns, and cells of one class run at the same times.
  bool user_is_harmless(int user, int group) const {
    const Communicator& other = traffic_.all[user];
    if ((is_transfer(other.kind) && overlap_pipeline_) || other.kind == CommunicatorKind::shards || other.kind == CommunicatorKind::expert_shards || other.host) return false;
    const int own = resources_.communicators[group].first->cells[0];
    return std::ranges::any_of(other.cells, [&](int cell) { return take_turns(cell, own); });
  }

  bool take_turns(int cell, int other) const {
    const auto class_of = [&](DeviceId device) { return symmetry_.devices.class_of[index(device)]; };
    const auto &members = placement_.cells[cell].members, &others = placement_.cells[other].members;
    if (symmetry_.cells.class_of[cell] == symmetry_.cells.class_of[other]) return true;
    return std::ranges::any_of(members, [&](DeviceId member) {
      return std::ranges::find(others, class_of(member), class_of) != others.end();
    });
  }

  const Cluster& cluster_;
  const Placement& placement_;
  const TrafficMap& traffic_;
  const Symmetry& symmetry_;
  bool overlap_pipeline_;
  std::span<const LinkId> apart_;
  bool kernels_slow_flows_ = false;        ///< on some device: links are then channels, and paths keep limits of their own
  Lowered& lowered_;
  Resources resources_;
  std::vector<std::map<int, int>> uses_;   ///< [link class]: communicator class -> crossings of its first link
  std::vector<std::vector<int>> users_;    ///< [link class]: communicators on its first link
  std::vector<std::set<LinkId>> cell_links_;  ///< [cell]: links of its tensor and context groups
  std::set<std::tuple<int, DeviceStream, int>> taken_lanes_;  ///< (device class, stream, lane)
  int chunks_ = 1;                         ///< most of a stage
  std::vector<bool> changes_;              ///< [link class]: its bandwidth changes while the step runs, by itself or for others' traffic
};

}  // namespace

Resources make_resources(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic, const Symmetry& symmetry,
                         bool overlap_pipeline, std::span<const LinkId> apart, Lowered& lowered) {
  return ResourceMaker(cluster, placement, traffic, symmetry, overlap_pipeline, apart, lowered).make();
}

}  // namespace trainyard
