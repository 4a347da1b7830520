#include "sim/lowering/symmetry.hpp"

#include <bit>
#include <cstdint>
#include <unordered_map>

#include "sim/lowering/colour_refinement.hpp"
#include "sim/lowering/host_traffic.hpp"
#include "sim/lowering/scramble.hpp"
#include "sim/lowering/wire.hpp"

namespace trainyard {
namespace {

using Colour = std::uint64_t;

/// A label from any numbers, in order.
class Label {
 public:
  Label& operator<<(double value) { return *this << std::bit_cast<Colour>(value); }
  Label& operator<<(int value) { return *this << static_cast<Colour>(static_cast<std::int64_t>(value)); }
  Label& operator<<(Colour value) {
    hash_ = scramble(hash_ ^ scramble(value));
    return *this;
  }
  [[nodiscard]] Colour value() const { return hash_; }

 private:
  Colour hash_ = 0;
};

/// The graph's vertices: all devices, links, cells and communicators, one range after the other.
class SymmetryGraph {
 public:
  SymmetryGraph(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic, std::span<const LinkId> apart)
      : cluster_(cluster), placement_(placement), traffic_(traffic) {
    links_at_ = cluster.devices.size();
    cells_at_ = links_at_ + cluster.links.size();
    for (const StageRole& role : placement.roles) role_labels_.push_back(label_of(role));
    communicators_at_ = cells_at_ + placement.cells.size();
    hosts_at_ = communicators_at_ + traffic.all.size();
    colours_.assign(hosts_at_ + cluster.nodes.size(), 0);
    used_.assign(colours_.size(), false);
    label_events();
    for (const LinkId link : apart) events_[links_at_ + index(link)] << int(link);
    for (std::size_t i = 0; i < placement.cells.size(); ++i) add_cell(int(i));
    for (std::size_t i = 0; i < traffic.all.size(); ++i) add_communicator(int(i));
  }

  Symmetry partition(bool reduce) {
    if (reduce) {
      const std::vector<int> classes = refine_colours(colours_, arcs_);
      colours_.assign(classes.begin(), classes.end());
    } else {
      for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = i;
    }
    return {slice(0, links_at_), slice(links_at_, cells_at_), slice(cells_at_, communicators_at_),
            slice(communicators_at_, hosts_at_), slice(hosts_at_, colours_.size())};
  }

 private:
  /// What happens to devices and links tells them apart, unless the same happens to others at the same times.
  void label_events() {
    for (const ClusterEvent& event : cluster_.events) {
      if (const auto* change = std::get_if<LinkChange>(&event.what))
        events_[links_at_ + index(change->link)] << event.at.value << change->factor;
      else
        events_[index(std::get<DeviceFailure>(event.what).device)] << event.at.value;
    }
  }

  Colour events_of(std::size_t vertex) const {
    const auto found = events_.find(vertex);
    return found == events_.end() ? 0 : found->second.value();
  }

  void add_device(DeviceId device) {
    if (used_[index(device)]) return;
    used_[index(device)] = true;
    colours_[index(device)] = 
        (Label() << 1 << int(cluster_.devices[index(device)].type) << cluster_.devices[index(device)].slowdown << events_of(index(device))).value();
  }

  void add_link(LinkId id) {
    const std::size_t vertex = links_at_ + index(id);
    if (used_[vertex]) return;
    used_[vertex] = true;
    colours_[vertex] = (Label() << 2 << cluster_.links[index(id)].bandwidth.value << events_of(vertex)).value();
  }

  static Colour label_of(const StageRole& role) {
    Label label;
    label << 3 << role.position << role.stages << role.micro_batches << role.cut.context << int(role.cut.context_kind) << role.zero << role.shards << int(role.regather) << int(role.redundant_forward) << role.cut.tensor
          << int(role.cut.sequence_parallel) << role.cut.sequences << role.cut.experts.ranks << role.cut.experts.tensor;
    label << role.cut.grid.rows << role.cut.grid.columns << role.cut.grid.inner << role.cut.slices.rows << role.cut.slices.columns << int(role.cut.hides_slices);
    label << int(role.wire.all_reduce) << int(role.wire.all_gather);
    for (const auto& [state, type] : role.wire.types) label << int(state) << int(type);
    for (const LayerHome& home : role.homes) {
      label << int(home.early_update);
      for (const Home& of : {home.weights, home.gradients, home.optimizer, home.activations}) label << int(of.place) << of.buffers;
    }
    for (const Recompute& recompute : role.recompute) label << int(recompute.kind) << recompute.every;
    for (const auto& chunk : role.chunks) {
      label << int(chunk.size());
      for (const LayerId layer : chunk) label << int(layer);
    }
    for (const EqualSequences& size : role.sizes) label << size.count << size.tokens << size.samples;
    label << role.exchanged.mean << role.exchanged.most;
    for (const ExchangedRows& rows : role.exchanged_in) label << rows.mean << rows.most;
    for (const ScheduledOperation& op : role.order) label << int(op.kind) << op.micro_batch << op.chunk << op.turn;
    for (const Entry& entry : role.moves) {
      const Operation after = entry.not_before.value_or(Operation{});
      label << int(entry.operation.kind) << entry.operation.micro_batch << entry.operation.chunk << int(after.kind) << after.micro_batch << after.chunk;
    }
    return label.value();
  }

