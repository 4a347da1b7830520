// What validation says of how wrong a prediction may be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/error_band.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Memory of the fullest device over its capacity: runs below all fitted, runs above all ran out, between them some did.
struct FillBounds {
  double fits_below = 1, out_above = 1;
};

/// Bands by ground; an empty name in a ground stands for all. Nearest first is decided by `nearest_band`.
struct ErrorBands {
  struct Entry {
    Ground ground;
    ErrorBand band;
  };
  std::vector<Entry> entries;
  FillBounds fill;
};

/// "dense", "mixture of experts", "hybrid", "recommendation", "diffusion", "vision and language", "several modules", "measured layers"; "" for none.
[[nodiscard]] std::string architecture_of(const Workload& workload);
/// "under 3 B", "3 to 15 B", "15 to 80 B", "80 B and more" parameters; "" for none.
[[nodiscard]] std::string model_class_of(double parameters);
/// "1 node", "2 to 8 nodes", "9 to 64 nodes", "more than 64 nodes".
[[nodiscard]] std::string node_class_of(int nodes);

/// Of a Plan's devices. The GPUs' generation is "mixed" where they are of several types.
[[nodiscard]] Ground ground_of(const Plan& plan, const Cluster& cluster, const Workload& workload);
/// Of all GPUs of a cluster.
[[nodiscard]] Ground ground_of(const Cluster& cluster, const Workload& workload);

/// Grounds of which the first stands for a run best: itself, without nodes, without the model, with only the generation, with only
/// nodes and model, all.
[[nodiscard]] std::vector<Ground> nearest_grounds(const Ground& ground);
/// The band of the first of them that has one; nothing for an unknown ground.
[[nodiscard]] std::optional<ErrorBand> nearest_band(const ErrorBands& bands, const Ground& ground);

/// Of text that `trainyard validate --write-bands` wrote; UserError with the line of every mistake.
[[nodiscard]] ErrorBands read_error_bands(const std::string& text, const std::string& file);
/// The bands that the program was built with (validation/error_bands.yaml).
[[nodiscard]] const ErrorBands& error_bands();

enum class FitVerdict { fits, uncertain, out };
[[nodiscard]] FitVerdict fit_verdict(double fill, const FillBounds& bounds);

}  // namespace trainyard
