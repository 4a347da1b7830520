// The part of a job's course where its Plan changes: where the state comes from, what is lost, whether growing pays.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/job/availability_forecast.hpp"
#include "sim/job/job_course.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

/// `planned`: nothing is lost yet, the step has ended and the devices hold its state.
void JobCourse::change(Seconds now, bool planned) {
  planned_at_.reset();
  look_again_at_.reset();
  const bool leave = rules_.on_notice == OnNotice::leave;
  std::optional<StateHolder> before;
  if (running_) before = holder(*running_, running_epochs_);
  const StateHolder* lost_from = planned || !before ? nullptr : &*before;
  std::optional<Deployment> next = world_.deploy(nodes_there(leave), lost_from);
  if (!next && leave) next = world_.deploy(nodes_there(false), lost_from);
  if (!next) {
    if (planned) return;  // what runs goes on as long as it can
    return wait_for_nodes(now);
  }
  const std::optional<StateTransfer> transfer = take_up(*next, planned);
  if (!transfer && planned) return;
  require(transfer.has_value(), "a job can always begin anew");
  const bool saves_first = planned && !rules_.restore.from_devices;
  const Seconds pause = next->by_recovery ? rules_.restore.failover : rules_.restore.restart;
  saved_for_change_ = saves_first;
  start(now, *std::move(next), *transfer, rules_.planning + pause + (saves_first ? running_->save : Seconds(0)));
}

void JobCourse::wait_for_nodes(Seconds now) {
  mode_ = Mode::waiting;
  next_.reset();
  note(now, count_there_ > 0 ? JobPhase::waiting : JobPhase::idle);
}

void JobCourse::start(Seconds now, Deployment next, const StateTransfer& transfer, Seconds more) {
  report_.traffic.from_devices += transfer.from_devices;
  report_.traffic.from_hosts += transfer.from_hosts;
  report_.traffic.from_store += transfer.from_store;
  report_.money.egress += transfer.egress;
  ++report_.reconfigurations;
  trained_.try_emplace(next.id);
  next_ = std::move(next);
  mode_ = Mode::reconfiguring;
  clock_ = now;
  ready_at_ = now + more + transfer.time;
  keep_fetches(transfer);
  note(now, JobPhase::reconfiguring);
}

/// The newest version that is whole; nothing only when a planned change finds none of the present version.
std::optional<StateTransfer> JobCourse::take_up(Deployment& next, bool planned) {
  if (rules_.restore.from_devices || planned) {
    auto now = rules_.restore.from_devices ? from_live(next) : from_save_now(next);
    if (now || planned) return now;
  }
  if (now_.steps == 0) return StateTransfer{};
  if (auto saved = from_saved(next)) return saved;
  roll_back_to(Progress{});
  return StateTransfer{};
}

/// What survivors hold, with copies that are as new.
std::optional<StateTransfer> JobCourse::from_live(Deployment& next) {
  if (!devices_hold_now_) return std::nullopt;
  StateSources sources;
  sources.devices = holder(*running_, running_epochs_);
  if (hosts_ && hosts_->version.steps == now_.steps) sources.hosts = holder(*hosts_->deployment, hosts_->epochs);
  sources.in_store = stored_ && stored_->steps == now_.steps;
  return world_.transfer(next, sources);
}

/// For a change that was planned: the state is saved first.
std::optional<StateTransfer> JobCourse::from_save_now(Deployment& next) {
  StateSources sources;
  if (saves_to(CopyPlace::host) || saves_to(CopyPlace::peer)) sources.hosts = holder(*running_, running_epochs_);
  sources.in_store = saves_to(CopyPlace::store) && running_->upload.value <= 0;
  return world_.transfer(next, sources);
}

