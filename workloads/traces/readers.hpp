// One reader a format: a file of one rank (or of all) becomes its nodes. Adding a format: a function here, its name in
// trace_section.cpp.
#pragma once

#include <string>

#include "sim/model/execution_trace.hpp"
#include "workloads/traces/rank_builder.hpp"

namespace trainyard {

/// Of a trace: beyond, a number of ranks is a mistake.
constexpr int kMostRanks = 1 << 20;

/// What the scenario says of how a file is to be read.
struct TraceReading {
  bool lenient = false;        ///< drop broken dependencies instead of refusing the file
  double text_seconds = 1e-9;  ///< astra: one unit of its times
  int ranks = 0;               ///< of the run, where the file does not say; 0: not given
};

/// What a file says of the whole run.
struct TraceFile {
  RankTrace rank;
  TraceRepairs repairs;
  int world_size = 0;  ///< 0: not said
  std::string device;  ///< type of GPU, as the file names it; "": not said
};

/// Chakra's protobuf, or its JSON (`workload_graph`). Sources: chakra.proto; the schema of mlcommons/chakra, version
/// 0.0.4.
[[nodiscard]] TraceFile read_chakra(const std::string& path, const TraceReading& reading, TraceTables& tables);
[[nodiscard]] TraceFile read_chakra_json(const std::string& path, const TraceReading& reading, TraceTables& tables);
/// PyTorch's ExecutionTraceObserver, schemas 1.0.1 to 1.1.1: nodes in order of their ids, a collective beside what
/// follows until its `wait`.
[[nodiscard]] TraceFile read_pytorch(const std::string& path, const TraceReading& reading, TraceTables& tables);
/// Kineto's Chrome trace: kernels of each stream in turn, behind their launch on the host and behind kernels that they
/// waited for.
[[nodiscard]] TraceFile read_kineto(const std::string& path, const TraceReading& reading, TraceTables& tables);
/// Layers of ASTRA-sim 1.0 and SimAI: one file for all ranks.
[[nodiscard]] TraceFile read_astra_text(const std::string& path, const TraceReading& reading, TraceTables& tables);
/// Exchanges of AICB: one file for all ranks.
[[nodiscard]] TraceFile read_aicb(const std::string& path, const TraceReading& reading, TraceTables& tables);

/// Of a collective's name ("allreduce", "_allgather_base", "ncclDevKernel_ReduceScatter_..", "ALLTOALL"), in any
/// spelling. False where it is none.
[[nodiscard]] bool exchange_named(std::string_view text, ExchangeKind& kind);

}  // namespace trainyard
