#include "sim/model/step_report.hpp"

namespace trainyard {

Seconds TimeBreakdown::total() const {
  Seconds sum{};
  for (const TimePartName& part : kTimeParts) sum += this->*part.part;
  return sum;
}

TimeBreakdown& TimeBreakdown::operator+=(const TimeBreakdown& other) {
  for (const TimePartName& part : kTimeParts) this->*part.part += other.*part.part;
  return *this;
}

TimeBreakdown& TimeBreakdown::operator*=(double factor) {
  for (const TimePartName& part : kTimeParts) this->*part.part *= factor;
  return *this;
}

}  // namespace trainyard
