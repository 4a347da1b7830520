#include "sim/model/node_offers.hpp"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/weibull_distribution.hpp>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "sim/model/offer_book.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

using Generator = boost::random::mt19937_64;

/// Exponential with this mean; a mean of 0 is always 0.
Seconds exponential(Seconds mean, Generator& draws) {
  return mean.value > 0 ? Seconds(boost::random::exponential_distribution<double>(1 / mean.value)(draws)) : Seconds(0);
}

Seconds weibull(Seconds mean, double shape, Generator& draws) {
  if (mean.value <= 0) return Seconds(0);
  const double scale = mean.value / std::tgamma(1 + 1 / shape);
  return Seconds(boost::random::weibull_distribution<double>(shape, scale)(draws));
}

/// Calls `play(start of the turn)` once, or for each repetition of a record of this length until `end`.
template <class Play>
void repeat(Seconds length, AfterEnd after_end, Seconds end, Play&& play) {
  const bool loops = after_end == AfterEnd::loop && length.value > 0;
  std::size_t turn = 0;
  do play(double(turn) * length);
  while (count_change(turn), loops && double(turn) * length < end);
}

/// Whether a change of the record counts: within the time looked at, and in a loop before the record starts again.
bool counts(Seconds at, Seconds start, Seconds length, AfterEnd after_end, Seconds end) {
  return start + at < end && !(after_end == AfterEnd::loop && length.value > 0 && at >= length);
}

Offers play(const LevelTrace& trace, const OfferedGroup& group) {
  OfferBook book(group);
  repeat(trace.length, trace.after_end, group.end, [&](Seconds start) {
    for (const NodeLevel& level : trace.levels)
      if (counts(level.at, start, trace.length, trace.after_end, group.end))
        book.set_level(start + level.at, level.nodes, trace.victims);
  });
  return std::move(book).finish();
}

/// Named instances on the places of a group.
class Instances {
 public:
  explicit Instances(const OfferedGroup& group) : book_(group) {}

  /// Changes of one instant: first who goes, then who comes.
  void apply(const std::vector<InstanceChange>& changes, Seconds at) {
    for (const InstanceChange& change : changes)
      if (!change.up) leave(change.instance, at);
    for (const InstanceChange& change : changes)
      if (change.up && !place_of_.contains(change.instance)) waiting_.push_back(change.instance);
    seat(at);
  }
  /// The record starts again: who is there stands for the instances that its first instant brings, as far as they go.
  void start_again(const std::vector<InstanceChange>& first, Seconds at) {
    std::deque<int> coming;
    for (const InstanceChange& change : first)
      if (change.up) coming.push_back(change.instance);
    std::map<int, std::size_t> kept;
    for (const std::size_t place : book_.all_open()) {
      if (coming.empty()) {
        book_.close(place, at);
        continue;
      }
      kept.emplace(coming.front(), place);
      coming.pop_front();
    }
    place_of_ = std::move(kept);
    waiting_ = std::move(coming);
    seat(at);
  }
  [[nodiscard]] Offers finish() && { return std::move(book_).finish(); }

 private:
  void leave(int instance, Seconds at) {
    std::erase(waiting_, instance);
    const auto found = place_of_.find(instance);
    if (found == place_of_.end()) return;
    book_.close(found->second, at);
    place_of_.erase(found);
  }
  void seat(Seconds at) {
    for (auto place = book_.first_closed(); place && !waiting_.empty(); place = book_.first_closed()) {
      book_.open(*place, at);
      place_of_.emplace(waiting_.front(), *place);
      waiting_.pop_front();
    }
  }

  OfferBook book_;
  std::map<int, std::size_t> place_of_;
  std::deque<int> waiting_;
};

Offers play(const InstanceTrace& trace, const OfferedGroup& group) {
  Instances instances(group);
  repeat(trace.length, trace.after_end, group.end, [&](Seconds start) {
    if (start.value > 0 && (trace.changes.empty() || trace.changes.front().at.value > 0)) instances.start_again({}, start);
    for (auto first = trace.changes.begin(); first != trace.changes.end();) {
      const auto last = std::find_if(first, trace.changes.end(), [&](const auto& change) { return change.at != first->at; });
      const std::vector<InstanceChange> together(first, last);
      if (counts(first->at, start, trace.length, trace.after_end, group.end)) {
        if (start.value > 0 && first->at.value == 0) instances.start_again(together, start);
        else instances.apply(together, start + first->at);
      }
      first = last;
    }
  });
  return std::move(instances).finish();
}

