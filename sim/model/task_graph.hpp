// What happens, on what: the one form that everything simulated is lowered to (design.md §5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/operator_class.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// A device, a host with its memory, a store: holds bytes and streams.
struct Processor {
  std::string name;                ///< of the device it stands for (the first of its class)
  std::string model;               ///< catalogue key
  int node = 0;                    ///< for traces: which node it belongs to
  Bytes memory{};                  ///< capacity
  std::int64_t devices = 1;        ///< how many real devices it stands for
  std::vector<Interference> interference{};  ///< classes of kernels that slow flows; others do not
  friend bool operator==(const Processor&, const Processor&) = default;
};

enum class Discipline { program_order, arrival, priority };

/// One thing at a time; which comes next is the discipline's. Program order: by task id.
struct Stream {
  ProcessorId processor{};
  std::string name;                ///< "compute", "tensor", "pipeline_send", "pipeline_receive", "data", "h2d", ..
  Discipline discipline = Discipline::program_order;
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// Capacity that flows share fairly (max-min): a direction of a link, a PCIe switch, DRAM, CPU cores (bytes updated per second).
struct Channel {
  std::string name;
  BytesPerSecond capacity{};
  friend bool operator==(const Channel&, const Channel&) = default;
};

/// The channels a flow uses at once, each as often as it stands for members (a flow of rate r takes multiplicity · r of it).
/// The limit is multiplied by the least Processor::interference of the kernels that run on processors where a task with a flow
/// on this path holds a slot.
struct Path {
  std::vector<std::pair<ChannelId, int>> channels;
  BytesPerSecond limit{};          ///< the flow's own bound; 0: none
  Seconds latency{};               ///< before the first byte
  friend bool operator==(const Path&, const Path&) = default;
};

struct Kernel {
  OperatorClass kind = OperatorClass::gemm;
  GemmShape shape;
  Flops flops{};
  Bytes bytes{};
  Seconds alone{};                 ///< time with nothing beside it, from sim/cost
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Bytes over a path. Bytes are whole numbers for the engine: it rounds to the nearest.
struct Flow {
  PathId path{};
  Bytes bytes{};
  friend bool operator==(const Flow&, const Flow&) = default;
};

/// A task occupies this stream from start to end, and takes that share of the processor's compute (1 for a kernel, the
/// software's share for a collective, 0 for copy engines and NICs).
struct Slot {
  StreamId stream{};
  double compute_share = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// In this order: the delay, then the kernel or the flows, which run together.
struct TaskPhase {
  Seconds delay{};
  std::optional<Kernel> kernel;
  std::vector<Flow> flows;
  friend bool operator==(const TaskPhase&, const TaskPhase&) = default;
};

enum class MemoryClass { weights, gradients, optimizer, activations, buffers, reserved };
inline constexpr int kMemoryClasses = 6;
[[nodiscard]] const char* name(MemoryClass kind);

/// Bytes taken (> 0) or freed (< 0) on a processor at the start and the end of a task; `peak_inside` is the most held in
/// between above what is held before the task starts (at_start included).
struct Memory {
  ProcessorId processor{};
  MemoryClass kind = MemoryClass::activations;
  Bytes at_start{}, at_end{}, peak_inside{};
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// What a task is, for reports and traces; no executor looks at it.
enum class TaskKind { forward, backward, recompute, weight_gradient, tensor, pipeline, data, expert, context, optimizer, offload, other };
[[nodiscard]] const char* name(TaskKind kind);
/// A share of a task's time that is of another kind (a merged stage holds its tensor-parallel collectives).
struct TimePart { TaskKind kind = TaskKind::other; Seconds time{}; friend bool operator==(const TimePart&, const TimePart&) = default; };
struct TaskLabel {
  TaskKind kind = TaskKind::other;
  int pipeline = -1, stage = -1, micro_batch = -1, chunk = -1, layer = -1, step = 0;
  std::string detail;              ///< operator or bucket, "" for merged tasks
  std::vector<TimePart> parts;     ///< empty: all of it is `kind`
  friend bool operator==(const TaskLabel&, const TaskLabel&) = default;
};

/// Starts when its predecessors ended, its slots are free and its release time has come; then runs its phases in turn.
struct Task {
  TaskLabel label;
  std::vector<Slot> slots;
  std::vector<TaskPhase> phases;
  std::vector<Memory> memory;
  int priority = 0;                ///< higher first, for Discipline::priority
  Seconds release{};
  friend bool operator==(const Task&, const Task&) = default;
};

/// `to` starts after `from` ended; with distance > 0 it is the instance of `to` so many steps later.
struct Edge {
  TaskId from{}, to{};
  int distance = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Bytes held on a processor from before the first task to after the last.
struct Resident {
  ProcessorId processor{};
  MemoryClass kind = MemoryClass::weights;
  Bytes bytes{};
  friend bool operator==(const Resident&, const Resident&) = default;
};

struct TaskGraph {
  std::vector<Processor> processors;
  std::vector<Stream> streams;
  std::vector<Channel> channels;
  std::vector<Path> paths;
  std::vector<Task> tasks;
  std::vector<Edge> edges;
  std::vector<Resident> residents;
  int period = 1;                  ///< steps after which it repeats
  friend bool operator==(const TaskGraph&, const TaskGraph&) = default;
};

/// `steps` instances in a row as a graph without loop-carried edges; task i of step s becomes s · n + i. Streams in
/// program order go on in that order. Labels count on (step + s · period), and the period becomes steps · period.
[[nodiscard]] TaskGraph unroll(const TaskGraph& graph, int steps);

/// Everything wrong with a graph (ids out of range, negative, NaN or infinite amounts, a cycle with its tasks named),
/// one line each. Executors require that there is nothing.
[[nodiscard]] std::vector<std::string> problems(const TaskGraph& graph);

/// Equal graphs have equal hashes; names and nodes of processors do not count.
[[nodiscard]] std::uint64_t hash(const TaskGraph& graph);

/// What messages call a task: "task 3 (forward stage 0 micro-batch 1)".
[[nodiscard]] std::string describe(const TaskGraph& graph, TaskId task);

/// One line a task, for tests and people.
[[nodiscard]] std::string to_text(const TaskGraph& graph);

}  // namespace trainyard
