// A few numbers moved to where a loss is least.
#pragma once

#include <functional>
#include <vector>

namespace trainyard::fit {

struct Parameter {
  double* value;
  double least, most;
};

/// One parameter after the other, round by round, each to the least loss between its bounds.
void descend(const std::vector<Parameter>& parameters, const std::function<double()>& loss);

}  // namespace trainyard::fit