std::optional<StateTransfer> JobCourse::from_saved(Deployment& next) {
  if (hosts_ && (!stored_ || stored_->steps <= hosts_->version.steps)) {
    StateSources sources;
    sources.hosts = holder(*hosts_->deployment, hosts_->epochs);
    sources.in_store = stored_ && stored_->steps == hosts_->version.steps;
    if (auto transfer = world_.transfer(next, sources)) {
      roll_back_to(hosts_->version);
      return transfer;
    }
  }
  if (!stored_) return std::nullopt;
  roll_back_to(*stored_);
  return world_.transfer(next, {std::nullopt, std::nullopt, true});
}

/// The steps since then have been done in vain.
void JobCourse::roll_back_to(const Progress& version) {
  if (version.steps < now_.steps) ++report_.rollbacks;
  report_.times.lost_work += now_.useful - version.useful;
  mark_lost(now_.steps - version.steps);
  now_ = version;
  devices_hold_now_ = false;
}

/// A change that was planned began with a save, which is whole now.
void JobCourse::keep_save_of_change() {
  if (!saved_for_change_) return;
  saved_for_change_ = false;
  ++report_.saves;
  report_.traffic.to_store += running_->saved_to_store;
  if (saves_to(CopyPlace::host) || saves_to(CopyPlace::peer)) hosts_ = HostCopy{now_, running_, running_epochs_};
  if (saves_to(CopyPlace::store) && running_->upload.value <= 0) arrive_in_store(now_, clock_);
}

void JobCourse::begin_training() {
  keep_save_of_change();
  running_ = std::make_shared<const Deployment>(*std::move(next_));
  next_.reset();
  running_epochs_ = epochs_of(*running_);
  devices_hold_now_ = true;
  since_save_ = Seconds(0);
  save_wanted_at_.reset();
  mode_ = Mode::training;
  note(clock_, JobPhase::training);
  const std::vector<NodeId> all = nodes_there(false);
  const auto is_new = [&](NodeId node) { return std::ranges::find(running_->nodes, node) == running_->nodes.end(); };
  if (std::ranges::any_of(all, is_new)) consider_growth(clock_);
}

/// New nodes are taken in at the end of the step if what they add until the next loss is expected outweighs the change.
void JobCourse::consider_growth(Seconds now) {
  look_again_at_.reset();
  std::optional<Deployment> next = world_.deploy(nodes_there(rules_.on_notice == OnNotice::leave), nullptr);
  if (!next || next->steps_per_s() <= running_->steps_per_s() * (1 + 1e-9)) return;
  if (is_worth_it(now, *std::move(next)))
    planned_at_ = std::max(clock_, now);
  else if (rules_.look_ahead)
    look_again_at_ = std::max(clock_, now) + rules_.look_ahead->interval;
}

/// For how long as many nodes as it needs are there: by the forecast, at most as far as that goes, or until the next loss is expected.
Seconds JobCourse::seem_to_stay(Seconds now, const Deployment& next) const {
  if (!rules_.look_ahead) return mean_between_losses(now);
  const LookAhead& look = *rules_.look_ahead;
  std::vector<double> past;
  for (int i = look.past - 1; i >= 0; --i) past.push_back(count_at(now - look.interval * double(i)));
  const std::vector<double> counts = forecast_counts(past, look.ahead, double(there_.size()));
  const auto needed = double(std::ranges::count(next.used, true));
  const auto fewer = std::ranges::find_if(counts, [&](double count) { return std::round(count) < needed; });
  return look.interval * double(fewer - counts.begin());
}

/// Before the job began there were as many as at its start.
double JobCourse::count_at(Seconds time) const {
  const auto later = std::ranges::upper_bound(counts_, time, {}, &std::pair<Seconds, int>::first);
  return later == counts_.begin() ? (counts_.empty() ? 0 : counts_.front().second) : std::prev(later)->second;
}

bool JobCourse::is_worth_it(Seconds now, Deployment next) {
  const std::optional<StateTransfer> transfer = take_up(next, true);
  if (!transfer) return false;
  Seconds cost = rules_.planning + rules_.restore.restart + transfer->time;
  if (!rules_.restore.from_devices) cost += running_->save;
  return seem_to_stay(now, next) * (next.steps_per_s() / running_->steps_per_s() - 1) > cost;
}

}  // namespace trainyard
