// Parameters of one's own cluster, fitted with how sure they are.
#pragma once

#include <string>
#include <vector>

#include "validation/fit/own_tables.hpp"

namespace trainyard::fit {

/// A value and its standard error: from refits that leave out one fifth each (delete-a-group jackknife).
struct Estimate {
  double value = 0, error = 0;
};

struct FittedProducts {
  DataType type = DataType::bf16;
  GemmCurve curve;                       ///< `sustained` as before: such tables cannot tell it
  GemmCurve error;                       ///< standard errors of the same
  double before = 0, after = 0;          ///< median error of the table with the catalogue's curve and with this
  std::size_t shapes = 0;
};
/// The curve of one data type. UserError below 8 shapes, or where the device has no such type.
[[nodiscard]] FittedProducts fit_own_products(const DeviceType& device, const KernelTable& table);

/// Factors of a transport's message times and rates.
struct FittedLinks {
  std::string transport;
  Estimate times, rate;
  double before = 0, after = 0;
  std::size_t sizes = 0;
};
/// `shape`: of the group that ran. UserError below 5 sizes.
[[nodiscard]] FittedLinks fit_own_links(const CollectiveShape& shape, const Transport& transport, const NcclLog& log);

/// One factor of all kernels' times that brings predictions to measurements: the median over the steps, each solved by itself.
struct FittedSite {
  Estimate slowdown;
  double before = 0, after = 0;
  std::size_t steps = 0;
};
/// `predicted` with kernels as they are, `slower` with kernels that take 1.1 times as long. UserError where no kernel's time counts.
[[nodiscard]] FittedSite fit_site(const std::vector<Seconds>& measured, const std::vector<Seconds>& predicted, const std::vector<Seconds>& slower);
inline constexpr double kSlower = 1.1;

}  // namespace trainyard::fit
