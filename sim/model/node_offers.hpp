// When a market offers the nodes of one group. Private to sim/model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/market.hpp"

namespace trainyard {

/// A place of the group can be had from `from` until `until`; `taken`: it is taken away then, else the time looked at ends.
struct Offer {
  Seconds from{}, until{};
  bool taken = false;
};
/// Of each node of the group, by time.
using Offers = std::vector<std::vector<Offer>>;

/// The nodes of one group: their zones, in order.
struct OfferedGroup {
  std::string name;
  std::vector<std::string> zones;
  Seconds end{};
  std::uint64_t seed = 1;
};

/// The record's or the process's offers until `group.end`. Throws UserError beyond what count_change allows.
[[nodiscard]] Offers offers_of(const Availability& source, const OfferedGroup& group);
/// One change more; throws UserError after 5 million, so that no process runs without end.
void count_change(std::size_t& changes);

/// A seed of its own for each purpose, so that one thing more does not move the others' draws.
[[nodiscard]] std::uint64_t seed_for(std::uint64_t seed, const std::string& purpose, std::uint64_t number = 0);

}  // namespace trainyard
