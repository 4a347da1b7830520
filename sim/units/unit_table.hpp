// The units of each dimension. Private to sim/units.
#pragma once

#include <span>
#include <string_view>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// A unit is worth multiply / divide of the base unit; two exact factors, so that "3 us" is the double nearest to 3e-6.
struct Unit {
  std::string_view name;
  double multiply = 1.0;
  double divide = 1.0;
};

/// Units of one dimension.
struct UnitTable {
  std::string_view measures;  ///< e.g. "bytes per second"
  std::string_view example;   ///< e.g. "100 Gbps"
  std::span<const Unit> units;
};

template <class Q>
[[nodiscard]] const UnitTable& unit_table();
template <>
const UnitTable& unit_table<Seconds>();
template <>
const UnitTable& unit_table<Bytes>();
template <>
const UnitTable& unit_table<Flops>();
template <>
const UnitTable& unit_table<BytesPerSecond>();
template <>
const UnitTable& unit_table<FlopsPerSecond>();
template <>
const UnitTable& unit_table<Dollars>();
template <>
const UnitTable& unit_table<DollarsPerSecond>();
template <>
const UnitTable& unit_table<DollarsPerByte>();

/// All tables, in the order of the declarations above.
[[nodiscard]] std::span<const UnitTable> all_unit_tables();

/// The unit that was probably meant by `word` ("gb" for "GB", "GBps" for "GB/s"), or "".
[[nodiscard]] std::string_view nearest_unit(std::string_view word, const UnitTable& table);

}  // namespace trainyard
