#include "validation/fit/own_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sim/units/error.hpp"
#include "validation/csv.hpp"

namespace trainyard::fit {
namespace {

const std::map<std::string, CollectiveKind> kTests{{"all_reduce_perf", CollectiveKind::all_reduce},
                                                   {"all_gather_perf", CollectiveKind::all_gather},
                                                   {"reduce_scatter_perf", CollectiveKind::reduce_scatter},
                                                   {"alltoall_perf", CollectiveKind::all_to_all}};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// "#  Rank  0 Group  0 Pid 1 on host device 0 [0x07] NVIDIA ..": the word behind "on".
void take_comment(const std::string& line, NcclLog& log, std::set<std::string>& hosts, bool& named) {
  const std::vector<std::string> words = words_of(line);
  for (const auto& [test, kind] : kTests)
    if (line.find(test) != std::string::npos) {
      log.kind = kind;
      named = true;
    }
  const auto on = std::ranges::find(words, "on");
  if (words.size() < 3 || words[1] != "Rank" || on == words.end() || on + 1 == words.end()) return;
  ++log.ranks;
  hosts.insert(*(on + 1));
}

double number_at(const std::vector<std::string>& words, std::size_t at, const std::string& place) {
  std::size_t read = 0;
  double value = NAN;
  try {
    if (at < words.size()) value = std::stod(words[at], &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (at >= words.size() || read != words[at].size() || !std::isfinite(value))
    throw UserError(fmt::format("{}: column {} is no number; expected size, count, type, redop, root, time, algbw, busbw", place, at + 1));
  return value;
}

/// size count type [redop] [root] time algbw busbw #wrong [time algbw busbw #wrong]: words follow the type in some versions, then the
/// root, which makes the columns behind them odd in number.
std::size_t time_column(const std::vector<std::string>& words) {
  std::size_t at = 3;
  while (at < words.size() && std::isalpha(static_cast<unsigned char>(words[at][0])) != 0) ++at;
  return at + (words.size() > at && (words.size() - at) % 2 == 1 ? 1 : 0);
}

}  // namespace

NcclLog read_nccl_log(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UserError(file + ": cannot be read");
  NcclLog log;
  std::set<std::string> hosts;
  bool named = false;
  double ratio = 0;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0].starts_with("#")) {
      take_comment(line, log, hosts, named);
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(words[0][0]))) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    const std::size_t at = time_column(words);
    const double size = number_at(words, 0, place), time = number_at(words, at, place), algorithm = number_at(words, at + 1, place);
    const double bus = number_at(words, at + 2, place);
    if (size <= 0 || time <= 0) continue;
    if (algorithm > 0) ratio = bus / algorithm;
    log.lines.push_back({Bytes(size), Seconds(time * 1e-6)});
  }
  log.nodes = static_cast<int>(hosts.size());
  if (log.lines.empty()) throw UserError(file + ": no lines of nccl-tests (size, count, type, .. time, algbw, busbw)");
  if (log.ranks < 2) throw UserError(file + ": no lines \"# Rank ..\": which GPUs took part is not known");
  const double all_reduce = 2.0 * (log.ranks - 1) / log.ranks;
  if (!named && std::abs(ratio / all_reduce - 1) > 0.02)
    throw UserError(file + ": which operation this is cannot be told; its line \"# Collective test starting: ..\" is missing");
  return log;
}

