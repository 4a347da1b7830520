// Shortest paths over a cluster's links, by breadth-first search from both ends at once.
#pragma once

#include <array>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/units/ids.hpp"

namespace trainyard {

/// What is allowed between two ends.
struct Passage {
  bool gpus = false;    ///< GPUs may hand traffic on
  bool nics = true;     ///< NICs may hand traffic on
  bool bridges = true;  ///< so may host bridges: vertices without a device that lead straight to a host
};

/// The graph of a cluster's vertices, and one search on it at a time.
class PathSearch {
 public:
  explicit PathSearch(const Cluster& cluster);

  /// Links from one vertex to another, in order: the fewest; of those the widest bottleneck; of those the lower link id
  /// at the first difference seen from either end. Nothing where there is no path. O(surroundings of both ends up to
  /// the middle).
  [[nodiscard]] std::optional<std::vector<LinkId>> find(VertexId from, VertexId to, Passage passage);

  /// The nearest NIC of a GPU's own node, ties to the wider way, then to the lower vertex; nothing if none is reached.
  [[nodiscard]] std::optional<VertexId> nearest_nic(VertexId gpu);

  /// Whether a way crosses a NIC.
  [[nodiscard]] bool by_nic(const std::vector<LinkId>& way) const;

  /// Links that lead straight from one vertex to another, by id.
  [[nodiscard]] std::vector<LinkId> between(VertexId from, VertexId to) const;

 private:
  struct LinkIndex {
    std::int32_t link = 0;
    double width = 0;  ///< the link's bandwidth
  };
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, LinkIndex>;

  enum class Passing : std::uint8_t { always, gpu, nic, bridge, never };

  /// How a vertex was reached from one end.
  struct Reached {
    std::uint32_t search = 0;  ///< number of the search that wrote this; older ones count as not reached
    std::int32_t distance = 0;
    std::int32_t link = -1;  ///< last link of the way to here
    double bottleneck = 0;
  };

  /// One of the two ends.
  struct Side {
    Graph graph;                         ///< links as this side follows them: the far one from their ends
    Graph plain;                         ///< without the links to and from NICs
    std::vector<std::int32_t> edges;     ///< [vertex]: that are looked at from there
    std::vector<Reached> reached;        ///< [vertex]
    std::vector<std::int32_t> frontier;  ///< vertices at `distance`
    std::vector<std::int32_t> next;
    std::int32_t distance = 0;
  };

  [[nodiscard]] Graph graph_of(bool forward, bool with_nics) const;
  void classify_vertices();
  void prepare(Side& side, bool forward) const;
  void list_nics();
  void mark_nics_of_ends();
  [[nodiscard]] bool passes(std::int32_t vertex) const;
  [[nodiscard]] std::size_t work(const Side& side) const;
  [[nodiscard]] bool strange_nic(std::size_t vertex) const;
  template <class Follow>
  void neighbours(const Side& side, std::size_t vertex, const Follow& follow) const;
  template <class Follow>
  void nics_of_ends(const Side& side, std::size_t vertex, const Follow& follow) const;
  void start(Side& side, VertexId at);
  void expand(Side& side);
  inline void reach(Side& side, std::int32_t vertex, std::int32_t link, double bottleneck) const;
  [[nodiscard]] std::int32_t meeting(const Side& grown, const Side& other) const;
  [[nodiscard]] std::vector<LinkId> path_through(std::int32_t middle) const;

  const Cluster& cluster_;
  std::vector<Passing> passing_;        ///< [vertex]
  std::vector<std::int32_t> node_;      ///< [vertex]: of the device there, or -1
  std::vector<std::int32_t> nic_node_;  ///< [vertex]: the same for NICs only
  std::vector<std::vector<std::int32_t>> beside_nics_;  ///< [node]: vertices joined to its NICs
  std::vector<std::uint32_t> beside_end_;  ///< [vertex]: number of the last search one of whose ends has a NIC there
  std::array<std::int32_t, 2> nodes_{};  ///< of both ends of this search
  Side ahead_, behind_;
  Passage passage_;
  std::uint32_t search_ = 0;
};

}  // namespace trainyard
