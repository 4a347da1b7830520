#include "tests/engine/graphs.hpp"

#include <algorithm>
#include <random>

namespace trainyard {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  /// In thousandths of a unit, so that ties happen.
  double amount(int most) { return below(most * 1000) / 1000.0; }

 private:
  std::mt19937 engine_;
};

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : dice_(seed) {}

  TaskGraph make() {
    add_resources();
    const int tasks = 5 + dice_.below(40);
    for (int i = 0; i < tasks; ++i) add_task(i);
    return builder_.graph;
  }

 private:
  void add_resources() {
    const int processors = 1 + dice_.below(4);
    for (int i = 0; i < processors; ++i) {
      const ProcessorId processor = builder_.processor();
      if (dice_.one_in(3)) builder_.graph.processors.back().interference = {{OperatorClass::gemm, 0.5}, {OperatorClass::memory_bound, 0.2}};
      const int streams = 1 + dice_.below(3);
      for (int s = 0; s < streams; ++s) builder_.stream(processor, "stream", static_cast<Discipline>(dice_.below(3)));
    }
    const int channels = 1 + dice_.below(5);
    for (int i = 0; i < channels; ++i) builder_.channel(BytesPerSecond(1e9 * (1 + dice_.below(20))));
    const int paths = 1 + dice_.below(6);
    for (int i = 0; i < paths; ++i) add_path(channels);
  }

  void add_path(int channels) {
    std::vector<std::pair<ChannelId, int>> over;
    for (int c = 0; c < channels; ++c)
      if (dice_.one_in(2)) over.emplace_back(id_at<ChannelId>(static_cast<std::size_t>(c)), 1 + (dice_.one_in(3) ? dice_.below(8) : 0));
    const Seconds latency(dice_.one_in(2) ? 0 : 1e-3 * dice_.amount(5));
    const BytesPerSecond limit(dice_.one_in(3) ? 1e9 * (1 + dice_.below(5)) : 0);
    builder_.path(over, latency, limit);
  }

  void add_task(int i) {
    const double shares[] = {0, 0, 0.125, 0.3, 0.7, 1};
    std::vector<Slot> slots;
    const int streams = static_cast<int>(builder_.graph.streams.size());
    for (int s = 0; s < streams; ++s)
      if (dice_.one_in(streams)) slots.push_back({id_at<StreamId>(static_cast<std::size_t>(s)), shares[dice_.below(6)]});
    std::vector<TaskPhase> phases(static_cast<std::size_t>(dice_.below(4)));
    std::generate(phases.begin(), phases.end(), [this] { return random_phase(); });
    Task& task = builder_[builder_.task(slots, phases)];
    task.priority = dice_.below(4) - 1;
    if (dice_.one_in(6)) task.release = Seconds(dice_.amount(3));
    for (int before = 0; before < i; ++before)
      if (dice_.one_in(12)) builder_.edge(id_at<TaskId>(static_cast<std::size_t>(before)), id_at<TaskId>(static_cast<std::size_t>(i)));
  }

  TaskPhase random_phase() {
    TaskPhase phase;
    if (dice_.one_in(3)) phase.delay = Seconds(dice_.amount(1));
    if (dice_.one_in(2)) phase.kernel = builder_.work(Seconds(dice_.one_in(8) ? 0 : dice_.amount(2))).kernel;
    if (phase.kernel && dice_.one_in(3)) phase.kernel->kind = dice_.one_in(2) ? OperatorClass::memory_bound : OperatorClass::attention;
    const int flows = dice_.one_in(2) ? dice_.below(4) : 0;
    for (int f = 0; f < flows; ++f) {
      const auto path = static_cast<std::size_t>(dice_.below(static_cast<int>(builder_.graph.paths.size())));
      phase.flows.push_back({id_at<PathId>(path), Bytes(dice_.one_in(8) ? 0 : std::round(1e9 * dice_.amount(8)))});
    }
    return phase;
  }

  Dice dice_;
  GraphBuilder builder_;
};

}  // namespace

TaskGraph random_graph(unsigned seed) { return RandomGraph(seed).make(); }

EventTrace random_events(const TaskGraph& graph, unsigned seed, bool lossy) {
  Dice dice(seed + 1000003);
  EventTrace events;
  const int count = 1 + dice.below(5);
  for (int i = 0; i < count; ++i) {
    const Seconds at(dice.amount(6));
    const auto processor = static_cast<std::size_t>(dice.below(static_cast<int>(graph.processors.size())));
    const auto channel = static_cast<std::size_t>(dice.below(static_cast<int>(graph.channels.size())));
    if (lossy && dice.one_in(3))
      events.push_back({at, ProcessorLost{id_at<ProcessorId>(processor)}});
    else
      events.push_back({at, CapacityChanged{id_at<ChannelId>(channel), BytesPerSecond(1e9 * dice.below(dice.one_in(2) ? 2 : 20))}});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  return events;
}

}  // namespace trainyard