  void add_cell(int i) {
    const int vertex = int(cells_at_) + i;
    used_[vertex] = true;
    const StageRole& role = placement_.role(i);
    colours_[vertex] = placement_.unequal_of[i] < 0 ? role_labels_[placement_.role_of[i]] : label_of(role);
    const auto& members = placement_.cells[i].members;
    for (std::size_t m = 0; m < members.size(); ++m) {
      add_device(members[m]);
      arcs_.push_back({vertex, int(members[m]), role.parts.empty() ? experts_on(i, m) : (Label() << 6 << role.cut_on(m).part << experts_on(i, m)).value()});
    }
  }

  /// Devices whose experts are equally many and have equal loads play the same role.
  Colour experts_on(int cell, std::size_t member) const {
    const StageRole& role = placement_.role(cell);
    if (placement_.cells[cell].seats.empty()) return 1;
    const int rank = placement_.cells[cell].seats[member].rank;
    Label label;
    label << 6 << role.items[rank];
    for (const std::vector<double>& loads : role.loads)
      if (!loads.empty()) label << loads[rank];
    return label.value();
  }

  void add_communicator(int i) {
    const Communicator& group = traffic_.all[i];
    Label label;
    label << 4 << int(group.kind) << group.pairs << group.share << int(group.pattern) << group.from_chunk << group.to_chunk << group.rings << group.hops << group.hop_latency.value << int(group.transport)
          << int(group.members.size()) << group.ring_members << group.limit.value;
    for (const int sharers : group.sharers) label << sharers;
    if (const auto inside = inner_group(cluster_, group)) label << inside->members << inside->rate.value << int(group.inside->transport);
    if (group.run >= 0) label << traffic_.runs[group.run].slices(placement_);
    if (group.run >= 0)
      for (const LayerId layer : traffic_.runs[group.run].layers) label << int(layer);
    const int vertex = int(communicators_at_) + i;
    used_[vertex] = true;
    colours_[vertex] = label.value();
    if (group.host) add_host(vertex, *group.host);
    for (const DeviceId device : group.members) arcs_.push_back({vertex, int(device), 2});
    for (std::size_t c = 0; c < group.cells.size(); ++c)
      arcs_.push_back({vertex, int(cells_at_) + group.cells[c], is_transfer(group) ? 3 + c : 3});
    for (const auto& [link, uses] : group.links) {
      add_link(link);
      arcs_.push_back({vertex, int(links_at_ + index(link)), scramble(Colour(uses))});
    }
  }

  void add_host(int communicator, NodeId node) {
    const std::size_t vertex = hosts_at_ + index(node);
    used_[vertex] = true;
    colours_[vertex] = (Label() << 5 << cluster_.devices[index(host_of(cluster_, node))].memory.value).value();
    arcs_.push_back({communicator, int(vertex), 5});
  }

  static bool is_transfer(const Communicator& group) {
    return group.kind == CommunicatorKind::forward_transfer || group.kind == CommunicatorKind::backward_transfer;
  }

  Partition slice(std::size_t from, std::size_t to) const {
    Partition partition;
    partition.class_of.assign(to - from, -1);
    std::unordered_map<Colour, int> known;
    for (std::size_t i = from; i < to; ++i) {
      if (!used_[i]) continue;
      const auto [found, is_new] = known.try_emplace(colours_[i], partition.classes());
      if (is_new) {
        partition.first.push_back(int(i - from));
        partition.size.push_back(0);
      }
      partition.class_of[i - from] = found->second;
      ++partition.size[found->second];
    }
    return partition;
  }

  const Cluster& cluster_;
  const Placement& placement_;
  const TrafficMap& traffic_;
  std::size_t links_at_ = 0, cells_at_ = 0, communicators_at_ = 0, hosts_at_ = 0;
  std::vector<Colour> colours_;
  std::vector<bool> used_;
  std::vector<LabelledArc> arcs_;
  std::vector<Colour> role_labels_;      ///< [role]
  std::unordered_map<std::size_t, Label> events_;   ///< vertex -> what happens to it
};

}  // namespace

Symmetry find_symmetry(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic, bool reduce,
                       std::span<const LinkId> apart) {
  return SymmetryGraph(cluster, placement, traffic, apart).partition(reduce);
}

}  // namespace trainyard
