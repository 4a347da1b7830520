#include "sim/cost/slice_order.hpp"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

bool has_kernel(const TimedPiece& piece) { return piece.kernel.alone > Seconds(0); }

/// Writes the steps of slices, block by block.
class OrderWriter {
 public:
  OrderWriter(std::span<const TimedPiece> pieces, const LayerCut& cut, bool each_kernel)
      : pieces_(pieces), each_kernel_(each_kernel), slices_(std::size_t(cut.slices.rows)), states_(cut.hides_slices ? slices_ : 1) {}

  SliceOrder write() {
    for (std::size_t from = 0; from < pieces_.size();) {
      const std::size_t to = end_of_block(from);
      for (std::size_t slice = 0; slice < slices_; ++slice) write_block(from, to, states_[slice % states_.size()]);
      from = to;
    }
    for (State& state : states_) {
      settle(state);
      order_.last.insert(order_.last.end(), state.ends.begin(), state.ends.end());
    }
    return std::move(order_);
  }

 private:
  struct State {
    std::vector<std::size_t> ends, pending;   ///< what the next step waits for, and what the next that is not `behind` does, too
  };

  /// A block ends with a collective, and with the last of several that are `behind` their kernels.
  std::size_t end_of_block(std::size_t from) const {
    while (from < pieces_.size() && !pieces_[from].collective) ++from;
    if (from == pieces_.size()) return from;
    while (pieces_[from].behind && from + 1 < pieces_.size() && pieces_[from + 1].behind) ++from;
    return from + 1;
  }

  void write_block(std::size_t from, std::size_t to, State& state) {
    for (std::size_t i = from; i < to;) {
      const TimedPiece& piece = pieces_[i];
      if (!piece.collective) {
        std::size_t next = i + 1;
        while (!each_kernel_ && next < to && !pieces_[next].collective) ++next;
        settle(state);
        state.ends = {add(i, next, false, state.ends)};
        i = next;
        continue;
      }
      if (!piece.behind) settle(state);
      write_collective(i, state);
      ++i;
    }
  }

  void write_collective(std::size_t i, State& state) {
    const TimedPiece& piece = pieces_[i];
    if (piece.behind) {
      state.ends = {add(i, i + 1, false, state.ends)};
      state.pending.push_back(add(i, i + 1, true, state.ends));
      return;
    }
    std::vector<std::size_t> ends;
    if (has_kernel(piece)) ends.push_back(add(i, i + 1, false, state.ends));
    ends.push_back(add(i, i + 1, true, state.ends));
    state.ends = std::move(ends);
  }

  static void settle(State& state) {
    if (state.pending.empty()) return;
    state.ends.insert(state.ends.end(), state.pending.begin(), state.pending.end());
    state.pending.clear();
  }

  std::size_t add(std::size_t from, std::size_t to, bool collective, const std::vector<std::size_t>& after) {
    order_.steps.push_back({from, to, collective, after});
    return order_.steps.size() - 1;
  }

  std::span<const TimedPiece> pieces_;
  bool each_kernel_;
  std::size_t slices_;
  std::vector<State> states_;            ///< one a slice, or one for all where they follow each other
  SliceOrder order_;
};

/// Runs steps on a compute and a tensor stream, each in order.
class TwoStreams {
 public:
  TwoStreams(std::span<const TimedPiece> pieces, const SliceOrder& order) : pieces_(pieces), order_(order), done_(order.steps.size()) {
    for (std::size_t i = 0; i < order.steps.size(); ++i) queues_[order.steps[i].collective].push_back(i);
  }

  Seconds run() {
    Seconds now{};
    while (start(0) | start(1)) now += advance();
    return now;
  }

 private:
  struct Running {
    std::size_t next = 0;                ///< of the queue
    bool busy = false;
    Seconds delay{}, work{};             ///< left
    double share = 0;
  };

  /// Whether something runs on the stream, now or already.
  bool start(std::size_t stream) {
    Running& running = running_[stream];
    if (running.busy) return true;
    if (running.next == queues_[stream].size()) return false;
    const SliceStep& step = order_.steps[queues_[stream][running.next]];
    if (!std::ranges::all_of(step.after, [&](std::size_t before) { return done_[before]; })) return false;
    running.busy = true;
    running.delay = running.work = Seconds(0);
    const TimedPiece& first = pieces_[step.from];
    if (step.collective) {
      running.delay = first.collective->delay;
      running.work = first.collective_alone - first.collective->delay;
      running.share = first.share;
    } else {
      for (std::size_t i = step.from; i < step.to; ++i) running.work += pieces_[i].kernel.alone;
    }
    return true;
  }

  double rate(std::size_t stream) const {
    const Running& collective = running_[1];
    return stream == 0 && collective.busy && collective.delay <= Seconds(0) ? 1 - collective.share : 1;
  }

  /// To the next end of a delay or of work.
  Seconds advance() {
    Seconds least{};
    bool any = false;
    const auto left = [&](std::size_t stream) {
      const Running& running = running_[stream];
      return running.delay > Seconds(0) ? running.delay : running.work / rate(stream);
    };
    for (std::size_t stream = 0; stream < 2; ++stream)
      if (running_[stream].busy && (!any || left(stream) < least)) least = left(stream), any = true;
    const std::array lefts{left(0), left(1)};
    const double kernel_rate = rate(0);
    for (std::size_t stream = 0; stream < 2; ++stream)
      if (running_[stream].busy) pass(stream, least, lefts[stream] <= least, stream == 0 ? kernel_rate : 1);
    return least;
  }

  void pass(std::size_t stream, Seconds time, bool ends, double rate) {
    Running& running = running_[stream];
    if (running.delay > Seconds(0)) {
      running.delay = ends ? Seconds(0) : running.delay - time;
      if (!ends || running.work > Seconds(0)) return;
    } else if (!ends) {
      running.work -= time * rate;
      return;
    }
    done_[queues_[stream][running.next++]] = true;
    running.busy = false;
  }

  std::span<const TimedPiece> pieces_;
  const SliceOrder& order_;
  std::vector<bool> done_;
  std::array<std::vector<std::size_t>, 2> queues_;
  std::array<Running, 2> running_;
};

}  // namespace

SliceOrder slice_order(std::span<const TimedPiece> pieces, const LayerCut& cut, bool each_kernel) {
  return OrderWriter(pieces, cut, each_kernel).write();
}

Seconds pass_time(std::span<const TimedPiece> pieces, const LayerCut& cut) {
  if (cut.slices == Slices{}) {
    Seconds sum{};
    for (const TimedPiece& piece : pieces) sum += piece.alone();
    return sum;
  }
  const SliceOrder order = slice_order(pieces, cut);
  return TwoStreams(pieces, order).run();
}

}  // namespace trainyard
