// fit-collectives [DATA_FOLDER] [--write TRANSPORTS_YAML]: fits the times of collectives to measurements, prints them and the
// errors on what was held out, and puts them into the catalogue.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"
#include "validation/fit/command_line.hpp"
#include "validation/fit/collectives_fit.hpp"
#include "validation/fit/library.hpp"

namespace trainyard::fit {
namespace {

constexpr const char* kMark = "  # written by fit-collectives";
constexpr double kMiB = 1024 * 1024;
const std::string kIntraSource = "nccl_intranode_measured.csv (ai-dynamo/aiconfigurator systems/data/*/comm/nccl), half precision, every second size";
const std::string kInterSource = "network_nccl_tests.csv (NetX-lab/Echo, AWS and CoreWeave nccl-tests logs), every second size";

struct Fitted {
  Transport transport;
  std::string source;
  std::vector<Measurement> measurements;
};

std::string time_text(Seconds time) { return fmt::format("{:.3g} us", time.value * 1e6); }

std::string times_text(const MessageTimes& times) {
  std::string text = fmt::format("setup: {}, step: {}", time_text(times.setup), time_text(times.step));
  if (times.inner.value > 0) text += ", inner: " + time_text(times.inner);
  if (times.ramp.value > 0) text += ", ramp: " + time_text(times.ramp);
  return text + fmt::format(", rate: {:.4g}", times.rate);
}

std::string expected_text(const Expectation& expected) {
  std::string text = times_text(expected.times);
  if (expected.by_size.empty()) return text;
  return text + fmt::format(", by_size: [{}]", fmt::join(expected.by_size, ", "));
}

void add_lines(std::vector<std::string>& lines, const char* name, const std::optional<AlgorithmTimes>& times) {
  if (!times) return;
  lines.push_back(std::string(name) + ":");
  if (times->from > 2) lines.push_back(fmt::format("  from: {}", times->from));
  if (times->on_request) lines.push_back("  on_request: true");
  if (times->shared) lines.push_back("  shared: true");
  if (times->own > 0) lines.push_back(fmt::format("  own: {:.3g}", times->own));
  lines.push_back("  protocols:");
  for (const Protocol& protocol : times->protocols) {
    const std::string named = protocol.name.empty() ? "" : "name: " + protocol.name + ", ";
    const std::string expected = protocol.expected ? ", expected: {" + expected_text(*protocol.expected) + "}" : "";
    lines.push_back("    - {" + named + times_text(protocol.times) + expected + "}");
  }
}

std::vector<std::string> yaml_lines(const Fitted& fitted) {
  const Transport& t = fitted.transport;
  std::vector<std::string> lines;
  add_lines(lines, "ring", t.ring);
  add_lines(lines, "tree", t.tree);
  add_lines(lines, "in_network", t.in_network);
  add_lines(lines, "exchange", t.exchange);
  lines.push_back("fit: \"" + fitted.source + "\"");
  for (std::string& line : lines) line = "    " + line + kMark;
  return lines;
}

/// Lines that an earlier run wrote go; the new ones follow the entry's `ramp`.
std::string rewritten(std::istream& in, const std::vector<Fitted>& all) {
  std::string text, name;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with(kMark)) continue;
    text += line + "\n";
    if (line.starts_with("  - name: ")) name = line.substr(10);
    if (!line.starts_with("    ramp: ")) continue;
    for (const Fitted& fitted : all)
      if (fitted.transport.name == name)
        for (const std::string& added : yaml_lines(fitted)) text += added + "\n";
  }
  return text;
}

void write_catalogue(const std::string& file, const std::vector<Fitted>& all) {
  rewrite_file(file, [&](std::istream& in) { return rewritten(in, all); });
}

/// Before the fit: what the catalogue says without earlier fits' algorithms.
Transport start_of(const std::string& name) {
  Transport transport = catalogue().transport(name)->transport;
  transport.ring = transport.tree = transport.in_network = transport.exchange = std::nullopt;
  return transport;
}

