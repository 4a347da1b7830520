#include "sim/job/job_course.hpp"

#include <algorithm>
#include <cmath>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Whole steps that fit are counted as if a step were this much shorter, so that rounding loses none.
constexpr double kRounding = 1e-12;

/// Steps until `time` has passed, at least one.
double steps_to_pass(Seconds time, Seconds step) { return std::max(1.0, std::ceil(time / step - kRounding)); }

}  // namespace

JobCourse::JobCourse(JobWorld& world, const JobRules& rules, std::size_t nodes)
    : world_(world), rules_(rules), there_(nodes, false), doomed_(nodes, false), epoch_(nodes, 0) {}

JobReport JobCourse::run(const NodeEvents& events) {
  end_ = events.end;
  note(Seconds(0), JobPhase::idle);
  for (const NodeInstant& instant : events.instants) {
    if (finished_ || instant.at >= end_) break;
    advance(instant.at);
    if (!finished_) apply(instant);
  }
  if (!finished_) advance(end_);
  close();
  return std::move(report_);
}

/// Brings the job to `until`, or in training to the last end of a step before it, or to its end.
void JobCourse::advance(Seconds until) {
  while (!finished_) {
    if (mode_ == Mode::waiting) return wait(until);
    if (mode_ == Mode::training) {
      train(until);
      if (mode_ == Mode::training) return;
      continue;
    }
    report_.times.reconfiguration += std::min(ready_at_, until) - clock_;
    spend(JobActivity::changing, clock_, std::min(ready_at_, until));
    clock_ = std::min(ready_at_, until);
    if (ready_at_ > until) return;
    begin_training();
  }
}

void JobCourse::wait(Seconds until) {
  (count_there_ > 0 ? report_.times.waiting : report_.times.idle) += until - clock_;
  spend(count_there_ > 0 ? JobActivity::waiting : JobActivity::idle, clock_, until);
  clock_ = until;
}

void JobCourse::train(Seconds until) {
  while (!finished_ && mode_ == Mode::training) {
    if (upload_ && upload_->done <= clock_) finish_upload(clock_);
    if (look_again_at_ && *look_again_at_ <= clock_) consider_growth(clock_);
    if (planned_at_ && *planned_at_ <= clock_)
      change(clock_, true);
    else if (!(save_is_due() ? save(until) : run_steps(until)))
      return;
  }
}

/// As many whole steps as nothing comes between; false when not one is left before `until`.
bool JobCourse::run_steps(Seconds until) {
  const Seconds step = step_at_hand();
  double steps = std::floor((until - clock_) / step + kRounding);
  if (!rules_.saves.to.empty() && !upload_)
    steps = std::min(steps, steps_to_pass(save_interval() - since_save_, running_->step));
  if (upload_) steps = std::min(steps, steps_to_pass(upload_->done - clock_, step));
  if (planned_at_) steps = std::min(steps, steps_to_pass(*planned_at_ - clock_, step));
  if (save_wanted_at_) steps = std::min(steps, steps_to_pass(*save_wanted_at_ - clock_, step));
  if (look_again_at_) steps = std::min(steps, steps_to_pass(*look_again_at_ - clock_, step));
  if (std::isfinite(rules_.tokens))
    steps = std::min(steps, std::max(1.0, std::ceil((rules_.tokens - now_.tokens) / running_->tokens - kRounding)));
  if (steps < 1) return false;
  spend(JobActivity::steps, clock_, clock_ + step * steps, steps);
  clock_ += step * steps;
  now_.steps += steps;
  now_.tokens += running_->tokens * steps;
  now_.samples += running_->samples * steps;
  now_.useful += running_->step * steps;
  since_save_ += running_->step * steps;
  since_upload_ += running_->step * steps;
  trained_[running_->id] += step * steps;
  report_.times.checkpoint += (step - running_->step) * steps;
  report_.energy_kwh += running_->watts * (running_->step.value * steps) / 3.6e6;
  finished_ = now_.tokens >= rules_.tokens * (1 - kRounding);
  return true;
}

bool JobCourse::save_is_due() const {
  if (rules_.saves.to.empty() || upload_ || now_.steps == 0 || since_save_.value <= 0) return false;
  return (save_wanted_at_ && *save_wanted_at_ <= clock_) || since_save_ >= save_interval() * (1 - kRounding);
}

