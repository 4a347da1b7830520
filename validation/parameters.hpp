// How many numbers were fitted, and to what.
#pragma once

namespace trainyard {

struct FittedParameters {
  int kernels = 0;     ///< of products and attention, to tables and papers of kernels
  int sustained = 0;   ///< training against isolated kernels, by generation and data type: to step times
  int links = 0;       ///< of collectives, to tables of collectives
};

/// Of the catalogue; a number that several GPUs share counts once.
[[nodiscard]] FittedParameters fitted_parameters();

}  // namespace trainyard
