// Dimensions are checked by the compiler: these tests fail by not compiling.
#include "sim/units/quantity.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <type_traits>

using namespace trainyard;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Equatable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Assignable = requires(A a, B b) {
  a = b;
};

static_assert(std::is_same_v<decltype(Bytes() / Seconds()), BytesPerSecond>);
static_assert(std::is_same_v<decltype(Bytes() / BytesPerSecond()), Seconds>);
static_assert(std::is_same_v<decltype(BytesPerSecond() * Seconds()), Bytes>);
static_assert(std::is_same_v<decltype(Flops() / FlopsPerSecond()), Seconds>);
static_assert(std::is_same_v<decltype(FlopsPerSecond() * Seconds()), Flops>);
static_assert(std::is_same_v<decltype(DollarsPerSecond() * Seconds()), Dollars>);
static_assert(std::is_same_v<decltype(DollarsPerByte() * Bytes()), Dollars>);
static_assert(std::is_same_v<decltype(Dollars() / Bytes()), DollarsPerByte>);
static_assert(std::is_same_v<decltype(Seconds() / Seconds()), double>);
static_assert(std::is_same_v<decltype(Quantity<-1, 0, 0, 0>() * Seconds()), double>);
static_assert(std::is_same_v<decltype(2.0 * Seconds() / 3.0), Seconds>);
static_assert(std::is_same_v<decltype(-Seconds()), Seconds>);

static_assert(Addable<Seconds, Seconds> && Comparable<Bytes, Bytes> && Assignable<Bytes&, Bytes>);
static_assert(!Addable<Seconds, Bytes> && !Addable<Seconds, double> && !Addable<double, Bytes>);
static_assert(!Subtractable<Bytes, BytesPerSecond> && !Subtractable<Dollars, DollarsPerSecond>);
static_assert(!Comparable<Seconds, Bytes> && !Comparable<Seconds, double> && !Equatable<Flops, Bytes>);
static_assert(!Assignable<Seconds&, double> && !Assignable<Seconds&, Bytes>);
static_assert(!std::is_convertible_v<double, Seconds> && !std::is_convertible_v<Seconds, double>);
static_assert(sizeof(Seconds) == sizeof(double) && std::is_trivially_copyable_v<Seconds>);

static_assert(3_us == Seconds(3e-6) && 1.5_ms == Seconds(1.5e-3) && 1_GiB == Bytes(1073741824.0));
static_assert(10_GB / 5_GBps == 2_s);

}  // namespace

TEST_CASE("arithmetic in SI units") {
  Seconds t = 2_s;
  t += 500_ms;
  t -= 100_ms;
  t *= 2.0;
  t /= 4.0;
  CHECK(t.value == Approx(1.2));
  CHECK((312_TFLOPS * 2_s).value == 624e12);
  CHECK(in_dollars_per_hour(dollars_per_hour(12.24)) == Approx(12.24));
  CHECK((dollars_per_hour(3600.0) * 10_s).value == Approx(10.0));
  CHECK(1_MiB > 1_MB);
}

TEST_CASE("finite or not") {
  CHECK(is_finite(1_s));
  CHECK_FALSE(is_finite(Seconds(std::numeric_limits<double>::infinity())));
  CHECK_FALSE(is_finite(Bytes(std::numeric_limits<double>::quiet_NaN())));
}
