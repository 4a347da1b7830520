#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "sim/units/error.hpp"
#include "workloads/traces/json_text.hpp"
#include "workloads/traces/pytorch_node.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

/// Schemas begin so.
constexpr std::array<std::string_view, 5> kSchemas{"1.0.1", "1.0.2", "1.0.3", "1.1.0", "1.1.1"};
constexpr const char* kExchange = "record_param_comms";

/// Nodes run in order of their ids, as the observer numbers them when they begin; parents and views cost nothing.
class PytorchReader {
 public:
  PytorchReader(const std::string& path, const TraceReading& reading, TraceTables& tables)
      : path_(path), tables_(tables), builder_(path, reading.lenient), lenient_(reading.lenient) {}

  TraceFile read() {
    read_nodes(parse_json(path_));
    find_children();
    check_parents();
    for (std::size_t i = 0; i < nodes_.size(); ++i) add(i);
    TraceFile file;
    file.rank = builder_.finish();
    file.repairs = builder_.repairs();
    file.world_size = world_;
    return file;
  }

 private:
  void read_nodes(const Json& root) {
    const auto nodes = root.find("nodes");
    if (nodes == root.end() || !nodes->is_array())
      throw UserError(fmt::format("{}: no list `nodes`{}", path_,
                                  root.contains("traceEvents") ? "; this looks like format kineto" : ""));
    const auto schema = root.find("schema");
    const std::string version = schema != root.end() && schema->is_string() ? schema->get<std::string>() : "";
    if (std::ranges::none_of(kSchemas, [&](std::string_view known) { return version.starts_with(known); }))
      throw UserError(fmt::format("{}: schema \"{}\"; 1.0.1, 1.0.2, 1.0.3, 1.1.0 and 1.1.1 are read", path_, version));
    if (nodes->empty()) throw UserError(path_ + ": no nodes: the trace ended before its first operation");
    for (std::size_t i = 0; i < nodes->size(); ++i) nodes_.push_back(pytorch_node((*nodes)[i], path_, i));
    std::ranges::stable_sort(nodes_, {}, &PytorchNode::id);
  }

  void find_children() {
    children_.assign(nodes_.size(), 0);
    inner_.assign(nodes_.size(), 0);
    std::unordered_map<std::uint64_t, std::size_t> at;
    for (std::size_t i = 0; i < nodes_.size(); ++i) at.emplace(nodes_[i].id, i);
    for (const PytorchNode& node : nodes_) {
      const auto parent = at.find(node.parent);
      if (parent == at.end() || node.parent == node.id) continue;
      ++children_[parent->second];
      inner_[parent->second] += std::max(node.micros, 0.0);
    }
    for (const PytorchNode& node : nodes_)
      if (node.name == kExchange && is_wait(node) && !node.integers.empty()) ++waits_[node.integers.front()];
    for (const PytorchNode& node : nodes_)
      if (node.name == kExchange && !is_wait(node)) world_ = std::max(world_, size_in(node));
    for (const PytorchNode& node : nodes_)
      if (node.name.find("process_group:init") != std::string::npos)
        for (const std::string& text : node.texts) read_groups(text);
  }

  static bool is_root(const PytorchNode& node) { return node.parent == node.id || node.parent == 0; }

  /// Parents say what was called by what, and must form a tree; what runs after what is the order of ids.
  void check_parents() {
    std::unordered_map<std::uint64_t, std::size_t> at;
    for (std::size_t i = 0; i < nodes_.size(); ++i) at.emplace(nodes_[i].id, i);
    std::vector<std::size_t> seen(nodes_.size(), nodes_.size());  // from which node a walk upwards first came by
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (std::size_t node = i; seen[node] == nodes_.size();) {
        seen[node] = i;
        if (is_root(nodes_[node])) break;
        const auto parent = at.find(nodes_[node].parent);
        if (parent == at.end()) {
          missing_parent(nodes_[node]);
          break;
        }
        node = parent->second;
        if (seen[node] == i)
          throw UserError(builder_.at(nodes_[node].id, "is among its own parents; parents must form a tree"));
      }
  }

  void missing_parent(const PytorchNode& node) {
    if (!lenient_)
      throw UserError(builder_.at(
          node.id,
          fmt::format(
              "has parent {}, which is not in the file; every parent must be there (`lenient: true` does without)",
              node.parent)));
    ++builder_.repairs().missing_parents;
  }

  /// [{"pg_name": "1", "ranks": [0, 1], ..}]
  void read_groups(const std::string& text) {
    const Json groups = Json::parse(text, nullptr, false);
    if (!groups.is_array()) return;
    for (const Json& group : groups) {
      if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
      const auto ranks = group.find("ranks");
      if (ranks == group.end() || !ranks->is_array()) continue;
      for (const Json& rank : *ranks)
        if (rank.is_number())
          members_[group["pg_name"].get<std::string>()].push_back(int_of(rank.get<double>()).value_or(-1));
    }
  }

