// Does the order of predicted step times follow that of the measured ones? What people use a prediction for.
#pragma once

#include <string>
#include <vector>

#include "validation/comparison.hpp"

namespace trainyard {

/// Layouts of one job: the same source, GPUs, model, sequence length and batch; at least 4 of them.
struct RankedGroup {
  std::string source, name;
  std::size_t rows = 0;
  double tau = 0;     ///< Kendall's tau-b of predicted and measured
  double regret = 0;  ///< measured time of the predicted best over that of the measured best, less 1
};

[[nodiscard]] std::vector<RankedGroup> ranked_groups(const std::vector<ComparedRow>& rows);

/// (concordant - discordant pairs) / sqrt(pairs not tied in a · pairs not tied in b); 0 where one is constant.
/// Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).
[[nodiscard]] double kendall_tau(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace trainyard
