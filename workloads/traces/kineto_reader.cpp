#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "sim/units/error.hpp"
#include "workloads/traces/kineto_events.hpp"
#include "workloads/traces/readers.hpp"

namespace trainyard {
namespace {

/// A gap between two operations of a stream that is longer has a reason: something that it waited for (microseconds).
constexpr double kShortGap = 3;
/// Whole microseconds make what follows seem to overlap what it followed.
constexpr double kRounding = 1;
constexpr std::size_t kNotesLookedAt = 8;

constexpr std::array<std::string_view, 12> kProducts{"gemm",   "conv",  "flash", "fmha",   "attention", "cutlass",
                                                     "matmul", "wgrad", "dgrad", "cublas", "xmma",      "_mm_"};

bool is_product(const std::string& name) {
  std::string plain = name;
  for (char& c : plain) c = char(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(kProducts, [&](std::string_view word) { return plain.find(word) != std::string::npos; });
}

/// The host is one chain of its launches and waits, whatever threads they are on; a kernel waits for its launch, for
/// its stream, and where it began later than both, for the operation of another stream that ended last before it. An
/// exchange also waits for what was launched before it.
class KinetoReader {
 public:
  KinetoReader(const std::string& path, const TraceReading& reading, TraceTables& tables)
      : events_(kineto_events(path)), tables_(tables), builder_(path, reading.lenient) {}

  TraceFile read() {
    for (std::size_t k = 0; k < events_.device_events.size(); ++k)
      kernels_of_[events_.device_events[k].correlation].push_back(int(k));
    node_of_.assign(events_.device_events.size(), -1);
    add_host();
    for (std::size_t k = 0; k < events_.device_events.size(); ++k) add_device_event(int(k));
    for (const auto& [host, kernel] : waits_)
      if (node_of_[std::size_t(kernel)] >= 0) depend(host, node_of_[std::size_t(kernel)]);
    TraceFile file;
    file.rank = builder_.finish();
    file.rank.rank = events_.rank;
    file.repairs = builder_.repairs();
    file.world_size = events_.world_size;
    file.device = events_.device;
    return file;
  }

 private:
  struct Launch {
    int node = -1;
    double at = 0;
  };

  int add(TraceNode node, const std::string& name, double begin, double time) {
    node.id = next_++;
    node.name = tables_.name(name);
    node.begin = Seconds(begin * 1e-6);
    node.time = Seconds(time * 1e-6);
    return builder_.add(node);
  }

  void depend(int node, int on) { builder_.depend(node, builder_.trace().nodes[std::size_t(on)].id, Dependency::data); }

  int add_host_node(const std::string& name, double begin, double time) {
    TraceNode node;
    node.work = TraceWork::host;
    const int at = add(node, name, begin, time);
    if (host_ >= 0) depend(at, host_);
    return host_ = at;
  }

  /// A node up to each launch; behind a wait one for what is left of it when the device is done.
  void add_host() {
    double until = 0;
    for (const HostCall& call : events_.calls) {
      const bool launches = call.correlation >= 0 && kernels_of_.contains(call.correlation);
      if (!launches && !call.waits) continue;
      const double work = std::max(0.0, call.begin - until);
      const int at = add_host_node("host", std::min(until, call.begin), work);
      until = std::max(until, call.begin);
      if (launches) launches_.try_emplace(call.correlation, Launch{at, call.begin});
      if (call.waits) until = add_wait(call, until);
    }
  }

  double add_wait(const HostCall& call, double until) {
    int last = -1;
    double ended = -1;
    for (std::size_t k = first_after(call.begin); k-- > 0;) {
      const DeviceEvent& event = events_.device_events[k];
      const double end = event.begin + event.time;
      if (end <= call.end() + kRounding && end > ended) last = int(k), ended = end;
      if (event.begin + longest() < call.begin) break;
    }
    for (std::size_t k = first_after(call.begin);
         k < events_.device_events.size() && events_.device_events[k].begin <= call.end(); ++k) {
      const double end = events_.device_events[k].begin + events_.device_events[k].time;
      if (end <= call.end() + kRounding && end > ended && launched_before(events_.device_events[k], call.begin))
        last = int(k), ended = end;
    }
    const bool waited = last >= 0 && ended > call.begin;
    const double from = waited ? std::min(ended, call.end()) : std::max(call.begin, until);
    const int at = add_host_node("host behind a wait", from, std::max(0.0, call.end() - from));
    if (waited) waits_.emplace_back(at, last);
    return std::max(until, call.end());
  }

  /// Position of the first device event that begins behind a time.
  [[nodiscard]] std::size_t first_after(double time) const {
    return std::size_t(std::ranges::upper_bound(events_.device_events, time, {}, &DeviceEvent::begin) -
                       events_.device_events.begin());
  }

  double longest() {
    if (longest_ < 0)
      for (const DeviceEvent& event : events_.device_events) longest_ = std::max(longest_, event.time);
    return longest_;
  }

  [[nodiscard]] bool launched_before(const DeviceEvent& event, double time) const {
    const auto found = launches_.find(event.correlation);
    return found == launches_.end() || found->second.at <= time;
  }

  /// What an event waited for, and how long it began behind it.
  void add_device_event(int k) {
    const DeviceEvent& event = events_.device_events[std::size_t(k)];
    std::vector<int> causes;
    double free = 0;
    if (const auto launch = launches_.find(event.correlation);
        launch != launches_.end() && launch->second.at <= event.begin) {
      causes.push_back(launch->second.node);
      free = launch->second.at;
    } else if (launch != launches_.end()) {
      causes.push_back(launch->second.node);  // clocks differ: at once
      free = event.begin;
    }
    if (const auto before = last_of_.find(event.stream);
        before != last_of_.end() && end_of(before->second) <= event.begin + kRounding) {
      causes.push_back(node_of_[std::size_t(before->second)]);
      free = std::max(free, end_of(before->second));
    }
    if (const int other = waited_for(event, free); other >= 0) {
      causes.push_back(node_of_[std::size_t(other)]);
      free = std::max(free, end_of(other));
    }
    const int lag = add_lag(causes, free, event.begin);
    const int at = add(node_of(event), event.name, event.begin, event.time);
    for (const int cause : lag >= 0 ? std::vector<int>{lag} : causes) depend(at, cause);
    node_of_[std::size_t(k)] = at;
    if (const auto before = last_of_.find(event.stream);
        before == last_of_.end() || end_of(before->second) <= end_of(k))
      last_of_[event.stream] = k;
  }

  [[nodiscard]] double end_of(int k) const {
    return events_.device_events[std::size_t(k)].begin + events_.device_events[std::size_t(k)].time;
  }

  /// Of the other streams' last events the one that ended last, if the event began later than it had to, or exchanges.
  [[nodiscard]] int waited_for(const DeviceEvent& event, double free) const {
    int last = -1;
    for (const auto& [stream, k] : last_of_) {
      if (stream == event.stream || end_of(k) > event.begin + kRounding || !(last < 0 || end_of(k) > end_of(last)))
        continue;
      last = k;
    }
    if (last < 0) return -1;
    const bool late = event.begin - free > kShortGap && end_of(last) > free;
    return late || (event.communicates && launch_of(last) < launch_of_event(event)) ? last : -1;
  }

  [[nodiscard]] double launch_of_event(const DeviceEvent& event) const {
    const auto found = launches_.find(event.correlation);
    return found == launches_.end() ? event.begin : found->second.at;
  }
  [[nodiscard]] double launch_of(int k) const { return launch_of_event(events_.device_events[std::size_t(k)]); }

  /// -1: none is needed.
  int add_lag(const std::vector<int>& causes, double from, double to) {
    if (to - from <= 0) return -1;
    TraceNode node;
    node.work = TraceWork::lag;
    const int at = add(node, "lag", from, to - from);
    for (const int cause : causes) depend(at, cause);
    return at;
  }

  TraceNode node_of(const DeviceEvent& event) {
    TraceNode node;
    node.stream = stream_of(event.stream);
    node.work = TraceWork::compute;
    node.bytes = event.copies ? event.bytes : 0;
    node.product = !event.copies && is_product(event.name);
    if (event.communicates) set_exchange(event, node);
    return node;
  }

  /// The stream with the first kernel is the device's own.
  int stream_of(std::int64_t stream) { return int(streams_.try_emplace(stream, int(streams_.size())).first->second); }

  void set_exchange(const DeviceEvent& event, TraceNode& node) {
    node.work = TraceWork::exchange;
    node.bytes = -1;
    (void)exchange_named(event.name, node.exchange);
    const CollectiveNote* note = note_of(event);
    const bool everybody = note != nullptr && (note->members == 0 || note->members == events_.world_size);
    if (note == nullptr || !note->known || note->bytes < 0 || (!everybody && note->ranks.empty())) {
      ++builder_.repairs().unsized_exchanges;
      return;
    }
    node.exchange = note->kind;
    node.bytes = std::max(note->bytes, 1.0);
    node.group = everybody ? tables_.group({"", {}, 0, 1}) : tables_.group({note->group, note->ranks, 0, 1});
  }

  /// Its own, else of the operators around its launch the one that says who takes part, else the innermost.
  [[nodiscard]] const CollectiveNote* note_of(const DeviceEvent& event) const {
    if (const auto own = events_.described.find(event.correlation);
        own != events_.described.end() && own->second.known && own->second.bytes >= 0)
      return &own->second;
    const auto launch = launches_.find(event.correlation);
    if (launch == launches_.end()) return nullptr;
    auto at = std::ranges::upper_bound(events_.notes, launch->second.at, {}, &CollectiveNote::begin);
    const CollectiveNote* found = nullptr;
    for (std::size_t looked = 0; at != events_.notes.begin() && looked < kNotesLookedAt; ++looked) {
      --at;
      if (at->end < launch->second.at) continue;
      if (!at->ranks.empty() || at->members > 0) return &*at;
      if (found == nullptr) found = &*at;
    }
    return found;
  }

  KinetoEvents events_;
  TraceTables& tables_;
  RankBuilder builder_;
  std::map<std::int64_t, std::vector<int>> kernels_of_;  ///< by correlation
  std::map<std::int64_t, Launch> launches_;              ///< the same
  std::map<std::int64_t, int> last_of_, streams_;        ///< by stream: the event that ends last; its number
  std::vector<int> node_of_;                             ///< [device event]
  std::vector<std::pair<int, int>> waits_;               ///< host node, device event
  std::uint64_t next_ = 0;
  int host_ = -1;
  double longest_ = -1;
};

}  // namespace

TraceFile read_kineto(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  return KinetoReader(path, reading, tables).read();
}

}  // namespace trainyard
