#include "sim/engine/workers.hpp"

#include <unistd.h>

#include <utility>

#include "sim/engine/message.hpp"
#include "sim/engine/nursery.hpp"
#include "sim/engine/simgrid_executor.hpp"
#include "sim/model/step_times.hpp"

namespace trainyard {
namespace {

Timeline simulate_until_it_repeats(const SimulationRequest& request) {
  StopAtRepeat stop(request.graph);
  Timeline timeline = SimGridExecutor::run_steps(request.graph, request.steps, request.events, stop);
  const std::size_t tasks = request.graph.tasks.size() * stop.steps();
  timeline.start.resize(tasks);
  timeline.end.resize(tasks);
  timeline.status.resize(tasks);
  return timeline;
}

std::string simulate(std::string_view bytes) {
  const SimulationRequest request = decode_request(bytes);
  if (request.until_it_repeats) return encode(SimulationResult(simulate_until_it_repeats(request)));
  RunOn run_on;
  StopAtLoss stop;
  Controller& controller = request.stop_at_loss ? static_cast<Controller&>(stop) : run_on;
  return encode(SimulationResult(SimGridExecutor::run_steps(request.graph, request.steps, request.events, controller)));
}

SimulationResult result_of(const WorkerAnswer& answer) {
  if (const auto* failure = std::get_if<WorkerFailure>(&answer)) return *failure;
  return decode_result(std::get<std::string>(answer));
}

}  // namespace

WorkerNursery WorkerNursery::start() {
  const NurseryProcess process = start_nursery(simulate);
  return WorkerNursery(process.socket, process.pid);
}

WorkerNursery::WorkerNursery(int socket, int pid) : socket_(socket), pid_(pid), owner_(::getpid()) {}

WorkerNursery::WorkerNursery(WorkerNursery&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), pid_(other.pid_), owner_(other.owner_) {}

WorkerNursery::~WorkerNursery() {
  if (socket_ < 0) return;
  if (::getpid() == owner_)
    end_nursery({socket_, pid_});
  else
    ::close(socket_);
}

std::vector<SimulationResult> WorkerNursery::run(const std::vector<SimulationRequest>& requests, int jobs) const {
  const auto request = [&](std::size_t i) { return encode(requests[i]); };
  std::vector<SimulationResult> results;
  for (const WorkerAnswer& answer : ask_workers(socket_, requests.size(), request, jobs)) results.push_back(result_of(answer));
  return results;
}

}  // namespace trainyard
