#include "sim/units/unit_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace trainyard {
namespace {

constexpr double kKi = 1024.0;
constexpr double kMi = kKi * kKi;
constexpr double kGi = kMi * kKi;
constexpr double kTi = kGi * kKi;
constexpr double kPi = kTi * kKi;

constexpr Unit kSeconds[] = {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s"},
                             {"min", 60},    {"h", 3600},    {"d", 86400}};
constexpr Unit kBytes[] = {{"B"},        {"kB", 1e3},  {"MB", 1e6},  {"GB", 1e9},  {"TB", 1e12}, {"PB", 1e15},
                           {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi}, {"TiB", kTi}, {"PiB", kPi}};
constexpr Unit kFlops[] = {{"FLOP"},        {"kFLOP", 1e3},  {"MFLOP", 1e6},  {"GFLOP", 1e9},
                           {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21}};
constexpr Unit kBytesPerSecond[] = {{"bps", 1, 8},     {"kbps", 1e3, 8}, {"Mbps", 1e6, 8}, {"Gbps", 1e9, 8},
                                    {"Tbps", 1e12, 8}, {"B/s"},          {"kB/s", 1e3},    {"MB/s", 1e6},
                                    {"GB/s", 1e9},     {"TB/s", 1e12},   {"PB/s", 1e15},   {"KiB/s", kKi},
                                    {"MiB/s", kMi},    {"GiB/s", kGi},   {"TiB/s", kTi}};
constexpr Unit kFlopsPerSecond[] = {{"FLOPS"},         {"kFLOPS", 1e3},  {"MFLOPS", 1e6},  {"GFLOPS", 1e9},
                                    {"TFLOPS", 1e12},  {"PFLOPS", 1e15}, {"EFLOPS", 1e18}, {"FLOP/s"},
                                    {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12},
                                    {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}};
constexpr Unit kDollars[] = {{"USD"}};
constexpr Unit kDollarsPerSecond[] = {{"USD/h", 1, 3600}, {"USD/s"}};
constexpr Unit kDollarsPerByte[] = {{"USD/GB", 1, 1e9}, {"USD/GiB", 1, kGi}, {"USD/TB", 1, 1e12}, {"USD/TiB", 1, kTi}};

constexpr std::array<UnitTable, 8> kTables = {{{"time", "10 ms", kSeconds},
                                               {"bytes", "80 GiB", kBytes},
                                               {"operations", "10 TFLOP", kFlops},
                                               {"bytes per second", "100 Gbps", kBytesPerSecond},
                                               {"operations per second", "312 TFLOPS", kFlopsPerSecond},
                                               {"money", "100 USD", kDollars},
                                               {"money per time", "12.24 USD/h", kDollarsPerSecond},
                                               {"money per byte", "0.02 USD/GB", kDollarsPerByte}}};

/// What people write where the case alone does not lead to the unit, or leads to the wrong one (GBps is not Gbps).
constexpr std::pair<std::string_view, std::string_view> kHabits[] = {
    {"m", "min"},       {"sec", "s"},        {"secs", "s"},       {"second", "s"},     {"seconds", "s"},
    {"msec", "ms"},     {"usec", "us"},      {"µs", "us"},        {"μs", "us"},        {"minute", "min"},
    {"minutes", "min"}, {"mins", "min"},     {"hr", "h"},         {"hrs", "h"},        {"hour", "h"},
    {"hours", "h"},     {"day", "d"},        {"days", "d"},       {"byte", "B"},       {"bytes", "B"},
    {"K", "kB"},        {"M", "MB"},         {"G", "GB"},         {"T", "TB"},         {"Ki", "KiB"},
    {"Mi", "MiB"},      {"Gi", "GiB"},       {"Ti", "TiB"},       {"kBps", "kB/s"},    {"KBps", "kB/s"},
    {"MBps", "MB/s"},   {"GBps", "GB/s"},    {"TBps", "TB/s"},    {"Mb/s", "Mbps"},    {"Gb/s", "Gbps"},
    {"Tb/s", "Tbps"},   {"Mbit/s", "Mbps"},  {"Gbit/s", "Gbps"},  {"Tbit/s", "Tbps"},  {"Gbit", "Gbps"},
    {"FLOPs", "FLOP"},  {"TFLOPs", "TFLOP"}, {"GFLOPs", "GFLOP"}, {"PFLOPs", "PFLOP"}, {"$", "USD"},
    {"dollars", "USD"}, {"$/h", "USD/h"},    {"$/hr", "USD/h"},   {"USD/hr", "USD/h"}, {"USD/hour", "USD/h"},
    {"$/GB", "USD/GB"}};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool has_unit(const UnitTable& table, std::string_view name) {
  return std::any_of(table.units.begin(), table.units.end(), [&](const Unit& unit) { return unit.name == name; });
}

}  // namespace

template <>
const UnitTable& unit_table<Seconds>() {
  return kTables[0];
}
template <>
const UnitTable& unit_table<Bytes>() {
  return kTables[1];
}
template <>
const UnitTable& unit_table<Flops>() {
  return kTables[2];
}
template <>
const UnitTable& unit_table<BytesPerSecond>() {
  return kTables[3];
}
template <>
const UnitTable& unit_table<FlopsPerSecond>() {
  return kTables[4];
}
template <>
const UnitTable& unit_table<Dollars>() {
  return kTables[5];
}
template <>
const UnitTable& unit_table<DollarsPerSecond>() {
  return kTables[6];
}
template <>
const UnitTable& unit_table<DollarsPerByte>() {
  return kTables[7];
}

std::span<const UnitTable> all_unit_tables() { return kTables; }

std::string_view nearest_unit(std::string_view word, const UnitTable& table) {
  for (const auto& [habit, unit] : kHabits)
    if (habit == word && has_unit(table, unit)) return unit;
  for (const Unit& unit : table.units)
    if (same_ignoring_case(unit.name, word)) return unit.name;
  for (const auto& [habit, unit] : kHabits)
    if (same_ignoring_case(habit, word) && has_unit(table, unit)) return unit;
  return "";
}

}  // namespace trainyard
