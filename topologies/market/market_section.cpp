// The `market:` section.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/catalogue.hpp"
#include "topologies/market/market_reader.hpp"

namespace trainyard {
namespace {

std::vector<MarketGroup> groups_of(const Cluster& cluster) {
  std::vector<MarketGroup> groups;
  for (const Node& node : cluster.nodes) {
    const auto same = [&](const MarketGroup& group) { return group.name == node.group; };
    if (std::any_of(groups.begin(), groups.end(), same)) continue;
    const auto gpus = std::count_if(node.devices.begin(), node.devices.end(),
                                    [&](DeviceId d) { return cluster.devices[index(d)].kind == DeviceKind::gpu; });
    groups.push_back({node.group, node.zone, node.instance, node.market, std::max(static_cast<int>(gpus), 1)});
  }
  return groups;
}

std::vector<std::string> names_of_groups(const ConfigValue& cluster_section) {
  std::vector<std::string> names;
  if (const ConfigValue* nodes = cluster_section.find("nodes"))
    for (const ConfigValue& group : nodes->items)
      if (const ConfigValue* name = group.find("name")) names.push_back(name->scalar);
  return names;
}

/// A map that is itself the one value of all groups has one of these keys.
bool is_one(const View& value) {
  return !value.is_map() || value["trace"] || value["process"] || value["every"] || value["like"];
}

class SectionReader {
 public:
  SectionReader(const View& section, const MarketPlace& place, Diagnostics& diagnostics)
      : section_(section), place_(place), diagnostics_(diagnostics), groups_(groups_of(place.cluster)) {}

  Market read() {
    for (const MarketGroup& group : groups_)
      if (const InstanceEntry* entry = group.market == MarketKind::spot ? catalogue().instance(group.instance) : nullptr)
        market_.notice[group.name] = entry->notice;
    if (!section_) return std::move(market_);
    for_groups("availability", [&](const View& source, const MarketGroup& group) { read_availability(source, group); });
    for_groups("notice", [&](const View& notice, const MarketGroup& group) { market_.notice[group.name] = notice.quantity<Seconds>(); });
    for_groups("prices", [&](const View& price, const MarketGroup& group) { read_prices(price, group); });
    for_groups("failures", [&](const View& failures, const MarketGroup& group) { read_failures(failures, group); });
    market_.acquire = section_["acquire"].quantity_or(Seconds{});
    market_.boot = section_["boot"].quantity_or(Seconds{});
    read_money();
    return std::move(market_);
  }

 private:
  /// Calls `read(value, group)` for every group of nodes that the key speaks of.
  template <class Read>
  void for_groups(std::string_view key, Read&& read) {
    const View value = section_[key];
    if (!value) return;
    if (is_one(value)) {
      for (const MarketGroup& group : groups_) read(value, group);
      return;
    }
    const std::vector<std::string> known = names_of_groups(place_.cluster_section);
    for (const std::string& name : value.keys()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) diagnostics_.add(value[name].place(), unknown_name("group of nodes", name, known));
      for (const MarketGroup& group : groups_)
        if (group.name == name) read(value[name], group);
    }
  }

  void read_availability(const View& source, const MarketGroup& group) {
    if (group.market != MarketKind::spot) return;
    if (auto read = read_source(source, group, place_.directory, diagnostics_)) market_.availability.emplace(group.name, std::move(*read));
  }
  void read_prices(const View& price, const MarketGroup& group) {
    if (group.market != MarketKind::spot) return;
    if (auto read = read_price(price, group, place_.directory, diagnostics_)) market_.prices.emplace(group.name, std::move(*read));
  }
  void read_failures(const View& failures, const MarketGroup& group) {
    HardwareFailures read{failures["every"].quantity_or(Seconds{}), failures["repair"].quantity<Seconds>(), "scenario"};
    if (const View like = failures["like"]) {
      const FailureRate* rate = failure_rate(like.text());
      if (rate == nullptr) return diagnostics_.add(like.place(), unknown_name("rate of failures", like.text(), failure_rate_names()));
      read.every = rate->every;
      read.source = rate->source;
    }
    market_.failures.emplace(group.name, std::move(read));
  }
  void read_money() {
    const View billing = section_["billing"], egress = section_["egress"];
    if (billing) market_.billing = {billing["period"].quantity_or(Seconds{}), billing["minimum"].quantity_or(Seconds{})};
    if (egress)
      market_.egress = {egress["between_zones"].quantity_or(DollarsPerByte{}), egress["between_regions"].quantity_or(DollarsPerByte{})};
    const View store = section_["store"];
    if (!store) return;
    market_.store = {store["bandwidth"].quantity<BytesPerSecond>(), store["per_node"].quantity_or(BytesPerSecond{}),
                     store["latency"].quantity_or(Seconds{}), store["price_per_month"].quantity_or(DollarsPerByte{}),
                     store["egress"].quantity_or(DollarsPerByte{})};
  }

  View section_;
  const MarketPlace& place_;
  Diagnostics& diagnostics_;
  std::vector<MarketGroup> groups_;
  Market market_;
};

}  // namespace

Market build_market(const ConfigValue* section, const MarketPlace& place, Diagnostics& diagnostics) {
  return SectionReader(section != nullptr ? View(*section) : View(), place, diagnostics).read();
}

}  // namespace trainyard
