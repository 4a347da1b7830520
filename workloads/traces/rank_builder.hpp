// Nodes of one rank's file, joined by ids, become a RankTrace in an order in which they can run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/model/execution_trace.hpp"

namespace trainyard {

/// Names and groups of a trace, each once.
class TraceTables {
 public:
  explicit TraceTables(ExecutionTrace& trace) : trace_(trace) {}
  [[nodiscard]] int name(std::string_view text);
  [[nodiscard]] int group(const TraceGroup& group);
  [[nodiscard]] const ExecutionTrace& trace() const { return trace_; }

 private:
  ExecutionTrace& trace_;
  std::unordered_map<std::string, int> names_;
};

/// Counts of what was left out, which become remarks.
struct TraceRepairs {
  std::int64_t self_dependencies = 0, missing_parents = 0, control_cycles = 0, unsized_exchanges = 0,
               without_version = 0;
};

/// `control` may be given up where it closes a cycle (with `lenient`).
enum class Dependency { data, control };

/// Collects the nodes of a file. What is wrong with them is a UserError in one line: the file, the node, what was
/// found, what is allowed.
class RankBuilder {
 public:
  /// `lenient`: dependencies on nodes that are not in the file, on the node itself, and control dependencies inside a
  /// cycle are dropped and counted.
  RankBuilder(std::string file, bool lenient) : lenient_(lenient) { trace_.file = std::move(file); }

  /// Its position. Recorded times must be finite and not negative where they are known.
  int add(const TraceNode& node);
  void depend(int node, std::uint64_t on, Dependency kind) { wanted_.push_back({node, on, kind}); }
  [[nodiscard]] RankTrace& trace() { return trace_; }
  [[nodiscard]] TraceRepairs& repairs() { return repairs_; }
  /// Ids are unique, every parent exists, no cycle: nodes in topological order, of those that could come next the
  /// lowest id first.
  [[nodiscard]] RankTrace finish();
  /// "FILE: node ID: " before `text`.
  [[nodiscard]] std::string at(std::uint64_t id, std::string_view text) const;

 private:
  struct Wanted {
    int node = 0;
    std::uint64_t on = 0;
    Dependency kind = Dependency::data;
  };
  void resolve();
  [[nodiscard]] std::vector<int> order(const std::vector<char>& dropped) const;
  [[nodiscard]] std::string cycle_text(const std::vector<int>& ordered, const std::vector<char>& dropped) const;
  std::vector<int> runnable_order();
  void put_in(const std::vector<int>& ordered);

  bool lenient_;
  RankTrace trace_;
  TraceRepairs repairs_;
  std::vector<Wanted> wanted_;
  std::vector<Dependency> kinds_;  ///< [edge]
};

}  // namespace trainyard
