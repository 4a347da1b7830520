// The process from which workers are forked, and how to use it: bytes in, bytes out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/engine/workers.hpp"

namespace trainyard {

/// What a worker does with a request. It runs in a process of its own, which ends afterwards.
using WorkerBody = std::function<std::string(std::string_view request)>;

struct NurseryProcess {
  int socket = -1;  ///< orders go here; the nursery ends when the last copy is closed or it is shut down
  int pid = -1;
};

/// Forks the nursery. What `body` refers to is as it was at this moment.
[[nodiscard]] NurseryProcess start_nursery(const WorkerBody& body);

/// Ends it and its workers, and waits for it. Only for the process that started it.
void end_nursery(const NurseryProcess& nursery);

using WorkerAnswer = std::variant<std::string, WorkerFailure>;

/// Has `count` requests answered, at most `jobs` at a time, in the order of the requests. `request(i)` is called when a
/// worker for it starts, so that only `jobs` requests need memory at a time. InternalError if the nursery is gone.
[[nodiscard]] std::vector<WorkerAnswer> ask_workers(int nursery_socket, std::size_t count,
                                                    const std::function<std::string(std::size_t)>& request, int jobs);
/// The same, but each answer goes to `answered` as soon as it is there, in order of completion, and is not kept.
void ask_workers(int nursery_socket, std::size_t count, const std::function<std::string(std::size_t)>& request, int jobs,
                 const std::function<void(std::size_t, WorkerAnswer)>& answered);

/// What the nursery reports of a worker's end.
struct WorkerEnd {
  bool forked = false;
  int wait_status = 0;  ///< of waitpid
};

}  // namespace trainyard
