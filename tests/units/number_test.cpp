#include "sim/units/number.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("numbers are scanned up to their end") {
  const ScannedNumber number = scan_number("-1.5e3GB");
  CHECK(number.value == -1500.0);
  CHECK(number.length == 6);
  CHECK_FALSE(number.whole);
  CHECK(number.error.empty());
  CHECK(scan_number("12").whole);
  CHECK(scan_number("-12").whole);
  CHECK(scan_number("5EFLOP").length == 1);
  CHECK(scan_number("0").error.empty());
  CHECK(scan_number("0.5").error.empty());
}

TEST_CASE("other notations are named") {
  CHECK(scan_number("010").error == "write it without leading zeros");
  CHECK(scan_number("-00").error == "write it without leading zeros");
  CHECK(scan_number("0x10").error == "write it in base 10");
  CHECK(scan_number("1_000").error == "write the number without \"_\"");
  CHECK(scan_number("1,000").error == "write the number without \",\"");
  CHECK(scan_number("1e999").error == "a number this large or this near to zero cannot be held");
  CHECK(scan_number("1e-999").error == "a number this large or this near to zero cannot be held");
}

TEST_CASE("words are no numbers") {
  for (const char* text : {"", "-", "+", ".", "nan", "-inf", "infinity", "e5", "x", " 1", "--1", "+-1"})
    CHECK(scan_number(text).length == 0);
}
