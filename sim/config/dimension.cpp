#include "sim/config/dimension.hpp"

#include "sim/units/error.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Calls use.operator()<Q>() with the type of the dimension.
template <class Use>
auto with_type(Dimension dimension, Use use) {
  switch (dimension) {
    case Dimension::seconds:
      return use.template operator()<Seconds>();
    case Dimension::bytes:
      return use.template operator()<Bytes>();
    case Dimension::flops:
      return use.template operator()<Flops>();
    case Dimension::bytes_per_second:
      return use.template operator()<BytesPerSecond>();
    case Dimension::flops_per_second:
      return use.template operator()<FlopsPerSecond>();
    case Dimension::dollars:
      return use.template operator()<Dollars>();
    case Dimension::dollars_per_second:
      return use.template operator()<DollarsPerSecond>();
    case Dimension::dollars_per_byte:
      return use.template operator()<DollarsPerByte>();
  }
  throw InternalError("a dimension without a type");
}

/// Examples of each dimension, large ones first.
std::vector<std::string> examples(Dimension dimension) {
  switch (dimension) {
    case Dimension::seconds:
      return {"24 h", "30 s", "10 ms", "1 us"};
    case Dimension::bytes:
      return {"80 GiB", "25 MB", "4 kB", "64 B"};
    case Dimension::flops:
      return {"10 TFLOP", "1 GFLOP"};
    case Dimension::bytes_per_second:
      return {"100 Gbps", "1 MB/s"};
    case Dimension::flops_per_second:
      return {"312 TFLOPS", "1 GFLOPS"};
    case Dimension::dollars:
      return {"100 USD", "0.50 USD"};
    case Dimension::dollars_per_second:
      return {"12.24 USD/h", "0.50 USD/h"};
    case Dimension::dollars_per_byte:
      return {"0.02 USD/GB"};
  }
  throw InternalError("a dimension without examples");
}

}  // namespace

QuantityValue parse_quantity(Dimension dimension, std::string_view text) {
  return with_type(dimension, [&]<class Q>() -> QuantityValue {
    const Parsed<Q> parsed = parse_quantity<Q>(text);
    return parsed.value ? QuantityValue{parsed.value->value, ""} : QuantityValue{std::nullopt, parsed.error};
  });
}

std::string quantity_text(Dimension dimension, double value) {
  return with_type(dimension, [&]<class Q>() { return to_text(Q(value)); });
}

std::vector<std::string> unit_names(Dimension dimension) {
  return with_type(dimension, []<class Q>() { return unit_names<Q>(); });
}

std::string example(Dimension dimension, const Range& range) {
  // An example at the upper bound misleads: limits are generous, so a fitting one is far below.
  for (const double margin : {100.0, 1.0})
    for (const std::string& text : examples(dimension)) {
      const double value = *parse_quantity(dimension, text).value;
      if (contains(range, value) && value * margin <= range.high) return text;
    }
  return quantity_text(dimension, std::isfinite(range.low) && !range.above_low ? range.low : range.high);
}

bool contains(const Range& range, double value) {
  return value <= range.high && (range.above_low ? value > range.low : value >= range.low);
}

}  // namespace trainyard
