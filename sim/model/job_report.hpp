// What a job over hours to months amounts to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// `waiting`: nodes are there, but no Plan fits them; `idle`: no node is there.
enum class JobPhase { training, reconfiguring, waiting, idle };
[[nodiscard]] const char* name(JobPhase phase);

/// From `at` on, until the next entry.
struct JobEntry {
  Seconds at{};
  JobPhase phase = JobPhase::idle;
  int nodes = 0, used = 0;               ///< that are there; that the Plan uses
  double tokens_per_s = 0;               ///< of the step at hand, while training
  std::string plan;                      ///< in one line, where it changes
  double tokens = 0;                     ///< trained by then, without those that were lost by then
  Dollars usd{};                         ///< spent by then: nodes up to then (those that are gone by full billing periods), storage, egress
  DollarsPerSecond price{};              ///< of the nodes that are held then
};

/// Where the time went; the parts sum to the time that was looked at.
struct JobTimes {
  Seconds useful{};                      ///< steps whose result lasts
  Seconds lost_work{};                   ///< steps that were done, and done again from an older state
  Seconds checkpoint{};                  ///< by which saves held training up
  Seconds reconfiguration{};             ///< planning, fetching state, starting again
  Seconds waiting{}, idle{};             ///< see JobPhase
  [[nodiscard]] Seconds total() const { return useful + lost_work + checkpoint + reconfiguration + waiting + idle; }
};

struct JobMoney {
  Dollars nodes{}, storage{}, egress{};  ///< nodes: price over the time that each is held, by billing periods
  bool known = true;                     ///< false: a node that was held has no price
  [[nodiscard]] Dollars total() const { return nodes + storage + egress; }
};

/// Bytes of training state that were moved.
struct JobTraffic {
  Bytes from_devices{}, from_hosts{}, from_store{}, to_store{};
  Seconds stored_for{};                  ///< since the first whole copy lay in the store
};

/// The same job on nodes that are always there, at the on-demand price.
struct OnDemandJob {
  double tokens_per_s = 0;
  DollarsPerSecond price{};
  bool price_known = true;
};

struct JobReport {
  Seconds length{};                      ///< the horizon, or until the tokens were trained or the record ended
  JobTimes times;
  double steps = 0, tokens = 0, samples = 0;  ///< that last; the step at hand at the end counts by its share
  JobMoney money;
  JobTraffic traffic;
  double gpu_hours = 0;                  ///< held
  double energy_kwh = 0;                 ///< of GPUs: board power in steps but for bubbles, a share of it while held without work
  std::int64_t preemptions = 0, failures = 0;  ///< nodes that were lost, used or not
  std::int64_t reconfigurations = 0, rollbacks = 0, saves = 0;
  std::int64_t detailed_steps = 0;       ///< steps and moves of state that were simulated in full
  std::int64_t plans = 0;                ///< different deployments
  int longest_plan = -1;                 ///< the deployment that trained longest, by its id; -1: none ever did
  std::optional<OnDemandJob> on_demand;
  std::optional<Seconds> time_to_target;
  std::optional<Dollars> usd_to_target;
  std::vector<JobEntry> timeline;
  [[nodiscard]] double goodput() const { return length.value > 0 ? tokens / length.value : 0; }  ///< tokens a second
};

/// A mean over seeds; the true mean lies within `half_width` of it in 95 of 100 cases (Student's t).
struct Spread {
  double mean = 0, half_width = 0;
};

/// The same job under several seeds.
struct SeedSpread {
  int seeds = 0;
  Spread goodput, tokens, usd, usd_per_million_tokens, useful_fraction, preemptions;
};

}  // namespace trainyard