namespace {

double need(const CsvTable& table, const CsvRow& row, const char* column) {
  const auto value = row.number(column);
  if (!value || !(*value > 0)) throw UserError(fmt::format("{}:{}: {}: no positive number \"{}\"", table.name, row.row_number() + 2, column, row[column]));
  return *value;
}

bool has(const CsvTable& table, const std::string& column) { return std::ranges::find(table.header, column) != table.header.end(); }

bool has_all(const CsvTable& table, std::initializer_list<const char*> columns) {
  return std::ranges::all_of(columns, [&](const char* column) { return has(table, column); });
}

DataType data_type_of(const CsvTable& table, const CsvRow& row, const char* column) {
  static const std::map<std::string, DataType> kWords{{"bfloat16", DataType::bf16}, {"bf16", DataType::bf16}, {"float16", DataType::fp16},
                                                      {"fp16", DataType::fp16},     {"half", DataType::fp16}, {"fp8", DataType::fp8},
                                                      {"nvfp4", DataType::fp4}};
  const auto found = kWords.find(row[column]);
  if (found == kWords.end())
    throw UserError(fmt::format("{}:{}: {}: \"{}\" is no data type of these: bfloat16, float16, fp8, nvfp4", table.name, row.row_number() + 2,
                                column, row[column]));
  return found->second;
}

using Tables = std::map<DataType, std::vector<MeasuredProduct>>;

void read_aiconfigurator(const CsvTable& table, Tables& tables) {
  const bool ours = has(table, "latency_us");
  for (const CsvRow& row : table.rows) {
    const GemmShape shape{need(table, row, "m"), need(table, row, "n"), need(table, row, "k"), 1};
    const double seconds = ours ? need(table, row, "latency_us") * 1e-6 : need(table, row, "latency") * 1e-3;
    tables[data_type_of(table, row, ours ? "dtype" : "gemm_dtype")].push_back({shape, Seconds(seconds), false});
  }
}

void read_vidur(const CsvTable& table, Tables& tables) {
  for (const CsvRow& row : table.rows) {
    const double tokens = need(table, row, "num_tokens"), width = need(table, row, "n_embd"), wide = need(table, row, "n_expanded_embd");
    const double heads = need(table, row, "n_head"), groups = need(table, row, "n_kv_head"), parts = need(table, row, "num_tensor_parallel_workers");
    const double gates = row.is("use_gated_mlp", "True") || row.is("use_gated_mlp", "true") || row.is("use_gated_mlp", "1") ? 2 : 1;
    const std::pair<const char*, GemmShape> products[] = {{"time_stats.attn_pre_proj.median", {tokens, width * (1 + 2 * groups / heads) / parts, width, 1}},
                                                          {"time_stats.attn_post_proj.median", {tokens, width, width / parts, 1}},
                                                          {"time_stats.mlp_up_proj.median", {tokens, gates * wide / parts, width, 1}},
                                                          {"time_stats.mlp_down_proj.median", {tokens, width, wide / parts, 1}}};
    for (const auto& [column, shape] : products)
      if (const auto time = row.number(column); time && *time > 0) tables[DataType::fp16].push_back({shape, Seconds(*time * 1e-3), false});
  }
}

}  // namespace

std::vector<KernelTable> read_kernel_table(const std::string& file) {
  const CsvTable table = read_csv(file);
  Tables tables;
  if (has_all(table, {"m", "n", "k", "gemm_dtype", "latency"}) || has_all(table, {"m", "n", "k", "dtype", "latency_us"}))
    read_aiconfigurator(table, tables);
  else if (has_all(table, {"num_tokens", "n_embd", "n_expanded_embd", "n_head", "n_kv_head", "use_gated_mlp", "num_tensor_parallel_workers"}))
    read_vidur(table, tables);
  else
    throw UserError(file + ": neither columns of aiconfigurator (gemm_dtype, m, n, k, latency) nor of Vidur (num_tokens, n_embd, .. time_stats.*.median)");
  std::vector<KernelTable> found;
  for (auto& [type, products] : tables) found.push_back({type, std::move(products)});
  if (found.empty()) throw UserError(file + ": no measured products");
  return found;
}

std::vector<MeasuredStep> read_steps(const std::string& file) {
  const CsvTable table = read_csv(file);
  if (!has_all(table, {"plan", "step_time_s"})) throw UserError(file + ": columns `plan` and `step_time_s` are needed");
  std::vector<MeasuredStep> steps;
  for (const CsvRow& row : table.rows) steps.push_back({row["plan"], Seconds(need(table, row, "step_time_s"))});
  if (steps.empty()) throw UserError(file + ": no steps");
  return steps;
}

}  // namespace trainyard::fit
