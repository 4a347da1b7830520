// The market of nodes: when they can be had, for how much, and where checkpoints are kept. Values only; topologies/market
// reads them from files and scenarios, node_events.hpp says what happens under a seed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// What holds after the end of a record: its last state, the record once more, or nothing: the job ends there.
enum class AfterEnd { hold, loop, stop };
/// Which node is taken when a record tells only how many there are.
enum class Victims { random, newest };

/// From `at` on, so many nodes can be had.
struct NodeLevel {
  Seconds at{};
  int nodes = 0;
  friend bool operator==(const NodeLevel&, const NodeLevel&) = default;
};
/// A record of how many nodes could be had. `levels` by time, the first at 0, no two at one time.
struct LevelTrace {
  std::vector<NodeLevel> levels;
  Seconds length{};                ///< how long the record is; 0: one constant level, which holds for ever
  AfterEnd after_end = AfterEnd::hold;
  Victims victims = Victims::random;
  friend bool operator==(const LevelTrace&, const LevelTrace&) = default;
};

/// An instance with an identity of its own came or went.
struct InstanceChange {
  Seconds at{};
  bool up = true;
  int instance = 0;                ///< numbered from 0 as they first appear
  friend bool operator==(const InstanceChange&, const InstanceChange&) = default;
};
/// A record of named instances, by time. An instance takes a place of the group; those beyond its nodes wait for one.
struct InstanceTrace {
  std::vector<InstanceChange> changes;
  Seconds length{};
  AfterEnd after_end = AfterEnd::hold;
  friend bool operator==(const InstanceTrace&, const InstanceTrace&) = default;
};

/// Each node on its own: up and away for Weibull times with these means. Shape 1 is the exponential time of a Poisson
/// process; below 1, who stayed long is likelier to stay.
struct WeibullProcess {
  Seconds up{}, down{};
  double up_shape = 1, down_shape = 1;
  friend bool operator==(const WeibullProcess&, const WeibullProcess&) = default;
};
/// Each zone loses this share of its nodes at once, after exponential times of mean `every`, and the capacity stays away
/// for exponential times of mean `away`. A burst finds only what is up. Equal zones of all groups have equal bursts.
struct BurstProcess {
  Seconds every{}, away{};
  double share = 1;
  friend bool operator==(const BurstProcess&, const BurstProcess&) = default;
};
/// A level of a Markov chain: held for an exponential time of mean `hold`, then another one by its probability.
struct MarkovLevel {
  int nodes = 0;
  Seconds hold{};
  std::vector<std::pair<int, double>> to;  ///< nodes, probability; empty: for ever
  friend bool operator==(const MarkovLevel&, const MarkovLevel&) = default;
};
/// How many nodes can be had, as a chain in continuous time that starts in its first level.
struct MarkovProcess {
  std::vector<MarkovLevel> levels;
  Victims victims = Victims::random;
  friend bool operator==(const MarkovProcess&, const MarkovProcess&) = default;
};

using Availability = std::variant<LevelTrace, InstanceTrace, WeibullProcess, BurstProcess, MarkovProcess>;

/// From `at` on, a node costs so much.
struct PriceStep {
  Seconds at{};
  DollarsPerSecond price{};
  friend bool operator==(const PriceStep&, const PriceStep&) = default;
};

/// The price of a node over time, constant between steps. Before the first step the first price holds (a record does not
/// tell), after `length` the last one or the record once more.
class PriceSeries {
 public:
  PriceSeries() = default;
  explicit PriceSeries(DollarsPerSecond constant);
  /// `steps` by time, at least one, the first at 0 or later; `length` at or after the last.
  PriceSeries(std::vector<PriceStep> steps, Seconds length, bool loop);

  [[nodiscard]] DollarsPerSecond at(Seconds time) const;
  /// The first change after `time`, or infinity.
  [[nodiscard]] Seconds next_change(Seconds time) const;
  /// The integral over [from, until].
  [[nodiscard]] Dollars cost(Seconds from, Seconds until) const;
  [[nodiscard]] const std::vector<PriceStep>& steps() const { return steps_; }
  friend bool operator==(const PriceSeries&, const PriceSeries&) = default;

 private:
  /// The integral from 0 to `time`, which lies within the record.
  [[nodiscard]] Dollars within(Seconds time) const;
  [[nodiscard]] Dollars total(Seconds time) const;

  std::vector<PriceStep> steps_{PriceStep{}};
  Seconds length_{};
  bool loop_ = false;
};

/// How a held node is billed: by full periods from the moment it is had, at least `minimum`. Period 0: to the instant.
struct Billing {
  Seconds period{}, minimum{};
  /// The end of what is billed for a node that was had from `from` until `until`.
  [[nodiscard]] Seconds billed_until(Seconds from, Seconds until) const;
  friend bool operator==(const Billing&, const Billing&) = default;
};

/// Where checkpoints outlive every node.
struct Store {
  BytesPerSecond bandwidth{};          ///< of all nodes together, each direction; 0: there is no store
  BytesPerSecond per_node{};           ///< what one node reaches; 0: no limit but its network card
  Seconds latency{};                   ///< of one object
  DollarsPerByte price_per_month{};    ///< of a byte that is kept for 30 days
  DollarsPerByte egress{};             ///< of a byte that is read from it
  [[nodiscard]] bool exists() const { return bandwidth.value > 0; }
  friend bool operator==(const Store&, const Store&) = default;
};

/// Price of a byte that leaves a zone or a region.
struct Egress {
  DollarsPerByte between_zones{}, between_regions{};
  friend bool operator==(const Egress&, const Egress&) = default;
};

/// Hardware that breaks, whatever the market: one node after an exponential time of mean `every`; another one can be had
/// in its place `repair` later (and is booted then). No notice is given.
struct HardwareFailures {
  Seconds every{}, repair{};
  std::string source;                  ///< where the rate was read; "scenario"
  friend bool operator==(const HardwareFailures&, const HardwareFailures&) = default;
};

/// Everything about nodes that changes with time. Maps are by node group; a group that `availability` does not name, or
/// that is not spot, is always to be had; one that `prices` does not name, or that is not spot, costs Node::price.
struct Market {
  std::map<std::string, Availability> availability;
  std::map<std::string, PriceSeries> prices;
  std::map<std::string, HardwareFailures> failures;
  std::map<std::string, Seconds> notice;  ///< between the warning and the loss of a spot node, by group; absent: none
  Seconds acquire{};                   ///< from capacity to a node that is had and billed
  Seconds boot{};                      ///< from then until it can compute
  Billing billing;
  Store store;
  Egress egress;
  friend bool operator==(const Market&, const Market&) = default;
};

/// What a node costs over time. A spot node's series, else the constant Node::price (whose source may say it is unknown).
[[nodiscard]] PriceSeries price_series(const Market& market, const Node& node);
/// What is paid for a node had over [from, until]: to the end of its last billing period.
[[nodiscard]] Dollars bill(const Market& market, const Node& node, Seconds from, Seconds until);

}  // namespace trainyard
