#include "sim/units/text.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace trainyard;

namespace {

/// The same cases in every run, unless the caller chose others.
const int kFixedSeed = setenv("RC_PARAMS", "seed=20261130 max_success=500", 0);

template <class Q>
double value_of(std::string_view text) {
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  INFO(text << ": " << parsed.error);
  REQUIRE(parsed.value);
  CHECK(parsed.error.empty());
  return parsed.value->value;
}

template <class Q>
std::string error_of(std::string_view text) {
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  CHECK_FALSE(parsed.value);
  return parsed.error;
}

/// What is shown is within half a unit of the third digit, and reads back as what is shown.
template <class Q>
void reads_back(double value) {
  const std::string text = to_text(Q(value));
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  RC_ASSERT(bool(parsed.value));
  RC_ASSERT(std::abs(parsed.value->value - value) <= 5.01e-3 * std::abs(value));
  RC_ASSERT(to_text(*parsed.value) == text);
}

/// A double whose magnitude is spread evenly over the decades.
double spread(double lowest, double highest) {
  const auto steps = *rc::gen::inRange(0, 1'000'000);
  const double exponent = lowest + (highest - lowest) * steps / 1e6;
  return (*rc::gen::arbitrary<bool>() ? 1.0 : -1.0) * std::pow(10.0, exponent);
}

template <class Q>
bool all_units_read_back() {
  return rc::check([] {
    const auto units = unit_names<Q>();
    const auto unit = *rc::gen::elementOf(units);
    const auto number = *rc::gen::inRange(1, 1'000'000);
    const bool space = *rc::gen::arbitrary<bool>();
    const Parsed<Q> parsed = parse_quantity<Q>(fmt::format("{}{}{}", number, space ? " " : "", unit));
    const Parsed<Q> one = parse_quantity<Q>(fmt::format("1 {}", unit));
    RC_ASSERT(parsed.value && one.value);
    RC_ASSERT(std::abs(parsed.value->value / (number * one.value->value) - 1.0) < 1e-15 * 4);
  });
}

}  // namespace

TEST_CASE("quantities are read in SI units") {
  CHECK(value_of<Seconds>("3 us") == 3e-6);
  CHECK(value_of<Seconds>("24 h") == 86400.0);
  CHECK(value_of<Seconds>("1.5min") == 90.0);
  CHECK(value_of<Seconds>("2 d") == 172800.0);
  CHECK(value_of<Bytes>("40 GiB") == 40.0 * 1073741824.0);
  CHECK(value_of<Bytes>("40GB") == 40e9);
  CHECK(value_of<Bytes>("  1.5e2  kB ") == 150e3);
  CHECK(value_of<Bytes>("-5 B") == -5.0);
  CHECK(value_of<Flops>("5EFLOP") == 5e18);
  CHECK(value_of<Flops>("3.14e5 EFLOP") == 3.14e23);
  CHECK(value_of<BytesPerSecond>("400 Gbps") == 50e9);
  CHECK(value_of<BytesPerSecond>("25 GB/s") == 25e9);
  CHECK(value_of<BytesPerSecond>("8 bps") == 1.0);
  CHECK(value_of<FlopsPerSecond>("312 TFLOPS") == 312e12);
  CHECK(value_of<FlopsPerSecond>("312 TFLOP/s") == 312e12);
  CHECK(value_of<Dollars>("100 USD") == 100.0);
  CHECK(value_of<DollarsPerSecond>("12.24 USD/h") == dollars_per_hour(12.24).value);
  CHECK(value_of<DollarsPerByte>("0.02 USD/GB") == 0.02 / 1e9);
}

