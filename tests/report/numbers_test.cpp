#include "sim/report/numbers.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace trainyard;

TEST_CASE("three significant digits with thousands separated") {
  CHECK(three_digits(0) == "0");
  CHECK(three_digits(61234) == "61,200");
  CHECK(three_digits(34.2) == "34.2");
  CHECK(three_digits(0.5234) == "0.523");
  CHECK(three_digits(1) == "1.00");
  CHECK(three_digits(999.6) == "1,000");
  CHECK(three_digits(9.999) == "10.0");
  CHECK(three_digits(99.96) == "100");
  CHECK(three_digits(0.09996) == "0.100");
  CHECK(three_digits(1234567890) == "1,230,000,000");
  CHECK(three_digits(-1234) == "-1,230");
  CHECK(three_digits(0.000123) == "0.000123");
  CHECK(three_digits(std::numeric_limits<double>::quiet_NaN()) == "?");
  CHECK(three_digits(std::numeric_limits<double>::infinity()) == "?");
}

TEST_CASE("fixed decimals and percentages") {
  CHECK(whole(4096) == "4,096");
  CHECK(whole(12) == "12");
  CHECK(whole(-123456) == "-123,456");
  CHECK(with_decimals(1114.5, 2) == "1,114.50");
  CHECK(percent(0.061) == "6.1 %");
  CHECK(percent(1) == "100.0 %");
  CHECK(count_in_words(6.74e9) == "6.74 billion");
  CHECK(count_in_words(1.7513e11) == "175 billion");
  CHECK(count_in_words(124e6) == "124 million");
  CHECK(count_in_words(999) == "999");
}

TEST_CASE("width counts letters, not bytes") {
  CHECK(width_of("a · b") == 5);
  CHECK(pad_left("·", 3) == "  ·");
  CHECK(pad_right("·", 3) == "·  ");
  CHECK(pad_left("abcd", 3) == "abcd");
}
