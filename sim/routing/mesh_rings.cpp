#include "sim/routing/mesh_rings.hpp"

#include <algorithm>
#include <cstddef>

namespace trainyard {
namespace {

using Units = std::vector<std::vector<int>>;

constexpr std::size_t kMostCycles = 5000;
constexpr int kMostSteps = 200000;

std::size_t at(int member) { return static_cast<std::size_t>(member); }

/// All directed Hamiltonian cycles through member 0, in lexicographic order.
class CycleList {
 public:
  explicit CycleList(const Units& units) : units_(units), used_(units.size(), false) {
    used_[0] = true;
    path_.push_back(0);
    extend();
  }
  std::vector<MeshRing> cycles;

 private:
  void extend() {
    if (cycles.size() >= kMostCycles) return;
    const auto& row = units_[at(path_.back())];
    if (path_.size() == units_.size()) {
      if (row[0] > 0) cycles.push_back(path_);
      return;
    }
    for (std::size_t next = 1; next < units_.size(); ++next) {
      if (used_[next] || row[next] == 0) continue;
      used_[next] = true;
      path_.push_back(static_cast<int>(next));
      extend();
      path_.pop_back();
      used_[next] = false;
    }
  }

  const Units& units_;
  std::vector<bool> used_;
  MeshRing path_;
};

/// Branch and bound over which cycles to take, each as often as it fits.
class Packing {
 public:
  Packing(Units units, const std::vector<MeshRing>& cycles) : left_(std::move(units)), cycles_(cycles) {
    limit_ = bound();
    choose(0);
  }
  std::vector<MeshRing> best;

 private:
  /// Every ring leaves every member once and enters it once.
  [[nodiscard]] int bound() const {
    int least = -1;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      int out = 0, in = 0;
      for (std::size_t j = 0; j < left_.size(); ++j) {
        out += left_[i][j];
        in += left_[j][i];
      }
      const int most = std::min(out, in);
      if (least < 0 || most < least) least = most;
    }
    return least;
  }

  [[nodiscard]] bool fits(const MeshRing& ring) const {
    for (std::size_t i = 0; i < ring.size(); ++i)
      if (left_[at(ring[i])][at(ring[(i + 1) % ring.size()])] == 0) return false;
    return true;
  }

  void take(const MeshRing& ring, int sign) {
    for (std::size_t i = 0; i < ring.size(); ++i) left_[at(ring[i])][at(ring[(i + 1) % ring.size()])] -= sign;
  }

  void choose(std::size_t from) {
    if (chosen_.size() > best.size()) best = chosen_;
    if (static_cast<int>(best.size()) == limit_ || ++steps_ > kMostSteps) return;
    if (static_cast<int>(chosen_.size()) + bound() <= static_cast<int>(best.size())) return;
    for (std::size_t c = from; c < cycles_.size(); ++c) {
      if (!fits(cycles_[c])) continue;
      take(cycles_[c], 1);
      chosen_.push_back(cycles_[c]);
      choose(c);
      chosen_.pop_back();
      take(cycles_[c], -1);
    }
  }

  Units left_;
  const std::vector<MeshRing>& cycles_;
  std::vector<MeshRing> chosen_;
  int limit_ = 0;
  int steps_ = 0;
};

}  // namespace

std::vector<MeshRing> disjoint_rings(const Units& units) {
  if (units.size() < 2) return {};
  const std::vector<MeshRing> cycles = CycleList(units).cycles;
  return Packing(units, cycles).best;
}

}  // namespace trainyard
