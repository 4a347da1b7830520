// Which nodes of a cluster are alike, and how the nodes that are there look when names do not count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// The nodes that are there in an order that alike sets share: subset(cluster, order) of two sets of equal key are the same cluster but
/// for the numbering of switches.
struct Arrangement {
  std::uint64_t key = 0;
  std::vector<NodeId> order;
};

/// Nodes of one class can be exchanged: same group, equal inside, same links to the same shared switches. Sets of nodes are told apart
/// by how many of each class they hold, up to exchanging switches: colour refinement on the graph of classes and shared switches.
class NodeClasses {
 public:
  explicit NodeClasses(const Cluster& cluster);
  [[nodiscard]] int class_of(NodeId node) const { return class_of_[index(node)]; }
  [[nodiscard]] std::size_t count() const { return shapes_.size(); }
  /// `there`: ascending.
  [[nodiscard]] Arrangement arrange(const std::vector<NodeId>& there) const;

 private:
  /// A neighbour in the graph of classes and shared switches, and what the links to it are like.
  struct Neighbour {
    int vertex = 0;                      ///< classes first, then shared switches
    std::uint64_t like = 0;
  };
  struct Colours {
    std::uint64_t key = 0;
    std::vector<std::uint64_t> of_class;
  };
  void join(int from, int to, std::uint64_t like);
  [[nodiscard]] const Colours& colours(const std::vector<int>& counts) const;
  [[nodiscard]] std::uint64_t mixed(std::size_t vertex, const std::vector<std::uint64_t>& colour, const std::vector<int>& counts) const;

  std::vector<int> class_of_;            ///< [node]
  std::vector<int> group_of_class_;      ///< groups in order of their first nodes
  std::vector<std::uint64_t> shapes_;    ///< [class] inside and links, shared switches not told apart
  std::vector<std::vector<Neighbour>> neighbours_;  ///< [class, then shared switch]
  mutable std::map<std::vector<int>, Colours> known_;
};

}  // namespace trainyard
