// Link-disjoint Hamiltonian rings over a small multigraph: what a mesh of direct links offers to a collective.
#pragma once

#include <vector>

namespace trainyard {

/// Orders of visiting all members, the first being member 0.
using MeshRing = std::vector<int>;

/// The most directed Hamiltonian cycles that together use no unit of a link twice. `units[i][j]`: how many links lead
/// from member i to member j. Exhaustive up to a fixed number of search steps (all meshes of up to 8 devices end far
/// below it), after which the best found so far is returned. Empty where the members are on no common cycle.
[[nodiscard]] std::vector<MeshRing> disjoint_rings(const std::vector<std::vector<int>>& units);

}  // namespace trainyard