  /// Behind all other arguments, or one part a member; 0: not said.
  static int size_in(const PytorchNode& node) {
    if (node.integers.size() <= 3) return int(node.parts);
    return node.integers.back() < (1 << 20) ? int(std::max<std::int64_t>(node.integers.back(), 0)) : 0;
  }
  static bool is_wait(const PytorchNode& node) { return std::ranges::find(node.texts, "wait") != node.texts.end(); }

  void add(std::size_t i) {
    const PytorchNode& node = nodes_[i];
    TraceNode made;
    made.id = node.id;
    made.name = tables_.name(node.name);
    const bool exchanges = node.name == kExchange && set_exchange(node, made);
    if (!exchanges) set_compute(i, made);
    const int at = builder_.add(made);
    if (exchanges) return follow_exchange(at, node);
    if (node.name == kExchange && is_wait(node)) return follow_wait(at, node);
    if (made.work == TraceWork::compute) follow(at);
  }

  void after(int at, int on) {
    if (on >= 0) builder_.depend(at, builder_.trace().nodes[std::size_t(on)].id, Dependency::data);
  }

  void follow(int at) {
    after(at, last_);
    last_ = at;
  }

  /// What follows runs beside it until its `wait`; an exchange that nobody waits for holds up what follows.
  void follow_exchange(int at, const PytorchNode& node) {
    after(at, last_);
    if (node.integers.empty() || !waits_.contains(node.integers.front()))
      last_ = at;
    else
      open_[node.integers.front()].push_back(at);
  }

  void follow_wait(int at, const PytorchNode& node) {
    after(at, last_);
    if (!node.integers.empty()) {
      for (const int exchange : open_[node.integers.front()]) after(at, exchange);
      open_[node.integers.front()].clear();
    }
    last_ = at;
  }

  /// Its own time: without that of the operations inside it.
  void set_compute(std::size_t i, TraceNode& made) {
    const PytorchNode& node = nodes_[i];
    if (node.micros >= 0) made.time = Seconds(std::max(0.0, node.micros - inner_[i]) * 1e-6);
    if (node.begin_micros > 0 && node.micros >= 0) made.begin = Seconds(node.begin_micros * 1e-6);
    const PytorchCost cost = children_[i] == 0 ? pytorch_cost(node) : PytorchCost{};
    if (!cost.computes && !(made.time > Seconds(0))) return;
    made.work = TraceWork::compute;
    made.product = cost.product;
    made.flops = cost.flops;
    made.bytes = cost.bytes;
    if (cost.shape.m <= 0) return;
    made.shape = int(builder_.trace().shapes.size());
    builder_.trace().shapes.push_back(cost.shape);
  }

  /// False for waits and what only prepares.
  bool set_exchange(const PytorchNode& node, TraceNode& made) {
    const std::string* called = nullptr;
    for (const std::string& text : node.texts) {
      if (text == "wait" || text == "init" || text == "coalesced" || text.starts_with("start_") ||
          text.starts_with("end_"))
        return false;
      if (text == "send" || text == "recv" || text == "irecv" || text == "isend")
        throw UserError(builder_.at(
            node.id,
            fmt::format("\"{}\": this format does not say to or from which rank; collectives are read", text)));
      if (exchange_named(text, made.exchange)) called = &text;
    }
    if (called == nullptr)
      throw UserError(
          builder_.at(node.id, fmt::format("no collective among \"{}\"; known: allreduce, reduce, allgather, gather, "
                                           "scatter, broadcast, all_to_all, reduce_scatter, barrier, wait",
                                           node.texts.empty() ? std::string() : node.texts.back())));
    made.work = TraceWork::exchange;
    made.bytes = made.exchange == ExchangeKind::barrier ? 1 : std::max(node.sent, 1.0);
    made.group = group_of(node);
    return true;
  }

  /// By the name of its process group; older files have only an address, which differs from rank to rank, and the
  /// number of members behind all other arguments.
  int group_of(const PytorchNode& node) {
    for (const std::string& text : node.texts)
      if (const auto known = members_.find(text); known != members_.end())
        return tables_.group({text, known->second, 0, 1});
    const int size = size_in(node);
    if (size == 1) return tables_.group({"of one", {}, 1, 1});
    if (size > 0 && size < world_)
      throw UserError(builder_.at(
          node.id,
          fmt::format(
              "an exchange of {} of {} ranks, and nothing says of which; groups of all ranks, or named ones, are read",
              size, world_)));
    return tables_.group({"", {}, 0, 1});
  }

  const std::string& path_;
  TraceTables& tables_;
  RankBuilder builder_;
  bool lenient_;
  std::vector<PytorchNode> nodes_;                   ///< by id
  std::vector<int> children_;                        ///< [node]
  std::vector<double> inner_;                        ///< [node] time of its children, microseconds
  std::map<std::int64_t, int> waits_;                ///< by sequence number
  std::map<std::int64_t, std::vector<int>> open_;    ///< the same: exchanges under way
  std::map<std::string, std::vector<int>> members_;  ///< by name of a process group
  int last_ = -1, world_ = 0;
};

}  // namespace

TraceFile read_pytorch(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  return PytorchReader(path, reading, tables).read();
}

}  // namespace trainyard
