#include "validation/fit/descend.hpp"

#include <boost/math/tools/minima.hpp>

namespace trainyard::fit {
namespace {

constexpr int kRounds = 24, kBits = 20;

}  // namespace

void descend(const std::vector<Parameter>& parameters, const std::function<double()>& loss) {
  for (int round = 0; round < kRounds; ++round)
    for (const Parameter& parameter : parameters) {
      const double before = *parameter.value, loss_before = loss();
      const auto at = [&](double value) {
        *parameter.value = value;
        return loss();
      };
      const auto [best, least] = boost::math::tools::brent_find_minima(at, parameter.least, parameter.most, kBits);
      *parameter.value = least < loss_before ? best : before;
    }
}

}  // namespace trainyard::fit