Fitted fit_inside(const std::string& name, const std::string& folder, const std::vector<Measurement>& intra) {
  Fitted fitted{start_of(name), kIntraSource, {}};
  std::ranges::copy_if(intra, std::back_inserter(fitted.measurements), [&](const Measurement& m) { return m.transport == name; });
  std::ranges::copy_if(large_points(folder), std::back_inserter(fitted.measurements), [&](const Measurement& m) { return m.transport == name; });
  const double efficiency = catalogue().transport(name)->efficiency_at(fitted.measurements[0].shape.ring_rate);
  fitted.transport.ring = ring_inside(name, fitted.measurements[0].shape.ring_rate);
  fitted.transport.exchange = exchange_inside(name);
  if (const int from = fewest_in_network(folder, name); from > 0) {
    fitted.transport.in_network = switch_inside(from, fitted.measurements[0].shape.ring_rate, name);
    fitted.source += fmt::format("; in-network from {} members: bandwidth_points.csv (stas00/ml-engineering)", from);
  }
  fit(fitted.transport, efficiency, fitted.measurements, false);
  return fitted;
}

Fitted fit_between(const std::string& name, const std::vector<Measurement>& inter, const std::vector<Fitted>& inside) {
  Fitted fitted{start_of(name), kInterSource, {}};
  for (Measurement measurement : inter) {
    if (measurement.transport != name) continue;
    for (const Fitted& other : inside)
      if (other.transport.name == measurement.shape.inside->transport.name) measurement.shape.inside->transport = other.transport;
    fitted.measurements.push_back(measurement);
  }
  const CollectiveShape& shape = fitted.measurements[0].shape;
  const Ways ways = ways_between(name, shape.ring_rate * double(shape.rings), shape.inside->transport);
  fitted.transport.ring = ways.ring;
  fitted.transport.tree = ways.tree;
  const bool in_switches = std::ranges::any_of(fitted.measurements,
                                               [](const Measurement& m) { return m.shape.algorithm == Algorithm::in_network; });
  if (in_switches) fitted.transport.in_network = switch_between();
  fit(fitted.transport, catalogue().transport(name)->efficiency_at(shape.ring_rate), fitted.measurements, ways.ring_as_tree);
  return fitted;
}

double error(double ratio) { return std::abs(ratio - 1); }

/// Value below which the share lies.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return NAN;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * double(values.size())))];
}

using Chosen = std::function<bool(const Measurement&)>;

struct Rated { const Measurement* measurement; double ratio; };
std::vector<Rated> rated(const std::vector<Fitted>& all, const Chosen& chosen) {
  std::vector<Rated> found;
  for (const Fitted& fitted : all)
    for (const Measurement& m : fitted.measurements)
      if (m.held_out && chosen(m)) found.push_back({&m, ratio(m, fitted.transport)});
  return found;
}

void print_errors(const std::string& what, const std::vector<Rated>& found, int worst = 0) {
  std::vector<double> errors;
  for (const Rated& r : found) errors.push_back(error(r.ratio));
  const auto within = std::ranges::count_if(found, [](const Rated& r) { return r.ratio <= 1.5 && r.ratio >= 1 / 1.5; });
  fmt::print("  {:<48} {:>5} {:>7.1f} % {:>7.1f} % {:>7.1f} %\n", what, found.size(), 100 * quantile(errors, 0.5),
             100 * quantile(errors, 0.9), 100.0 * double(within) / double(std::max<std::size_t>(1, found.size())));
  std::vector<Rated> order = found;
  std::ranges::sort(order, std::greater{}, [](const Rated& r) { return std::abs(std::log(r.ratio)); });
  for (int i = 0; i < worst && i < int(order.size()); ++i)
    fmt::print("      {:<30} {:>12.0f} bytes  model / measured {:.2f}\n", order[i].measurement->series,
               order[i].measurement->size.value, order[i].ratio);
}

bool is_large(const Measurement& m) { return m.size.value >= kMiB && m.size.value <= 512 * kMiB; }
bool is_small(const Measurement& m) { return m.size.value >= 1024 && m.size.value <= kMiB; }
bool is_l40s(const Measurement& m) { return m.series.starts_with("l40s"); }