TEST_CASE("what is no quantity says why") {
  CHECK(error_of<Bytes>("80") == "needs a unit, such as \"80 GiB\"");
  CHECK(error_of<Seconds>("80 ") == "needs a unit, such as \"10 ms\"");
  CHECK(error_of<Bytes>("") == "expected a number with its unit, such as \"80 GiB\", got nothing");
  CHECK(error_of<Bytes>("GB") == "expected a number with its unit, such as \"80 GiB\", got \"GB\"");
  CHECK(error_of<Bytes>("nan GB") == "expected a number with its unit, such as \"80 GiB\", got \"nan GB\"");
  CHECK(error_of<Bytes>("inf GB") == "expected a number with its unit, such as \"80 GiB\", got \"inf GB\"");
  CHECK(error_of<Bytes>("010 GB") == "cannot read \"010 GB\": write it without leading zeros");
  CHECK(error_of<Bytes>("1e308 GB") == "cannot read \"1e308 GB\": the number is too large");
  CHECK(error_of<Seconds>("3 MS") == "unknown unit \"MS\"; did you mean \"ms\"? known: ns, us, ms, s, min, h, d");
  CHECK(error_of<Seconds>("3 hours") == "unknown unit \"hours\"; did you mean \"h\"? known: ns, us, ms, s, min, h, d");
  CHECK(error_of<Seconds>("3 parsec") == "unknown unit \"parsec\"; known: ns, us, ms, s, min, h, d");
  CHECK(error_of<Seconds>("3 s s") == "unknown unit \"s s\"; known: ns, us, ms, s, min, h, d");
  CHECK(error_of<Dollars>("3 USD/h") == "\"USD/h\" is a unit of money per time, not of money; known: USD");
  CHECK(error_of<Seconds>("3 a\x1b[2J") == "unknown unit \"a\\x1b[2J\"; known: ns, us, ms, s, min, h, d");
  CHECK(error_of<Seconds>("3 " + std::string(100000, 'x')).size() < 150);
}

TEST_CASE("quantities are shown with the fitting prefix") {
  CHECK(to_text(3.2_ms) == "3.2 ms");
  CHECK(to_text(1.25_GB) == "1.25 GB");
  CHECK(to_text(312_TFLOPS) == "312 TFLOPS");
  CHECK(to_text(12.24_usd_per_h) == "12.24 USD/h");
  CHECK(to_text(34.2_s) == "34.2 s");
  CHECK(to_text(600_s) == "10 min");
  CHECK(to_text(Seconds(86400)) == "24 h");
  CHECK(to_text(Seconds(30 * 86400.0)) == "30 d");
  CHECK(to_text(Seconds(999.9e-6)) == "1 ms");
  CHECK(to_text(Bytes(999.9)) == "1 kB");
  CHECK(to_text(Bytes(999.4)) == "999 B");
  CHECK(to_text(Bytes(0)) == "0 B");
  CHECK(to_text(Seconds(-0.0)) == "0 s");
  CHECK(to_text(Seconds(-0.0032)) == "-3.2 ms");
  CHECK(to_text(Bytes(12'345e15)) == "12300 PB");
  CHECK(to_text(Flops(3.14e23)) == "314 ZFLOP");
  CHECK(to_text(50_GBps) == "50 GB/s");
  CHECK(to_text(1234.5_usd) == "1234.50 USD");
  CHECK(to_text(Dollars(0.0042)) == "0.0042 USD");
  CHECK(to_text(Dollars(0.5)) == "0.50 USD");
  CHECK(to_text(Dollars(0)) == "0.00 USD");
  CHECK(to_text(DollarsPerByte(0.023 / 1e9)) == "0.023 USD/GB");
  CHECK(to_text(Seconds(std::numeric_limits<double>::infinity())) == "inf s");
}

TEST_CASE("every unit reads back at any size") {
  CHECK(all_units_read_back<Seconds>());
  CHECK(all_units_read_back<Bytes>());
  CHECK(all_units_read_back<Flops>());
  CHECK(all_units_read_back<BytesPerSecond>());
  CHECK(all_units_read_back<FlopsPerSecond>());
  CHECK(all_units_read_back<Dollars>());
  CHECK(all_units_read_back<DollarsPerSecond>());
  CHECK(all_units_read_back<DollarsPerByte>());
}

TEST_CASE("what is shown reads back as the same text") {
  CHECK(rc::check([] { reads_back<Seconds>(spread(-12, 9)); }));
  CHECK(rc::check([] { reads_back<Bytes>(spread(-1, 18)); }));
  CHECK(rc::check([] { reads_back<Flops>(spread(0, 26)); }));
  CHECK(rc::check([] { reads_back<BytesPerSecond>(spread(0, 17)); }));
  CHECK(rc::check([] { reads_back<FlopsPerSecond>(spread(0, 20)); }));
  CHECK(rc::check([] { reads_back<Dollars>(spread(-4, 9)); }));
}

TEST_CASE("any text is read or refused, never both") {
  CHECK(rc::check([](const std::string& text) {
    const Parsed<Bytes> parsed = parse_quantity<Bytes>(text);
    RC_ASSERT(parsed.value.has_value() == parsed.error.empty());
  }));
}
