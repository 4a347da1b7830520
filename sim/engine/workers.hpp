// Simulations in processes of their own: SimGrid allows one engine a process, and a crash must cost one case only.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/model/event_trace.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

struct SimulationRequest {
  TaskGraph graph;
  EventTrace events;
  bool stop_at_loss = false;       ///< StopAtLoss instead of RunOn
  int steps = 1;                   ///< instances of the graph in a row
  bool until_it_repeats = false;   ///< StopAtRepeat; the timeline then ends with the step in whose first instant it stopped
};

/// The simulation did not end in an orderly way.
struct WorkerFailure {
  std::string why;                 ///< exception text, or the signal's name
  std::string last_words;          ///< what it wrote to standard error, last 2,000 characters
};
using SimulationResult = std::variant<Timeline, WorkerFailure>;

/// A small process, forked before anything large is loaded, from which every worker is forked. One for the whole program;
/// processes forked later may use it too, at the same time.
class WorkerNursery {
 public:
  /// Call first in main().
  static WorkerNursery start();
  ~WorkerNursery();                ///< ends the nursery (only in the process that started it)
  WorkerNursery(WorkerNursery&&) noexcept;
  WorkerNursery(const WorkerNursery&) = delete;

  /// Runs all requests, at most `jobs` at a time; results in the order of the requests.
  [[nodiscard]] std::vector<SimulationResult> run(const std::vector<SimulationRequest>& requests, int jobs) const;

 private:
  explicit WorkerNursery(int socket, int pid);
  int socket_ = -1;
  int pid_ = -1;
  int owner_ = -1;
};

}  // namespace trainyard