void report_inside(const std::vector<Fitted>& inside) {
  fmt::print("\nheld-out sizes, inside a node                        rows  median  90th pct   in 1.5x\n");
  print_errors("1-512 MiB, all nine systems", rated(inside, is_large), 10);
  print_errors("1-512 MiB, without L40S", rated(inside, [](const Measurement& m) { return is_large(m) && !is_l40s(m); }), 5);
  print_errors("1 KiB-1 MiB, all nine systems", rated(inside, is_small), 10);
  print_errors("1 KiB-1 MiB, without L40S", rated(inside, [](const Measurement& m) { return is_small(m) && !is_l40s(m); }), 5);
  std::map<std::string, bool> systems;
  for (const Fitted& fitted : inside)
    for (const Measurement& m : fitted.measurements) systems[m.series.substr(0, m.series.rfind(' '))] = true;
  for (const auto& [system, unused] : systems)
    print_errors(system + ", 1-512 MiB", rated(inside, [&](const Measurement& m) { return is_large(m) && m.series.starts_with(system + " "); }));
}

void report_between(const std::vector<Fitted>& between) {
  fmt::print("\nheld-out sizes, between nodes                        rows  median  90th pct   in 1.5x\n");
  std::map<std::string, bool> logs;
  for (const Fitted& fitted : between)
    for (const Measurement& m : fitted.measurements) logs[m.series] = true;
  for (const auto& [log, unused] : logs) {
    print_errors(log + ", 1 KiB-1 MiB", rated(between, [&](const Measurement& m) { return is_small(m) && m.series == log; }), 1);
    print_errors(log + ", above 1 MiB", rated(between, [&](const Measurement& m) { return m.size.value > kMiB && m.series == log; }), 1);
  }
  fmt::print("\n1 GiB all-reduces between nodes\n");
  for (const Fitted& fitted : between)
    for (const Measurement& m : fitted.measurements)
      if (m.size.value == 1024 * kMiB)
        fmt::print("  {:<30} measured {:>8.0f} us   model / measured {:.3f}   {}\n", m.series, m.time.value * 1e6,
                   ratio(m, fitted.transport), m.held_out ? "held out" : "fitted to");
}

void report_points(const std::vector<Fitted>& inside, const std::string& folder) {
  fmt::print("\nall-reduces of 8 and 16 GiB inside a node (bandwidth_points.csv, even numbers of GPUs held out)\n");
  for (const Measurement& m : large_points(folder))
    for (const Fitted& fitted : inside)
      if (fitted.transport.name == m.transport)
        fmt::print("  {:<30} model / measured {:.3f}\n", m.series, ratio(m, fitted.transport));
}

void run(const std::string& folder, const std::string& file) {
  const std::vector<Measurement> intra = intra_node(folder), inter = inter_node(folder);
  std::vector<Fitted> inside, between;
  for (const char* name : {"nvlink3", "nvlink4", "nvlink5", "pcie4", "pcie4_staged", "pcie5", "pcie5_bridge"}) inside.push_back(fit_inside(name, folder, intra));
  for (const char* name : {"infiniband", "efa", "efa2"}) between.push_back(fit_between(name, inter, inside));
  for (const auto* part : {&inside, &between})
    for (const Fitted& fitted : *part) {
      fmt::print("{}\n", fitted.transport.name);
      for (const std::string& line : yaml_lines(fitted)) fmt::print("{}\n", line.substr(0, line.size() - std::string(kMark).size()));
    }
  report_inside(inside);
  report_between(between);
  report_points(inside, folder);
  if (file.empty()) return;
  std::vector<Fitted> all = inside;
  all.insert(all.end(), between.begin(), between.end());
  write_catalogue(file, all);
}

}  // namespace
}  // namespace trainyard::fit

int main(int count, char** words) { return trainyard::fit::run_fit(count, words, "fit-collectives DATA_FOLDER [--write topologies/transports.yaml]", trainyard::fit::run); }
