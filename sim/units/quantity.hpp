// Quantities with dimensions: a wrong unit does not compile.
#pragma once

#include <cmath>
#include <compare>

namespace trainyard {

/// A number with dimension second^T byte^B flop^F dollar^M, held in SI base units.
/// Adding different dimensions does not compile; multiplying adds the exponents;
/// a ratio of equal dimensions is a plain double.
template <int T, int B, int F, int M>
struct Quantity {
  double value = 0.0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  constexpr Quantity& operator*=(double k) {
    value *= k;
    return *this;
  }
  constexpr Quantity& operator/=(double k) {
    value /= k;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
};

template <int T1, int B1, int F1, int M1, int T2, int B2, int F2, int M2>
constexpr auto operator*(Quantity<T1, B1, F1, M1> a, Quantity<T2, B2, F2, M2> b) {
  if constexpr (T1 + T2 == 0 && B1 + B2 == 0 && F1 + F2 == 0 && M1 + M2 == 0)
    return a.value * b.value;
  else
    return Quantity<T1 + T2, B1 + B2, F1 + F2, M1 + M2>(a.value * b.value);
}

template <int T1, int B1, int F1, int M1, int T2, int B2, int F2, int M2>
constexpr auto operator/(Quantity<T1, B1, F1, M1> a, Quantity<T2, B2, F2, M2> b) {
  if constexpr (T1 == T2 && B1 == B2 && F1 == F2 && M1 == M2)
    return a.value / b.value;
  else
    return Quantity<T1 - T2, B1 - B2, F1 - F2, M1 - M2>(a.value / b.value);
}

using Seconds = Quantity<1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;
using Dollars = Quantity<0, 0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1, 0>;
using DollarsPerSecond = Quantity<-1, 0, 0, 1>;
using DollarsPerByte = Quantity<0, -1, 0, 1>;

template <int T, int B, int F, int M>
[[nodiscard]] bool is_finite(Quantity<T, B, F, M> q) {
  return std::isfinite(q.value);
}

/// Dollars are quoted per hour everywhere; inside the program the base is the second.
constexpr DollarsPerSecond dollars_per_hour(double v) { return DollarsPerSecond(v / 3600.0); }
constexpr double in_dollars_per_hour(DollarsPerSecond p) { return p.value * 3600.0; }

inline namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(double(v)); }
constexpr Seconds operator""_s(unsigned long long v) { return Seconds(double(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds(double(v) / 1e3); }
constexpr Seconds operator""_ms(unsigned long long v) { return Seconds(double(v) / 1e3); }
constexpr Seconds operator""_us(long double v) { return Seconds(double(v) / 1e6); }
constexpr Seconds operator""_us(unsigned long long v) { return Seconds(double(v) / 1e6); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(double(v)); }
constexpr Bytes operator""_MB(unsigned long long v) { return Bytes(double(v) * 1e6); }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes(double(v) * 1e9); }
constexpr Bytes operator""_GB(long double v) { return Bytes(double(v) * 1e9); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(double(v) * 1048576.0); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes(double(v) * 1073741824.0); }
constexpr Bytes operator""_GiB(long double v) { return Bytes(double(v) * 1073741824.0); }
constexpr BytesPerSecond operator""_GBps(long double v) { return BytesPerSecond(double(v) * 1e9); }
constexpr BytesPerSecond operator""_GBps(unsigned long long v) { return BytesPerSecond(double(v) * 1e9); }
constexpr FlopsPerSecond operator""_TFLOPS(long double v) { return FlopsPerSecond(double(v) * 1e12); }
constexpr FlopsPerSecond operator""_TFLOPS(unsigned long long v) { return FlopsPerSecond(double(v) * 1e12); }
constexpr Dollars operator""_usd(long double v) { return Dollars(double(v)); }
constexpr DollarsPerSecond operator""_usd_per_h(long double v) { return dollars_per_hour(double(v)); }
constexpr DollarsPerSecond operator""_usd_per_h(unsigned long long v) { return dollars_per_hour(double(v)); }
}  // namespace literals

}  // namespace trainyard
