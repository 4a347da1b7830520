#include "sim/model/step_report.hpp"

namespace trainyard {

Seconds TimeBreakdown::total() const {
  Seconds sum{};
  for (const TimePartName& part : kTimeParts) sum += this->*part.part;
  return sum;
}

TimeBreakdown& TimeBreakdown::operator+=(const TimeBreakdown& added) {
  for (const TimePartName& part : kTimeParts) this->*part.part += added.*part.part;
  return *this;
}

TimeBreakdown& TimeBreakdown::operator*=(double factor) {
  for (const TimePartName& part : kTimeParts) this->*part.part *= factor;
  return *this;
}

}  // namespace trainyard
