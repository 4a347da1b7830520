#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "sim/units/error.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_files.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {


/// "CommType.all_reduce" without its class.
std::string bare(const std::string& cell) {
  return cell.substr(cell.rfind('.') == std::string::npos ? 0 : cell.rfind('.') + 1);
}

class TableReader {
 public:
  TableReader(const std::string& path, const TraceReading& reading, TraceTables& tables)
      : path_(path), tables_(tables), builder_(path, reading.lenient), ranks_(reading.ranks) {}

  TraceFile read() {
    std::istringstream text(trace_text(path_));
    std::string line;
    while (next_line(text, line) && !line.starts_with("comm_type")) read_preface(line);
    read_columns(line);
    std::vector<std::pair<int, std::vector<std::string>>> rows;
    while (next_line(text, line))
      if (!line.empty()) rows.emplace_back(line_, cells_of(line));
    if (world_ == 0) world_ = ranks_;
    for (const auto& [number, cells] : rows) line_ = number, note_size(cells);
    for (const auto& [number, cells] : rows) line_ = number, read_row(cells);
    if (builder_.trace().nodes.empty()) throw UserError(path_ + ": no row");
    TraceFile file;
    file.rank = builder_.finish();
    file.rank.rank = 0;
    file.world_size = world_;
    return file;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}", path_, line_, what));
  }

  bool next_line(std::istream& text, std::string& line) {
    ++line_;
    if (!std::getline(text, line)) return false;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }

  static std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
    return cells;
  }

  /// "[rank0 ~ rank127]", or a list of ranks: the largest is the last.
  void read_preface(const std::string& line) {
    for (std::size_t at = line.find("rank"); at != std::string::npos; at = line.find("rank", at + 4))
      if (const std::size_t from = at + 4, end = std::min(line.find_first_not_of("0123456789", from), line.size());
          end > from)
        world_ = std::max(world_, rank(line.substr(from, end - from)) + 1);
  }

  [[nodiscard]] int rank(const std::string& word) const {
    const std::optional<int> value = int_of(number_of_word(word).value_or(-1));
    if (!value || *value < 0 || *value >= kMostRanks)
      fail(fmt::format("rank{}; ranks 0 to {} are read", word, kMostRanks - 1));
    return *value;
  }

  void read_columns(const std::string& line) {
    const std::vector<std::string> names = cells_of(line);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!columns_.try_emplace(names[i], i).second && !names[i].empty())
        fail(fmt::format("column {} stands twice", names[i]));
    for (const char* needed : {"comm_type", "comm_group", "comm_group_size", "msg_size"})
      if (!columns_.contains(needed))
        fail(fmt::format("no column {}; AICB's tables have comm_type, comm_group, comm_group_size, msg_size", needed));
  }

  [[nodiscard]] std::string cell(const std::vector<std::string>& cells, const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() || found->second >= cells.size() ? "" : cells[found->second];
  }

  /// Below 0: "None" or empty.
  double number(const std::vector<std::string>& cells, const char* column) const {
    const std::string text = cell(cells, column);
    if (text.empty() || text == "None") return -1;
    const std::optional<double> value = number_of_word(text);
    if (!value || *value < 0) fail(fmt::format("{} is \"{}\"; a number from 0 is allowed", column, text));
    return *value;
  }

  /// Rows are in order: each waits for the one before. Times (ms) hold the exchange itself where there is one, and
  /// computing else.
  void read_row(const std::vector<std::string>& cells) {
    const std::string kind = bare(cell(cells, "comm_type"));
    TraceNode node;
    node.id = std::uint64_t(builder_.trace().nodes.size());
    node.name = tables_.name(kind + " " + cell(cells, "stage"));
    const double elapsed = number(cells, "_elapsed_time");
    if (elapsed >= 0) node.time = Seconds(elapsed * 1e-3);
    if (kind == "computation")
      node.work = TraceWork::compute, node.product = true;
    else if (kind == "isend" || kind == "irecv")
      fail(fmt::format("comm_type {}: a table is of one rank, and what its neighbours send is not in it", kind));
    else if (kind != "epoch_end")
      set_exchange(cells, kind, node);
    const int at = builder_.add(node);
    if (at > 0) builder_.depend(at, node.id - 1, Dependency::data);
  }

  /// Rows may leave out what others of their group say.
  void note_size(const std::vector<std::string>& cells) {
    double& known = known_sizes_[bare(cell(cells, "comm_group"))];
    known = std::max(known, group_size(cells));
  }

  void set_exchange(const std::vector<std::string>& cells, const std::string& kind, TraceNode& node) {
    if (!exchange_named(kind, node.exchange))
      fail(
          fmt::format("no exchange is called {}; known: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, "
                      "reduce, barrier",
                      kind));
    node.work = TraceWork::exchange;
    node.bytes = std::max(number(cells, "msg_size"), node.exchange == ExchangeKind::barrier ? 1.0 : 0.0);
    const std::string group = bare(cell(cells, "comm_group"));
    double size = group_size(cells);
    if (size <= 0) size = known_sizes_[group];
    if (size <= 0) fail(fmt::format("group {} without comm_group_size, here and everywhere", group));
    node.group = tables_.group({group, {}, int(size), stride_of(group, int(size))});
  }

  /// Below 0: not said.
  double group_size(const std::vector<std::string>& cells) const {
    const double size = number(cells, "comm_group_size");
    if (size > kMostRanks || !int_of(size))
      fail(fmt::format("comm_group_size is {}; whole numbers from 1 to {} are allowed", size, kMostRanks));
    return size;
  }

  /// Tensor ranks stand innermost, as in Megatron; the stages outermost.
  int stride_of(const std::string& group, int size) const {
    const auto tensor = known_sizes_.find("tp_group");
    if (group == "dp_group" || group == "ep_group")
      return size < world_ ? tensor != known_sizes_.end() ? int(tensor->second) : world_ / size : 1;
    return group == "pp_group" && world_ > 0 ? std::max(1, world_ / size) : 1;
  }

  const std::string& path_;
  TraceTables& tables_;
  RankBuilder builder_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::string, double> known_sizes_;
  int ranks_ = 0, line_ = 0, world_ = 0;
};

}  // namespace

TraceFile read_aicb(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  return TableReader(path, reading, tables).read();
}

}  // namespace trainyard
