// One step of 1,024 GPUs, every GPU simulated and written in plain SimGrid calls, beside what the program does with it:
// lowering to one device a class, and simulation until the step repeats.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <map>
#include <simgrid/s4u.hpp>

#include "sim/engine/simgrid_executor.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/lowering/step_report.hpp"
#include "sim/model/step_times.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/llama3_405b.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

constexpr int kMostSteps = 16;

struct Ran {
  double wall_s, cpu_s, tasks, makespan_s;
};

class Stopwatch {
 public:
  [[nodiscard]] Ran stop(double tasks, double makespan) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    return {wall.count(), double(std::clock() - cpu_) / CLOCKS_PER_SEC, tasks, makespan};
  }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

/// The graph as SimGrid's own activities and dependencies. Left out, in its favour: delays before flows, shares of
/// compute.
class PlainStep {
 public:
  explicit PlainStep(const TaskGraph& graph) : graph_(graph), first_(graph.tasks.size()), last_(graph.tasks.size()) {
    sg::NetZone* root = sg::create_star_zone("root");
    for (std::size_t i = 0; i < graph.processors.size(); ++i)
      hosts_.push_back(root->create_host("gpu" + std::to_string(i), 1e12));
    for (const Channel& channel : graph.channels)
      links_.push_back(
          root->create_link("link" + std::to_string(links_.size()), channel.capacity.value)->set_latency(0));
    for (std::size_t i = 0; i < graph.paths.size(); ++i) add_path(root, i);
    if (zone_) zone_->seal();
    root->seal();
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) add_task(i);
    for (const Edge& edge : graph.edges)
      if (edge.distance == 0) join(last_[index(edge.from)], first_[index(edge.to)]);
    keep_order();
  }

  void start() {
    for (const auto& activity : all_) activity->vetoable_start();
  }

 private:
  using Activities = std::vector<sg::ActivityPtr>;

  /// Routes of a Full zone are a square table: a zone every 50 paths.
  void add_path(sg::NetZone* root, std::size_t i) {
    if (i % 50 == 0) {
      if (zone_) zone_->seal();
      zone_ = sg::create_full_zone("zone" + std::to_string(i))->set_parent(root);
    }
    const std::string number = std::to_string(i);
    sg::Host* from = zone_->create_host("from" + number, 1e12);
    sg::Host* to = zone_->create_host("to" + number, 1e12);
    const double limit = graph_.paths[i].limit.value;
    std::vector<sg::LinkInRoute> route{
        sg::LinkInRoute(zone_->create_link("own" + number, limit > 0 ? limit : 1e18)->set_latency(0))};
    for (const auto& [channel, times] : graph_.paths[i].channels)
      for (int k = 0; k < times; ++k) route.emplace_back(links_[index(channel)]);
    zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    ends_.emplace_back(from, to);
  }

  sg::ActivityPtr compute(std::size_t task, Seconds time) {
    const auto& slots = graph_.tasks[task].slots;
    const auto host = slots.empty() ? 0 : index(graph_.streams[index(slots.front().stream)].processor);
    return sg::Exec::init()->set_flops_amount(time.value * 1e12)->set_host(hosts_[host]);
  }

  void add_task(std::size_t i) {
    Activities before;
    for (const TaskPhase& phase : graph_.tasks[i].phases) {
      Activities now;
      for (const Flow& flow : phase.flows) {
        const auto& [from, to] = ends_[index(flow.path)];
        now.push_back(sg::Comm::sendto_init(from, to)->set_payload_size(std::llround(flow.bytes.value)));
      }
      if (phase.kernel || phase.flows.empty())
        now.push_back(compute(i, phase.delay + (phase.kernel ? phase.kernel->alone : Seconds{})));
      append(i, std::move(now), before);
    }
    if (before.empty()) append(i, {compute(i, {})}, before);
    last_[i] = std::move(before);
  }

  void append(std::size_t task, Activities now, Activities& before) {
    join(before, now);
    if (before.empty()) first_[task] = now;
    all_.insert(all_.end(), now.begin(), now.end());
    before = std::move(now);
  }

  static void join(const Activities& from, const Activities& to) {
    for (const auto& a : from)
      for (const auto& b : to) {
        if (b->get_dependencies().count(a) > 0) continue;
        if (auto* exec = dynamic_cast<sg::Exec*>(a.get()))
          exec->add_successor(b);
        else
          static_cast<sg::Comm*>(a.get())->add_successor(b);
      }
  }

  /// Streams in program order run one task after the other.
  void keep_order() {
    std::map<StreamId, std::size_t> latest;
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i)
      for (const Slot& slot : graph_.tasks[i].slots) {
        if (graph_.streams[index(slot.stream)].discipline != Discipline::program_order) continue;
        const auto [found, is_first] = latest.try_emplace(slot.stream, i);
        if (!is_first && found->second != i) join(last_[found->second], first_[i]);
        found->second = i;
      }
  }

  const TaskGraph& graph_;
  std::vector<sg::Host*> hosts_;
  std::vector<sg::Link*> links_;
  sg::NetZone* zone_ = nullptr;
  std::vector<std::pair<sg::Host*, sg::Host*>> ends_;  ///< [path]
  std::vector<Activities> first_, last_;               ///< [task]
  Activities all_;
};

