#include "sim/engine/simgrid_platform.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <string>

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

/// FLOP/s of every host; amounts are seconds times this.
constexpr double kHostSpeed = 1e12;
/// SimGrid weights a flow by its route's latency. Each path's private link has this one, all other links none: equal weights,
/// and whole numbers of them add up without rounding. The true latency comes in as a factor.
constexpr double kWeight = 1.0;
/// SimGrid never starts a flow of no latency beside others.
constexpr double kLeastLatency = 1e-15;
constexpr double kUnlimited = 1e18;
/// Bytes per second of a dead link: far from one byte in any run.
constexpr double kDead = 1e-15;
/// Routes of a Full zone are a square table: small zones keep it small.
constexpr std::size_t kPathsPerZone = 50;

int no_arguments = 1;
char program_name[] = "trainyard";
char* arguments[] = {program_name, nullptr};

/// Defaults model TCP on a grid: reverse traffic, a window that caps the rate, merged events.
void configure() {
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/crosstraffic:0");
  sg::Engine::set_config("network/TCP-gamma:1e30");
  sg::Engine::set_config("surf/precision:1e-12");
  sg::Engine::set_config("maxmin/precision:1e-12");
}

int* quiet_arguments() {
  xbt_log_control_set("xbt_cfg.thresh:warning");
  return &no_arguments;
}

}  // namespace

SimGridPlatform::SimGridPlatform(const TaskGraph& graph, const EventTrace& events, const std::vector<char>& slowed)
    : graph_(graph), engine_(quiet_arguments(), arguments), paths_(graph.paths.size()) {
  configure();
  sg::NetZone* root = sg::create_star_zone("root");
  for (std::size_t i = 0; i < graph.processors.size(); ++i)
    hosts_.push_back(root->create_host("processor" + std::to_string(i), kHostSpeed));
  spare_host_ = root->create_host("spare", kHostSpeed);
  for (std::size_t i = 0; i < graph.channels.size(); ++i)
    links_.push_back(root->create_link("channel" + std::to_string(i), graph.channels[i].capacity.value)->set_latency(0));
  find_highest(events);
  build_paths(root, slowed);
  root->get_network_model()->set_lat_factor_cb(
      [this](double, const sg::Host*, const sg::Host*, const std::vector<sg::Link*>&,
             const std::unordered_set<sg::NetZone*>&) { return latency_of_next_flow_ / kWeight; });
  root->seal();
}

void SimGridPlatform::find_highest(const EventTrace& events) {
  for (const Event& event : events) {
    const auto* change = std::get_if<CapacityChanged>(&event.what);
    if (change == nullptr) continue;
    if (highest_.empty())
      for (const Channel& channel : graph_.channels) highest_.push_back(channel.capacity.value);
    capacity_.resize(highest_.size());
    highest_[index(change->channel)] = std::max(highest_[index(change->channel)], change->capacity.value);
  }
  for (std::size_t i = 0; i < capacity_.size(); ++i) capacity_[i] = graph_.channels[i].capacity.value;
}

/// SimGrid bounds a flow for all its life by the least capacity on its route when it starts. So that it gains from capacities
/// that rise later, it is shown the highest while it starts.
void SimGridPlatform::show_highest(PathId path, bool highest) {
  const Ends& ends = paths_[index(path)];
  if (ends.factor < 1) ends.own->set_bandwidth(graph_.paths[index(path)].limit.value * (highest ? 1 : ends.factor));
  if (highest_.empty()) return;
  for (const auto& [channel, multiplicity] : graph_.paths[index(path)].channels) {
    const std::size_t i = index(channel);
    if (highest_[i] > capacity_[i]) links_[i]->set_bandwidth(highest ? highest_[i] : capacity_[i]);
  }
}

void SimGridPlatform::set_capacity(ChannelId channel, BytesPerSecond capacity) {
  capacity_[index(channel)] = std::max(capacity.value, kDead);
  links_[index(channel)]->set_bandwidth(capacity_[index(channel)]);
}

void SimGridPlatform::set_limit_factor(PathId path, double factor) {
  Ends& ends = paths_[index(path)];
  if (ends.factor == factor) return;
  ends.factor = factor;
  ends.own->set_bandwidth(graph_.paths[index(path)].limit.value * factor);
}

void SimGridPlatform::build_paths(sg::NetZone* root, const std::vector<char>& slowed) {
  sg::NetZone* zone = nullptr;
  std::size_t in_zone = 0;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (graph_.paths[i].channels.empty() && !slowed[i]) continue;
    if (in_zone++ % kPathsPerZone == 0) {
      if (zone != nullptr) zone->seal();
      zone = sg::create_full_zone("paths" + std::to_string(i))->set_parent(root);
    }
    build_path(zone, i);
  }
  if (zone != nullptr) zone->seal();
}

void SimGridPlatform::build_path(sg::NetZone* zone, std::size_t path) {
  const std::string number = std::to_string(path);
  Ends& ends = paths_[path];
  ends.from = zone->create_host("from" + number, kHostSpeed);
  ends.to = zone->create_host("to" + number, kHostSpeed);
  const double limit = graph_.paths[path].limit.value;
  sg::Link* own = zone->create_link("own" + number, limit > 0 ? limit : kUnlimited)->set_latency(kWeight);
  ends.own = own;
  if (limit > 0) own->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE);  // bounds each flow by itself (Comm::set_rate is ignored here)
  std::vector<sg::LinkInRoute> route{sg::LinkInRoute(own)};
  for (const auto& [channel, multiplicity] : graph_.paths[path].channels)
    route.insert(route.end(), static_cast<std::size_t>(multiplicity), sg::LinkInRoute(links_[index(channel)]));
  zone->add_route(ends.from->get_netpoint(), ends.to->get_netpoint(), nullptr, nullptr, route, false);
}

sg::ExecPtr SimGridPlatform::kernel(ProcessorId processor, Seconds alone, double share) const {
  sg::ExecPtr exec = sg::Exec::init();
  exec->set_flops_amount(alone.value * share * kHostSpeed)->set_host(host(processor));
  if (share < 1) exec->set_bound(share * kHostSpeed);
  return exec;
}

void SimGridPlatform::start_flow(const sg::CommPtr& flow, PathId path, std::uint64_t bytes, Seconds latency) {
  flow->set_payload_size(bytes);
  latency_of_next_flow_ = std::max(latency.value, kLeastLatency);
  show_highest(path, true);
  flow->set_source(paths_[index(path)].from)->set_destination(paths_[index(path)].to);  // starts it: it has all it needs
  show_highest(path, false);
}

}  // namespace trainyard