Offers play(const WeibullProcess& process, const OfferedGroup& group) {
  OfferBook book(group);
  for (std::size_t node = 0; node < book.size(); ++node) {
    Generator draws(seed_for(group.seed, "node of " + group.name, node));
    for (Seconds now{}; now < group.end; now += weibull(process.down, process.down_shape, draws)) {
      book.open(node, now);
      now += weibull(process.up, process.up_shape, draws);
      if (now < group.end) book.close(node, now);
    }
  }
  return std::move(book).finish();
}

struct Burst {
  Seconds at{}, back{};
  std::string zone;
};

std::vector<Burst> bursts_of(const BurstProcess& process, const OfferedGroup& group) {
  std::vector<Burst> all;
  std::size_t changes = 0;
  for (const std::string& zone : std::set<std::string>(group.zones.begin(), group.zones.end())) {
    Generator draws(seed_for(group.seed, "bursts in zone " + zone));
    for (Seconds now = exponential(process.every, draws); now < group.end; now += exponential(process.every, draws)) {
      count_change(changes);
      all.push_back({now, now + exponential(process.away, draws), zone});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Burst& a, const Burst& b) { return a.at < b.at; });
  return all;
}

Offers play(const BurstProcess& process, const OfferedGroup& group) {
  OfferBook book(group);
  std::multimap<Seconds, std::vector<std::size_t>> back{{Seconds(0), {}}};
  for (std::size_t node = 0; node < book.size(); ++node) back.begin()->second.push_back(node);
  const auto return_until = [&](Seconds time) {
    for (; !back.empty() && back.begin()->first <= time && back.begin()->first < group.end; back.erase(back.begin()))
      for (const std::size_t node : back.begin()->second) book.open(node, back.begin()->first);
  };
  for (const Burst& burst : bursts_of(process, group)) {
    return_until(burst.at);
    std::vector<std::size_t> here = book.all_open();
    std::erase_if(here, [&](std::size_t node) { return group.zones[node] != burst.zone; });
    const auto count = static_cast<std::size_t>(std::llround(process.share * double(here.size())));
    back.emplace(burst.back, book.close_drawn(std::move(here), count, burst.at));
  }
  return_until(group.end);
  return std::move(book).finish();
}

/// The next level's place in the chain by its probability; probabilities are taken relative to their sum.
std::size_t next_level(const MarkovProcess& process, const MarkovLevel& here, Generator& draws) {
  double sum = 0;
  for (const auto& [nodes, probability] : here.to) sum += probability;
  double left = boost::random::uniform_01<double>()(draws) * sum;
  int chosen = here.to.back().first;
  for (const auto& [nodes, probability] : here.to)
    if (left -= probability; left < 0) {
      chosen = nodes;
      break;
    }
  const auto found = std::find_if(process.levels.begin(), process.levels.end(), [&](const auto& level) { return level.nodes == chosen; });
  require(found != process.levels.end(), "a Markov chain goes to a level that it does not have");
  return static_cast<std::size_t>(found - process.levels.begin());
}

Offers play(const MarkovProcess& process, const OfferedGroup& group) {
  OfferBook book(group);
  Generator draws(seed_for(group.seed, "chain of " + group.name));
  std::size_t place = 0, changes = 0;
  for (Seconds now{}; now < group.end;) {
    count_change(changes);
    const MarkovLevel& here = process.levels[place];
    book.set_level(now, here.nodes, process.victims);
    if (here.to.empty()) break;
    now += exponential(here.hold, draws);
    place = next_level(process, here, draws);
  }
  return std::move(book).finish();
}

}  // namespace

Offers offers_of(const Availability& source, const OfferedGroup& group) {
  return std::visit([&](const auto& one) { return play(one, group); }, source);
}

void count_change(std::size_t& changes) {
  constexpr std::size_t kMost = 5'000'000;
  if (++changes > kMost) throw UserError("market: nodes change more than 5,000,000 times within the horizon");
}

std::uint64_t seed_for(std::uint64_t seed, const std::string& purpose, std::uint64_t number) {
  std::uint64_t key = 14695981039346656037ULL ^ seed;   // FNV-1a, then SplitMix64's finaliser
  for (const char letter : purpose) key = (key ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  key += number * 0x9e3779b97f4a7c15ULL;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebULL;
  return key ^ (key >> 31);
}

}  // namespace trainyard
