// Tasks per second of the executor, beside the same graph written in plain SimGrid calls.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <simgrid/s4u.hpp>

#include "sim/engine/simgrid_executor.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

constexpr int kDevices = 64;

Seconds length_of(int device, int i) { return Seconds(1e-3 * (1 + (device + i) % 7)); }

/// Kernels in a row on each device; each waits, too, for the one before it on the next device.
TaskGraph woven_chains(int tasks) {
  TaskGraph graph;
  graph.processors.resize(kDevices);
  for (int d = 0; d < kDevices; ++d) graph.streams.push_back({static_cast<ProcessorId>(d), "compute", Discipline::program_order});
  for (int i = 0; i < tasks; ++i) {
    const int device = i % kDevices;
    Kernel kernel;
    kernel.alone = length_of(device, i / kDevices);
    Task& task = graph.tasks.emplace_back();
    task.slots = {{static_cast<StreamId>(device), 1}};
    task.phases = {{{}, kernel, {}}};
    const int waits_for = i - kDevices - device + (device + 1) % kDevices;
    if (waits_for >= 0) graph.edges.push_back({static_cast<TaskId>(waits_for), static_cast<TaskId>(i), 0});
  }
  return graph;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double run_executor(int tasks) {
  const TaskGraph graph = woven_chains(tasks);
  RunOn run_on;
  const auto start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(SimGridExecutor().run(graph, {}, run_on));
  return seconds_since(start);
}

/// What one would write by hand for this graph alone: counters, an Exec when the last one has ended, nothing checked.
struct Plain {
  std::vector<sg::Host*> hosts;
  std::vector<int> waits;
  std::vector<sg::ExecPtr> running, ended;
  double ended_at = 0;

  void end(int i, int tasks) {
    const double now = sg::Engine::get_clock();
    if (now != ended_at) ended.clear();
    ended_at = now;
    const int device = i % kDevices;
    ended.push_back(std::move(running[static_cast<std::size_t>(device)]));
    const int next[] = {i + kDevices, i + kDevices - device + (device + kDevices - 1) % kDevices};
    for (int successor : next)
      if (successor < tasks && --waits[static_cast<std::size_t>(successor)] == 0) start(successor);
  }
  void start(int i) {
    const auto device = static_cast<std::size_t>(i % kDevices);
    sg::ExecPtr exec = sg::Exec::init();
    exec->set_flops_amount(length_of(i % kDevices, i / kDevices).value * 1e12)->set_host(hosts[device]);
    exec->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(i) + 1));
    running[device] = exec;
    exec->vetoable_start();
  }
};

double run_plain(int tasks) {
  const auto begin = std::chrono::steady_clock::now();
  int argc = 1;
  char name[] = "bench";
  char* argv[] = {name, nullptr};
  sg::Engine engine(&argc, argv);
  sg::NetZone* zone = sg::create_star_zone("zone");
  Plain plain;
  for (int d = 0; d < kDevices; ++d) plain.hosts.push_back(zone->create_host("h" + std::to_string(d), 1e12));
  zone->seal();
  plain.running.resize(kDevices);
  plain.waits.assign(static_cast<std::size_t>(tasks), 2);
  sg::Activity::on_completion_cb([&](const sg::Activity& activity) {
    plain.end(static_cast<int>(reinterpret_cast<std::intptr_t>(activity.get_data<void>()) - 1), tasks);
  });
  for (int i = 0; i < kDevices; ++i) plain.start(i);
  engine.run();
  return seconds_since(begin);
}

/// SimGrid allows one engine a process.
double in_child(double (*run)(int), int tasks) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const int pid = ::fork();
  if (pid == 0) {
    const double seconds = run(tasks);
    ::_exit(::write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  double seconds = 0;
  ::close(ends[1]);
  if (::read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = 0;
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return seconds;
}

void compare(benchmark::State& state) {
  const int tasks = static_cast<int>(state.range(0));
  double executor = 0, plain = 0;
  for (auto _ : state) {
    const double seconds = in_child(run_executor, tasks);
    executor += seconds;
    plain += in_child(run_plain, tasks);
    state.SetIterationTime(seconds);
  }
  state.counters["tasks_per_s"] = static_cast<double>(tasks * state.iterations()) / executor;
  state.counters["plain_tasks_per_s"] = static_cast<double>(tasks * state.iterations()) / plain;
  state.counters["ratio"] = executor / plain;
}
BENCHMARK(compare)->Arg(1000)->Arg(10000)->Arg(100000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
