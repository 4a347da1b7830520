#include "sim/cost/schedule_shapes.hpp"

#include <algorithm>
#include <deque>

namespace trainyard {
namespace {

/// Takes up the next micro-batch of each kind in turn; those beyond the last are left out.
class VWriter {
 public:
  explicit VWriter(int micro_batches) : micro_batches_(micro_batches) {}

  void forward(int chunk) { add('F', chunk, forward_[chunk]++); }
  void backward(int chunk) { add('B', chunk, backward_[chunk]++); }
  void weights(int chunk) { add('W', chunk, weights_[chunk]++); }
  void whole_backward(int chunk) {
    backward(chunk);
    weights(chunk);
  }
  [[nodiscard]] int forwards(int chunk) const { return forward_[chunk]; }
  [[nodiscard]] int weights_due(int chunk) const { return backward_[chunk] - weights_[chunk]; }
  [[nodiscard]] StageOrder take() { return std::move(order_); }

 private:
  void add(char kind, int chunk, int micro_batch) {
    if (micro_batch < micro_batches_) order_.push_back({kind, micro_batch, chunk});
  }

  int micro_batches_;
  int forward_[2]{}, backward_[2]{}, weights_[2]{};
  StageOrder order_;
};

/// What a device of DualPipe does for two directions; of its two stages the near one is closer to its pipeline's start.
class BidirectionalWriter {
 public:
  enum Direction { near, far };

  void forward(Direction way) { add(way, {'F', forward_[way]++, 0}); }
  void backward(Direction way) { add(way, {'B', backward_[way]++, 0}); }
  /// Input gradients now, weight gradients when asked for.
  void input_gradients(Direction way) {
    due_.emplace_back(way, backward_[way]);
    backward(way);
  }
  void oldest_weights() {
    const auto [way, micro_batch] = due_.front();
    due_.pop_front();
    add(way, {'W', micro_batch, 0});
  }
  [[nodiscard]] StageOrder take(Direction way) { return std::move(orders_[way]); }

 private:
  void add(Direction way, ScheduledOperation op) {
    op.turn = turn_++;
    orders_[way].push_back(op);
  }

  int turn_ = 0;
  int forward_[2]{}, backward_[2]{};
  std::deque<std::pair<Direction, int>> due_;
  StageOrder orders_[2];
};

template <class Action>
void times(int count, Action action) {
  for (int i = 0; i < count; ++i) action();
}

}  // namespace

StageOrder v_shaped_order(const StagePosition& at) {
  // A pipeline with fewer micro-batches does what a full one does, without those that it lacks.
  const int full = std::max(at.micro_batches, 2 * at.stages - 1), behind = at.stages - at.stage;
  VWriter writer(at.micro_batches);
  times(2 * behind - 1, [&] { writer.forward(0); });
  times(at.stage, [&] { writer.forward(1), writer.forward(0); });
  times(behind, [&] { writer.forward(1), writer.whole_backward(1); });
  while (writer.forwards(1) < writer.forwards(0) || writer.forwards(0) < full) {
    if (writer.forwards(0) < full) writer.forward(0);
    writer.whole_backward(0);
    writer.forward(1);
    writer.whole_backward(1);
  }
  times(at.stage, [&] { writer.backward(0), writer.backward(1); });
  times(behind, [&] { writer.backward(0), writer.weights(0); });
  times(writer.weights_due(1), [&] { writer.weights(1); });
  times(writer.weights_due(0), [&] { writer.weights(0); });
  return writer.take();
}

StageOrder bidirectional_order(const StagePosition& at) {
  constexpr auto near = BidirectionalWriter::near, far = BidirectionalWriter::far;
  const int to_start = std::min(at.stage, at.stages - 1 - at.stage), to_middle = at.stages / 2 - 1 - to_start;
  BidirectionalWriter writer;
  times(2 * to_middle, [&] { writer.forward(near); });
  times(to_start + 1, [&] { writer.forward(near), writer.forward(far); });
  times(to_middle, [&] { writer.input_gradients(far), writer.oldest_weights(), writer.forward(far); });
  times(at.micro_batches - at.stages + to_start + 1,
        [&] { writer.forward(near), writer.backward(far), writer.forward(far), writer.backward(near); });
  times(to_middle, [&] { writer.backward(far), writer.forward(far), writer.backward(near); });
  // The second half of what is left to go back puts its weight gradients off, to send the input gradients sooner.
  for (int i = 0; i < 2 * (to_start + 1); ++i) {
    const auto way = i % 2 == 0 ? far : near;
    i > to_start ? writer.input_gradients(way) : writer.backward(way);
  }
  times(to_middle, [&] { writer.oldest_weights(), writer.input_gradients(near); });
  times(to_start + 1, [&] { writer.oldest_weights(); });
  return writer.take(at.stage < at.stages / 2 ? near : far);
}

}  // namespace trainyard
