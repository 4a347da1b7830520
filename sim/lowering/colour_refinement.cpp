#include "sim/lowering/colour_refinement.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>

#include "sim/lowering/scramble.hpp"

namespace trainyard {
namespace {

class Refinement {
 public:
  Refinement(const std::vector<std::uint64_t>& colours, const std::vector<LabelledArc>& arcs)
      : arcs_(arcs), sums_(colours.size(), 0), is_touched_(colours.size(), false) {
    number_classes(colours);
    list_neighbours();
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      add(int(i), arcs[i].from, class_of_[arcs[i].to]);
      add(int(i), arcs[i].to, class_of_[arcs[i].from]);
    }
  }

  std::vector<int> run() {
    while (!touched_.empty()) {
      split();
      for (const Move& move : moves_) tell_neighbours(move);
    }
    return std::move(class_of_);
  }

 private:
  struct Move {
    int vertex, before;
  };

  void number_classes(const std::vector<std::uint64_t>& colours) {
    std::unordered_map<std::uint64_t, int> known;
    for (const std::uint64_t colour : colours) {
      const int number = known.try_emplace(colour, int(known.size())).first->second;
      class_of_.push_back(number);
      if (number == int(sizes_.size())) sizes_.push_back(0);
      ++sizes_[number];
    }
  }

  void list_neighbours() {
    begin_.assign(class_of_.size() + 1, 0);
    for (const LabelledArc& arc : arcs_) ++begin_[arc.from + 1], ++begin_[arc.to + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    arcs_of_.resize(arcs_.size() * 2);
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t i = 0; i < arcs_.size(); ++i)
      for (const int end : {arcs_[i].from, arcs_[i].to}) arcs_of_[next[end]++] = int(i);
  }

  /// What an arc adds to the sum of one end when the other is in `other_class`.
  [[nodiscard]] std::uint64_t term(int arc, int end, int other_class) const {
    const auto code = static_cast<std::uint64_t>(other_class);
    return scramble(arcs_[arc].label ^ scramble(end == arcs_[arc].from ? code : ~code));
  }

  void add(int arc, int end, int other_class) {
    sums_[end] += term(arc, end, other_class);
    touch(end);
  }

  void touch(int vertex) {
    if (is_touched_[vertex]) return;
    is_touched_[vertex] = true;
    touched_.push_back(vertex);
  }

  /// Splits every class with touched members by their sums.
  void split() {
    moves_.clear();
    sort_touched();
    for (const int vertex : touched_) is_touched_[vertex] = false;
    for (std::size_t from = 0, to = 0; from < touched_.size(); from = to) {
      while (to < touched_.size() && class_of_[touched_[to]] == class_of_[touched_[from]]) ++to;
      split_class(std::span(touched_).subspan(from, to - from));
    }
    touched_.clear();
  }

  /// By class, sum and number; their keys side by side in memory.
  void sort_touched() {
    keys_.clear();
    for (const int vertex : touched_) keys_.emplace_back(class_of_[vertex], sums_[vertex], vertex);
    std::ranges::sort(keys_);
    for (std::size_t i = 0; i < keys_.size(); ++i) touched_[i] = std::get<2>(keys_[i]);
  }

  /// `members` of one class, all that were touched, in order of their sums. Members that were not touched keep the class, as do those
  /// of the same sum; where all were touched, the most numerous do, so that few move.
  void split_class(std::span<const int> members) {
    const int before = class_of_[members.front()];
    const bool all = sizes_[before] == int(members.size());
    if (int(sum_of_.size()) < int(sizes_.size())) sum_of_.resize(sizes_.size(), 0);
    if (all) sum_of_[before] = most_frequent_sum(members);
    for (std::size_t from = 0, to = 0; from < members.size(); from = to) {
      const std::uint64_t sum = sums_[members[from]];
      while (to < members.size() && sums_[members[to]] == sum) ++to;
      if (sum != sum_of_[before]) move(members.subspan(from, to - from), before);
    }
  }

  [[nodiscard]] std::uint64_t most_frequent_sum(std::span<const int> members) const {
    std::size_t most = 0;
    std::uint64_t best = 0;
    for (std::size_t from = 0, to = 0; from < members.size(); from = to) {
      while (to < members.size() && sums_[members[to]] == sums_[members[from]]) ++to;
      if (to - from > most) most = to - from, best = sums_[members[from]];
    }
    return best;
  }

  void move(std::span<const int> members, int before) {
    const int made = int(sizes_.size());
    sizes_.push_back(int(members.size()));
    sizes_[before] -= int(members.size());
    sum_of_.resize(sizes_.size(), 0);
    sum_of_[made] = sums_[members.front()];
    for (const int vertex : members) {
      class_of_[vertex] = made;
      moves_.push_back({vertex, before});
    }
  }

  void tell_neighbours(const Move& move) {
    for (std::size_t i = begin_[move.vertex]; i < begin_[move.vertex + 1]; ++i) {
      const int arc = arcs_of_[i];
      const int other = arcs_[arc].from == move.vertex ? arcs_[arc].to : arcs_[arc].from;
      sums_[other] += term(arc, other, class_of_[move.vertex]) - term(arc, other, move.before);
      touch(other);
    }
  }

  const std::vector<LabelledArc>& arcs_;
  std::vector<int> class_of_, sizes_;        ///< [vertex], [class]
  std::vector<std::uint64_t> sums_, sum_of_; ///< [vertex]; [class]: of the members that are not touched
  std::vector<std::size_t> begin_;           ///< [vertex]: of its arcs in arcs_of_
  std::vector<int> arcs_of_, touched_;
  std::vector<char> is_touched_;
  std::vector<Move> moves_;
  std::vector<std::tuple<int, std::uint64_t, int>> keys_;
};

}  // namespace

std::vector<int> refine_colours(const std::vector<std::uint64_t>& colours, const std::vector<LabelledArc>& arcs) {
  return Refinement(colours, arcs).run();
}

}  // namespace trainyard
