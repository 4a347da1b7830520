// Public histories of spot prices, exactly as they are on disk; private to topologies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/market.hpp"

namespace trainyard {

struct PriceOptions {
  std::string format;    ///< aws, azure, gcp, skypilot, skypilot_catalogue
  std::string instance;  ///< where a file holds several: InstanceType, a column of Azure, GPU type of GCP
  std::string product;   ///< aws: ProductDescription
  std::string zone;      ///< a zone of the file, `mean` or `cheapest`; "": `mean`
  int gpus = 0;          ///< gcp: Number of GPUs
  bool loop = false;
};

[[nodiscard]] std::vector<std::string> price_formats();
/// USD/h of an instance over time; starts at the first record. The first mistake goes to `diagnostics` with its place in the file, one
/// that concerns the file as such at `asked`. A price of 0 or of 700 USD/h (what catalogues write where nothing is sold) is a mistake.
[[nodiscard]] std::optional<PriceSeries> read_prices(const std::string& path, const PriceOptions& options, const SourcePlace& asked,
                                                     Diagnostics& diagnostics);

}  // namespace trainyard