/// sqrt(2 C M) of Young and Daly unless the recovery says it.
Seconds JobCourse::save_interval() const {
  if (rules_.saves.every) return *rules_.saves.every;
  Seconds cost = running_->save;
  if (!rules_.saves.store_every) cost += running_->upload * (1 - running_->step / running_->step_beside_upload);
  return Seconds(std::sqrt(2 * cost.value * mean_between_losses(clock_).value));
}

bool JobCourse::goes_to_store() const {
  if (!saves_to(CopyPlace::store)) return false;
  return !rules_.saves.store_every || (!stored_ && !upload_) || since_upload_ >= *rules_.saves.store_every * (1 - kRounding);
}

Seconds JobCourse::mean_between_losses(Seconds now) const { return (now + rules_.saves.first_loss) / double(1 + losses_); }

bool JobCourse::save(Seconds until) {
  if (clock_ + running_->save > until) return false;
  spend(JobActivity::saving, clock_, clock_ + running_->save);
  clock_ += running_->save;
  report_.times.checkpoint += running_->save;
  ++report_.saves;
  since_save_ = Seconds(0);
  save_wanted_at_.reset();
  if (saves_to(CopyPlace::host) || saves_to(CopyPlace::peer)) hosts_ = HostCopy{now_, running_, epochs_of(*running_)};
  if (!goes_to_store()) return true;
  report_.traffic.to_store += running_->saved_to_store;
  since_upload_ = Seconds(0);
  if (running_->upload.value > 0)
    upload_ = Upload{now_, clock_ + running_->upload, running_->saved_to_store};
  else
    arrive_in_store(now_, clock_);
  return true;
}

void JobCourse::finish_upload(Seconds now) {
  if (!upload_ || upload_->done > now) return;
  arrive_in_store(upload_->version, upload_->done);
  upload_.reset();
}

void JobCourse::arrive_in_store(const Progress& version, Seconds at) {
  stored_ = version;
  if (!first_stored_) first_stored_ = at;
}

void JobCourse::apply(const NodeInstant& instant) {
  const auto set = [](std::vector<bool>& flags, const std::vector<NodeId>& nodes, bool value) {
    for (const NodeId node : nodes) flags[index(node)] = value;
  };
  const bool hits_running = running_ && is_hit(*running_, instant.lost), hits_next = next_ && is_hit(*next_, instant.lost);
  const bool doomed = running_ && is_hit(*running_, instant.noticed);
  for (const NodeId node : instant.lost) ++epoch_[index(node)];
  set(doomed_, instant.noticed, true);
  set(doomed_, instant.lost, false);
  set(there_, instant.lost, false);
  set(there_, instant.ready, true);
  count_there_ = int(std::ranges::count(there_, true));
  if (rules_.look_ahead) counts_.emplace_back(instant.at, count_there_);
  if (mode_ == Mode::training && hits_running) return interrupt(instant.at);
  if (mode_ == Mode::reconfiguring && (hits_next || hits_running)) return change(instant.at, false);
  if (mode_ == Mode::waiting) return instant.ready.empty() ? note(instant.at, count_there_ > 0 ? JobPhase::waiting : JobPhase::idle) : change(instant.at, false);
  if (mode_ == Mode::training && doomed && rules_.on_notice == OnNotice::save) save_wanted_at_ = instant.at;
  if (mode_ == Mode::training && doomed && rules_.on_notice == OnNotice::leave) planned_at_ = std::max(clock_, instant.at);
  if (mode_ == Mode::training && !instant.ready.empty()) consider_growth(instant.at);
  note(instant.at, mode_ == Mode::training ? JobPhase::training : JobPhase::reconfiguring);
}

/// What runs when a node goes is lost, a step or a save; the step's update is the last thing it does.
void JobCourse::interrupt(Seconds now) {
  (save_is_due() ? report_.times.checkpoint : report_.times.lost_work) += now - clock_;
  spend(save_is_due() ? JobActivity::saving : JobActivity::lost, clock_, now);
  clock_ = now;
  finish_upload(now);
  upload_.reset();
  ++losses_;
  change(now, false);
}

