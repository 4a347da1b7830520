// YAML `market:` -> Market: availability from public traces or processes, prices, failures, the store.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/market.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

/// Of the `market:` section.
[[nodiscard]] Schema market_schema();

/// What a market belongs to. `cluster_section`: names the groups, also those of no nodes.
struct MarketPlace {
  const Cluster& cluster;
  const ConfigValue& cluster_section;
  std::string directory;           ///< where FILEs are looked up
};
/// The market that a section (already checked against market_schema()) describes; without one (null), what the catalogue
/// says of the instances: their notice. Unknown groups and files that cannot be read go to `diagnostics`, with the line in the file.
[[nodiscard]] Market build_market(const ConfigValue* section, const MarketPlace& place, Diagnostics& diagnostics);

/// A line each: availability, prices, failures, store. "" for a market where nothing changes.
[[nodiscard]] std::string market_text(const Market& market, const Cluster& cluster);

/// Rates of hardware failures as published.
[[nodiscard]] std::vector<CatalogueEntry> failure_catalogue();
/// Text of the file, for `catalogue_hash`.
[[nodiscard]] std::string failure_catalogue_text();

}  // namespace trainyard
