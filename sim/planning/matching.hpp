// Who is paired with whom, and in which order to visit: the graph problems of planners that place work on a network.
#pragma once

#include <vector>

namespace trainyard {

/// Pairs of two sets of equal size.
struct Matching {
  std::vector<int> partners;             ///< [place in the first set]: place in the second
  double longest = 0;                    ///< weight of the heaviest pair
};

/// The perfect matching whose heaviest pair is lightest, by bisection over the weights and augmenting paths. `weights`: square, [first][second].
[[nodiscard]] Matching bottleneck_matching(const std::vector<std::vector<double>>& weights);

struct OpenPath {
  double length = 0;
  std::vector<int> order;                ///< of the points
};

/// The shortest path through all points that need not return: exact by dynamic programming over subsets up to ten points (Held and Karp),
/// beyond that the best of the nearest-neighbour walks. `distance`: square and symmetric.
[[nodiscard]] OpenPath shortest_open_path(const std::vector<std::vector<double>>& distance);

}  // namespace trainyard
