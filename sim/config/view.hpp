// Taking values out of a checked document. What the schema promised holds here; a surprise is a bug.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// A look at one value of a document that `check` has accepted. Absent keys give an empty View; reading from an empty
/// View or as a wrong type throws InternalError.
class View {
 public:
  View() = default;
  explicit View(const ConfigValue& value) : value_(&value) {}

  explicit operator bool() const { return value_ != nullptr && value_->kind != ConfigValue::Kind::null; }
  [[nodiscard]] View operator[](std::string_view key) const;
  [[nodiscard]] View at(std::size_t item) const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool is_scalar() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_map() const;
  [[nodiscard]] const SourcePlace& place() const;
  [[nodiscard]] const ConfigValue& value() const;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  /// Q: Seconds, Bytes, Flops, BytesPerSecond, FlopsPerSecond, Dollars, DollarsPerSecond, DollarsPerByte.
  template <class Q>
  [[nodiscard]] Q quantity() const;

  [[nodiscard]] std::string text_or(std::string fallback) const;
  [[nodiscard]] std::int64_t integer_or(std::int64_t fallback) const;
  [[nodiscard]] double number_or(double fallback) const;
  [[nodiscard]] bool boolean_or(bool fallback) const;
  template <class Q>
  [[nodiscard]] Q quantity_or(Q fallback) const {
    return *this ? quantity<Q>() : fallback;
  }

 private:
  const ConfigValue* value_ = nullptr;
};

extern template Seconds View::quantity<Seconds>() const;
extern template Bytes View::quantity<Bytes>() const;
extern template Flops View::quantity<Flops>() const;
extern template BytesPerSecond View::quantity<BytesPerSecond>() const;
extern template FlopsPerSecond View::quantity<FlopsPerSecond>() const;
extern template Dollars View::quantity<Dollars>() const;
extern template DollarsPerSecond View::quantity<DollarsPerSecond>() const;
extern template DollarsPerByte View::quantity<DollarsPerByte>() const;

}  // namespace trainyard
