#include "validation/fit/collectives_data.hpp"

#include <bit>
#include <fstream>
#include <map>
#include <set>

#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard::fit {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) found.emplace_back();
    else if (c != '\r') found.back() += c;
  }
  return found;
}

std::vector<Row> table(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UserError(file + ": cannot be read");
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = cells(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> values = cells(line);
    rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) rows.back()[names[i]] = values[i];
  }
  return rows;
}

/// What its GPUs reach one another by, and what more than two of them do.
struct System { std::string transport; BytesPerSecond nominal; std::string above_two; };
// Without NVLink: GPUs 0 and 1 are neighbours. More meet at the host: NCCL before 2.28 stages such traffic in host memory (L40S, 2.27;
// src/graph/paths.cc, ncclTopoCheckP2p: no peer access across host bridges, but between two GPUs of an AMD host), later versions pass
// the bridges (RTX PRO, 2.29).
const std::map<std::string, System> kSystems{
    {"a100_sxm", {"nvlink3", 300_GBps, "nvlink3"}},  {"h100_sxm", {"nvlink4", 450_GBps, "nvlink4"}},
    {"h200_sxm", {"nvlink4", 450_GBps, "nvlink4"}},  {"b200_sxm", {"nvlink5", 900_GBps, "nvlink5"}},
    {"b300_sxm", {"nvlink5", 900_GBps, "nvlink5"}},  {"gb200", {"nvlink5", 900_GBps, "nvlink5"}},
    {"gb300", {"nvlink5", 900_GBps, "nvlink5"}},     {"l40s", {"pcie4", 31.5_GBps, "pcie4_staged"}},
    {"rtx_pro_6000_server", {"pcie5", 63_GBps, "pcie5_bridge"}}};
const std::map<std::string, CollectiveKind> kOperations{{"all_reduce", CollectiveKind::all_reduce},
                                                        {"all_gather", CollectiveKind::all_gather},
                                                        {"reduce_scatter", CollectiveKind::reduce_scatter},
                                                        {"alltoall", CollectiveKind::all_to_all}};

BytesPerSecond reached(const System& system) {
  return system.nominal * catalogue().transport(system.transport)->efficiency_at(system.nominal);
}

CollectiveShape inside_shape(CollectiveKind kind, int members, const System& system) {
  CollectiveShape shape;
  shape.kind = kind;
  shape.members = shape.hops = members;
  shape.ring_rate = reached(system);
  return shape;
}

bool every_second(double bytes) { return std::bit_width(static_cast<std::uint64_t>(bytes)) % 2 == 0; }

/// A log of nccl-tests over several nodes: what its machines have.
struct Log { std::string transport; int nics; BytesPerSecond nic; std::string inside; BytesPerSecond nvlink; Algorithm algorithm; };
const std::map<std::string, Log> kLogs{
    {"echo_a100_16", {"infiniband", 8, 25_GBps, "nvlink3", 300_GBps, Algorithm::automatic}},
    {"echo_a100_32", {"infiniband", 8, 25_GBps, "nvlink3", 300_GBps, Algorithm::automatic}},
    {"echo_a100_64", {"infiniband", 8, 25_GBps, "nvlink3", 300_GBps, Algorithm::automatic}},
    {"echo_a100_128", {"infiniband", 8, 25_GBps, "nvlink3", 300_GBps, Algorithm::automatic}},
    {"cw_h100_64_sharp", {"infiniband", 8, 50_GBps, "nvlink4", 450_GBps, Algorithm::in_network}},
    {"aws_2xp4de", {"efa", 4, 12.5_GBps, "nvlink3", 300_GBps, Algorithm::automatic}},
    {"aws_2xp5", {"efa2", 32, 12.5_GBps, "nvlink4", 450_GBps, Algorithm::automatic}},
    {"aws_16xp5en", {"efa2", 16, 25_GBps, "nvlink4", 450_GBps, Algorithm::automatic}}};

CollectiveShape between_shape(const Row& row, const Log& log) {
  CollectiveShape shape;
  shape.members = std::stoi(row.at("n_gpus"));
  shape.hops = std::stoi(row.at("n_nodes"));
  shape.rings = log.nics;
  shape.ring_rate = reached({log.transport, log.nic, ""});
  shape.algorithm = log.algorithm;
  shape.inside = InnerGroup{shape.members / shape.hops, reached({log.inside, log.nvlink, ""}),
                            catalogue().transport(log.inside)->transport};
  return shape;
}

bool is_large_point(const Row& row) {
  static const std::set<std::string> devices{"H200-SXM", "B200 (p6-b200)"};
  return row.at("kind") == "all_reduce busbw" && devices.count(row.at("gpu")) > 0 && row.at("size").ends_with("GiB");
}

System system_of_point(const Row& row) { return kSystems.at(row.at("gpu") == "H200-SXM" ? "h200_sxm" : "b200_sxm"); }

}  // namespace

std::vector<Measurement> intra_node(const std::string& folder) {
  std::vector<Measurement> all;
  for (const Row& row : table(folder + "/nccl_intranode_measured.csv")) {
    if (row.at("dtype") != "half") continue;
    const System& system = kSystems.at(row.at("system"));
    const double bytes = std::stod(row.at("bytes_assumed"));
    const int members = std::stoi(row.at("n_gpus"));
    all.push_back({row.at("system") + " " + row.at("op") + " " + row.at("n_gpus"), members > 2 ? system.above_two : system.transport,
                   inside_shape(kOperations.at(row.at("op")), members, system), Bytes(bytes),
                   Seconds(std::stod(row.at("latency_us")) * 1e-6), every_second(bytes)});
  }
  return all;
}

std::vector<Measurement> inter_node(const std::string& folder) {
  std::vector<Measurement> all;
  for (const Row& row : table(folder + "/network_nccl_tests.csv")) {
    const auto log = kLogs.find(row.at("source_log"));
    const double bytes = std::stod(row.at("bytes"));
    if (log == kLogs.end() || bytes < 1024) continue;
    all.push_back({row.at("source_log"), log->second.transport, between_shape(row, log->second), Bytes(bytes),
                   Seconds(std::stod(row.at("time_us")) * 1e-6), !every_second(bytes)});  // 1 GiB is held out
  }
  return all;
}

std::vector<Measurement> large_points(const std::string& folder) {
  std::vector<Measurement> all;
  for (const Row& row : table(folder + "/bandwidth_points.csv")) {
    if (!is_large_point(row)) continue;
    const System system = system_of_point(row);
    const int members = std::stoi(row.at("n_gpus"));
    const double bytes = std::stod(row.at("size")) * 1024 * 1024 * 1024;
    const double time = 2.0 * (members - 1) / members * bytes / (std::stod(row.at("value")) * 1e9);
    all.push_back({row.at("gpu") + " " + row.at("size") + " " + row.at("n_gpus"), system.transport,
                   inside_shape(CollectiveKind::all_reduce, members, system), Bytes(bytes), Seconds(time), members % 2 == 0});
  }
  return all;
}

int fewest_in_network(const std::string& folder, const std::string& transport) {
  int fewest = 0;
  for (const Row& row : table(folder + "/bandwidth_points.csv")) {
    if (!is_large_point(row) || system_of_point(row).transport != transport) continue;
    if (row.at("note").find("chose NVLS") == std::string::npos) continue;
    const int members = std::stoi(row.at("n_gpus"));
    if (fewest == 0 || members < fewest) fewest = members;
  }
  return fewest;
}

}  // namespace trainyard::fit