void JobCourse::close() {
  if (mode_ == Mode::training && !finished_ && clock_ < end_) {
    const double share = (end_ - clock_) / step_at_hand();
    spend(save_is_due() ? JobActivity::saving : JobActivity::steps, clock_, end_, save_is_due() ? 0 : share);
    if (save_is_due()) {
      report_.times.checkpoint += end_ - clock_;
    } else {
      now_.steps += share;
      now_.tokens += running_->tokens * share;
      now_.samples += running_->samples * share;
      now_.useful += running_->step * share;
      report_.times.checkpoint += (step_at_hand() - running_->step) * share;
      report_.energy_kwh += running_->watts * (running_->step.value * share) / 3.6e6;
    }
    clock_ = end_;
  }
  report_.times.useful = now_.useful;
  report_.steps = now_.steps;
  report_.tokens = now_.tokens;
  report_.samples = now_.samples;
  report_.length = clock_;
  report_.plans = std::int64_t(trained_.size());
  if (first_stored_) report_.traffic.stored_for = clock_ - *first_stored_;
  const auto longest = std::ranges::max_element(trained_, {}, [](const auto& one) { return one.second; });
  if (longest != trained_.end()) report_.longest_plan = longest->first;
}

void JobCourse::note(Seconds at, JobPhase phase) {
  JobEntry entry{at, phase, count_there_, 0, 0, "", now_.tokens, report_.money.egress, {}};
  if (phase == JobPhase::training || phase == JobPhase::reconfiguring) {
    const Deployment& deployment = phase == JobPhase::training ? *running_ : *next_;
    entry.used = int(std::ranges::count(deployment.used, true));
    entry.plan = deployment.plan;
    if (phase == JobPhase::training) entry.tokens_per_s = deployment.tokens_per_s();
  }
  std::vector<JobEntry>& all = report_.timeline;
  if (!all.empty() && all.back().at == at) all.pop_back();
  all.push_back(std::move(entry));
}

void JobCourse::spend(JobActivity what, Seconds from, Seconds until, double steps) {
  if (!rules_.keep_trace || until <= from) return;
  std::vector<JobStretch>& all = trace_.stretches;
  if (!all.empty() && all.back().what == what && all.back().until == from) {
    all.back().until = until;
    all.back().steps += steps;
  } else {
    all.push_back({from, until, what, steps});
  }
}

/// The newest so many of the steps; a stretch of which only a part is lost is cut.
void JobCourse::mark_lost(double steps) {
  std::vector<JobStretch>& all = trace_.stretches;
  for (std::size_t i = all.size(); i-- > 0 && steps > 1e-9;) {
    if (all[i].what != JobActivity::steps) continue;
    const double lost = std::min(steps, all[i].steps);
    steps -= lost;
    if (lost < all[i].steps * (1 - 1e-9)) {
      const JobStretch whole = all[i];
      const Seconds cut = whole.until - (whole.until - whole.from) * (lost / whole.steps);
      all[i] = {whole.from, cut, JobActivity::steps, whole.steps - lost};
      all.insert(all.begin() + std::ptrdiff_t(i) + 1, {cut, whole.until, JobActivity::lost, lost});
    } else {
      all[i].what = JobActivity::lost;
    }
  }
}

/// The transfer ends when the change does.
void JobCourse::keep_fetches(const StateTransfer& transfer) {
  const Seconds begin = ready_at_ - transfer.time;
  for (StateFetch fetch : transfer.fetches) {
    fetch.from += begin;
    fetch.until += begin;
    trace_.fetches.push_back(std::move(fetch));
  }
}

bool JobCourse::saves_to(CopyPlace place) const { return std::ranges::find(rules_.saves.to, place) != rules_.saves.to.end(); }

bool JobCourse::is_hit(const Deployment& deployment, const std::vector<NodeId>& lost) const {
  for (std::size_t i = 0; i < deployment.nodes.size(); ++i)
    if (deployment.used[i] && std::ranges::binary_search(lost, deployment.nodes[i])) return true;
  return false;
}

std::vector<NodeId> JobCourse::nodes_there(bool without_doomed) const {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < there_.size(); ++i)
    if (there_[i] && !(without_doomed && doomed_[i])) nodes.push_back(id_at<NodeId>(i));
  return nodes;
}

std::vector<int> JobCourse::epochs_of(const Deployment& deployment) const {
  std::vector<int> epochs;
  for (const NodeId node : deployment.nodes) epochs.push_back(epoch_[index(node)]);
  return epochs;
}

StateHolder JobCourse::holder(const Deployment& deployment, const std::vector<int>& epochs) const {
  StateHolder holder{&deployment, {}};
  for (std::size_t i = 0; i < deployment.nodes.size(); ++i) {
    const std::size_t node = index(deployment.nodes[i]);
    holder.there.push_back(there_[node] && epoch_[node] == epochs[i]);
  }
  return holder;
}

}  // namespace trainyard
