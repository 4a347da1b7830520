// Quantities as text: what people write in YAML and read on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// A quantity read from text, or why not. Exactly one of the two members is set.
template <class Q>
struct Parsed {
  std::optional<Q> value;
  std::string error;  ///< e.g. `needs a unit, such as "80 GiB"`
};

/// Reads "NUMBER UNIT" (the space is optional). The unit decides the dimension and is case-sensitive.
///   Seconds         ns us ms s min h d
///   Bytes           B kB MB GB TB PB (10^3) KiB MiB GiB TiB PiB (2^10)
///   Flops           FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP
///   BytesPerSecond  bps kbps Mbps Gbps Tbps (decimal bits), B/s kB/s MB/s GB/s TB/s PB/s, KiB/s MiB/s GiB/s TiB/s
///   FlopsPerSecond  FLOPS kFLOPS MFLOPS GFLOPS TFLOPS PFLOPS EFLOPS (also FLOP/s ..)
///   Dollars         USD;  DollarsPerSecond  USD/h USD/s;  DollarsPerByte  USD/GB USD/GiB USD/TB USD/TiB
/// A bare number, an unknown unit, a unit of another dimension, NaN and infinity are errors;
/// the sign is not judged here.
template <class Q>
[[nodiscard]] Parsed<Q> parse_quantity(std::string_view text);
template <>
Parsed<Seconds> parse_quantity<Seconds>(std::string_view text);
template <>
Parsed<Bytes> parse_quantity<Bytes>(std::string_view text);
template <>
Parsed<Flops> parse_quantity<Flops>(std::string_view text);
template <>
Parsed<BytesPerSecond> parse_quantity<BytesPerSecond>(std::string_view text);
template <>
Parsed<FlopsPerSecond> parse_quantity<FlopsPerSecond>(std::string_view text);
template <>
Parsed<Dollars> parse_quantity<Dollars>(std::string_view text);
template <>
Parsed<DollarsPerSecond> parse_quantity<DollarsPerSecond>(std::string_view text);
template <>
Parsed<DollarsPerByte> parse_quantity<DollarsPerByte>(std::string_view text);

/// The units that parse_quantity<Q> knows, in the order above.
template <class Q>
[[nodiscard]] std::vector<std::string> unit_names();
template <>
std::vector<std::string> unit_names<Seconds>();
template <>
std::vector<std::string> unit_names<Bytes>();
template <>
std::vector<std::string> unit_names<Flops>();
template <>
std::vector<std::string> unit_names<BytesPerSecond>();
template <>
std::vector<std::string> unit_names<FlopsPerSecond>();
template <>
std::vector<std::string> unit_names<Dollars>();
template <>
std::vector<std::string> unit_names<DollarsPerSecond>();
template <>
std::vector<std::string> unit_names<DollarsPerByte>();

/// Three significant digits and the fitting prefix: "3.2 ms", "1.25 GB", "312 TFLOPS". Money has two decimals, or three
/// significant digits where two decimals would lose them: "12.24 USD/h", "0.0042 USD". Bytes use decimal prefixes.
/// parse_quantity reads it back, within the digits shown.
[[nodiscard]] std::string to_text(Seconds q);
[[nodiscard]] std::string to_text(Bytes q);
[[nodiscard]] std::string to_text(Flops q);
[[nodiscard]] std::string to_text(BytesPerSecond q);
[[nodiscard]] std::string to_text(FlopsPerSecond q);
[[nodiscard]] std::string to_text(Dollars q);
[[nodiscard]] std::string to_text(DollarsPerSecond q);
[[nodiscard]] std::string to_text(DollarsPerByte q);

}  // namespace trainyard