struct Subject {
  Scenario scenario;
  Plan plan;
};

Lowered lowered(const Subject& subject, bool symmetry, bool full_detail) {
  const Variant& variant = subject.scenario.variants.front();
  const Router router(variant.cluster);
  return lower(subject.plan, variant.workload, variant.cluster, router, {symmetry, full_detail});
}

/// Building the graph does not count: what one writes by hand one knows.
Ran run_plain(const Subject& subject, bool full_detail) {
  const Lowered all = lowered(subject, false, full_detail);
  const Stopwatch watch;
  int argc = 1;
  char name[] = "bench";
  char* argv[] = {name, nullptr};
  sg::Engine engine(&argc, argv);
  PlainStep step(all.graph);
  step.start();
  engine.run();
  return watch.stop(double(all.graph.tasks.size()), sg::Engine::get_clock());
}

/// Lowering and all steps until one repeats count.
Ran run_reduced(const Subject& subject) {
  const Stopwatch watch;
  const Lowered reduced = lowered(subject, true, false);
  StopAtRepeat stop(reduced.graph);
  const Timeline timeline = SimGridExecutor::run_steps(reduced.graph, kMostSteps, reduced.events, stop);
  return watch.stop(double(reduced.graph.tasks.size()), step_times(reduced.graph, timeline).end.front().value);
}

/// `full_detail`: by hand every kernel and collective is an activity of its own, else one a stage and micro-batch. With it not even
/// 128 GPUs end in 7 minutes (README).
void reduction(benchmark::State& state, int gpus, bool full_detail) {
  const bench::Planned405b planned(gpus);
  const Subject subject{planned.scenario, planned.plan};
  Ran plain{}, ours{};
  for (auto _ : state) {
    const auto by_hand = bench::in_child<Ran>([&] { return run_plain(subject, full_detail); });
    const auto reduced = bench::in_child<Ran>([&] { return run_reduced(subject); });
    if (!by_hand.ended_well || !reduced.ended_well) return state.SkipWithError("a run failed");
    if (plain.cpu_s == 0 || by_hand.result.cpu_s < plain.cpu_s) plain = by_hand.result;
    if (ours.cpu_s == 0 || reduced.result.cpu_s < ours.cpu_s) ours = reduced.result;
    state.SetIterationTime(reduced.result.wall_s);
  }
  state.counters["plain_cpu_s"] = plain.cpu_s;
  state.counters["plain_tasks"] = plain.tasks;
  state.counters["reduced_cpu_s"] = ours.cpu_s;
  state.counters["reduced_tasks"] = ours.tasks;
  state.counters["ratio"] = plain.cpu_s / ours.cpu_s;
  state.counters["plain_makespan_s"] = plain.makespan_s;
  state.counters["reduced_makespan_s"] = ours.makespan_s;
}
BENCHMARK_CAPTURE(reduction, merged, 1024, false)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
