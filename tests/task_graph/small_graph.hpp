#pragma once

#include "sim/model/task_graph.hpp"

namespace trainyard {

inline TaskLabel label(TaskKind kind) {
  TaskLabel all;
  all.kind = kind;
  return all;
}

/// Two processors, a stream each, a channel, a path, and three tasks: a kernel, a transfer after it, a kernel after that,
/// whose end the first kernel of the next step waits for.
inline TaskGraph small_graph() {
  TaskGraph graph;
  graph.processors = {{.name = "a.0", .model = "A100-SXM4-40GB", .node = 0, .memory = 40_GB, .devices = 1},
                      {.name = "b.0", .model = "V100-SXM2-16GB", .node = 1, .memory = 16_GB, .devices = 2}};
  graph.streams = {{ProcessorId{0}, "compute", Discipline::program_order}, {ProcessorId{1}, "compute", Discipline::arrival}};
  graph.channels = {{"up", 25_GBps}};
  graph.paths = {{{{ChannelId{0}, 2}}, 10_GBps, 5_us}};
  Kernel kernel;
  kernel.alone = 3_ms;
  graph.tasks.resize(3);
  graph.tasks[0] = {.label = {TaskKind::forward, 0, 1, 2, -1, -1, 0, "", {}}, .slots = {{StreamId{0}, 1}}, .phases = {{1_us, kernel, {}}}, .memory = {}};
  graph.tasks[1] = {.label = label(TaskKind::pipeline), .slots = {{StreamId{0}, 0}, {StreamId{1}, 0.125}},
                    .phases = {{{}, {}, {{PathId{0}, 1_GB}}}}, .memory = {{ProcessorId{1}, MemoryClass::buffers, 1_GB, Bytes(-1e9), 1_GB}}};
  graph.tasks[2] = {.label = label(TaskKind::backward), .slots = {{StreamId{1}, 1}}, .phases = {{{}, kernel, {}}}, .memory = {},
                    .priority = 4, .release = 2_s};
  graph.edges = {{TaskId{0}, TaskId{1}, 0}, {TaskId{1}, TaskId{2}, 0}, {TaskId{2}, TaskId{0}, 1}};
  graph.residents = {{ProcessorId{0}, MemoryClass::weights, 7_GB}};
  return graph;
}

}  // namespace trainyard
