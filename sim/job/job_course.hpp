// The course of a job: training, saves, losses, changes of Plan, and where the time went. Steps of one deployment are alike and are
// passed over at once; everything that happens between them is worked out here (design.md §6, two levels of time).
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/job/deployment.hpp"
#include "sim/model/job_report.hpp"
#include "sim/model/job_trace.hpp"
#include "sim/model/node_events.hpp"
#include "sim/planning/recovery.hpp"

namespace trainyard {

struct JobRules {
  SavePolicy saves;
  RestorePolicy restore;
  OnNotice on_notice = OnNotice::nothing;
  Seconds planning{};                    ///< that every change of Plan takes
  double tokens = std::numeric_limits<double>::infinity();  ///< the job ends when so many are trained
  bool keep_trace = false;               ///< stretches and fetches of JobTrace
  std::optional<LookAhead> look_ahead{}; ///< forecasts how long new nodes stay
};

class JobCourse {
 public:
  JobCourse(JobWorld& world, const JobRules& rules, std::size_t nodes);
  /// Fills times, steps, tokens, traffic, energy, reconfigurations, rollbacks, saves, plans, egress, timeline; `length` is the end of
  /// the events, or earlier when the tokens are trained.
  [[nodiscard]] JobReport run(const NodeEvents& events);
  /// What it was busy with and what was fetched, after run() with `keep_trace`; its nodes are left to the caller.
  [[nodiscard]] JobTrace take_trace() { return std::move(trace_); }

 private:
  enum class Mode { waiting, reconfiguring, training };
  /// How far training is; a version of the state is known by it.
  struct Progress {
    double steps = 0, tokens = 0, samples = 0;
    Seconds useful{};
  };
  /// A copy of the state in hosts' memory: whose, and which nodes have been there ever since.
  struct HostCopy {
    Progress version;
    std::shared_ptr<const Deployment> deployment;
    std::vector<int> epochs;             ///< [place] of the node when it was made
  };
  /// The end of an upload.
  struct Upload {
    Progress version;
    Seconds done{};
    Bytes bytes{};
  };

  void advance(Seconds until);
  void apply(const NodeInstant& instant);
  void wait(Seconds until);
  void train(Seconds until);
  [[nodiscard]] bool run_steps(Seconds until);
  [[nodiscard]] bool save(Seconds until);
  [[nodiscard]] bool save_is_due() const;
  [[nodiscard]] Seconds step_at_hand() const { return upload_ ? running_->step_beside_upload : running_->step; }
  [[nodiscard]] Seconds save_interval() const;
  [[nodiscard]] bool goes_to_store() const;
  void finish_upload(Seconds now);
  void arrive_in_store(const Progress& version, Seconds at);
  void interrupt(Seconds now);
  void change(Seconds now, bool planned);
  void wait_for_nodes(Seconds now);
  void start(Seconds now, Deployment next, const StateTransfer& transfer, Seconds more);
  [[nodiscard]] std::optional<StateTransfer> take_up(Deployment& next, bool planned);
  [[nodiscard]] std::optional<StateTransfer> from_live(Deployment& next);
  [[nodiscard]] std::optional<StateTransfer> from_save_now(Deployment& next);
  [[nodiscard]] std::optional<StateTransfer> from_saved(Deployment& next);
  void roll_back_to(const Progress& version);
  void keep_save_of_change();
  void begin_training();
  void consider_growth(Seconds now);
  [[nodiscard]] bool is_worth_it(Seconds now, Deployment next);
  void close();
  void note(Seconds at, JobPhase phase);
  void spend(JobActivity what, Seconds from, Seconds until, double steps = 0);
  void mark_lost(double steps);
  void keep_fetches(const StateTransfer& transfer);
  [[nodiscard]] bool saves_to(CopyPlace place) const;
  [[nodiscard]] bool is_hit(const Deployment& deployment, const std::vector<NodeId>& lost) const;
  [[nodiscard]] std::vector<NodeId> nodes_there(bool without_doomed) const;
  [[nodiscard]] StateHolder holder(const Deployment& deployment, const std::vector<int>& epochs) const;
  [[nodiscard]] std::vector<int> epochs_of(const Deployment& deployment) const;
  [[nodiscard]] Seconds mean_between_losses(Seconds now) const;
  [[nodiscard]] Seconds seem_to_stay(Seconds now, const Deployment& next) const;
  [[nodiscard]] double count_at(Seconds time) const;

  JobWorld& world_;
  JobRules rules_;
  Mode mode_ = Mode::waiting;
  Seconds clock_{}, end_{};
  bool finished_ = false;
  std::vector<bool> there_, doomed_;     ///< [node]
  std::vector<int> epoch_;               ///< [node] how often it was lost
  int count_there_ = 0;
  std::vector<std::pair<Seconds, int>> counts_;  ///< from when so many were there
  Progress now_;
  std::shared_ptr<const Deployment> running_;  ///< or the last that ran, whose devices may still hold the state
  std::vector<int> running_epochs_;      ///< [place]
  bool devices_hold_now_ = false;        ///< what its devices hold is the version `now_`
  std::optional<Deployment> next_;       ///< that a change leads to
  Seconds ready_at_{};
  bool saved_for_change_ = false;        ///< the change began with a save of `running_`
  std::optional<HostCopy> hosts_;
  std::optional<Progress> stored_;
  std::optional<Upload> upload_;
  Seconds since_save_{}, since_upload_{};  ///< training time
  std::optional<Seconds> save_wanted_at_;///< at the first end of a step from then on
  std::optional<Seconds> planned_at_;    ///< a change of Plan at the first end of a step from then on
  std::optional<Seconds> look_again_at_; ///< whether nodes that did not seem to stay are worth taking in, at the first end of a step
  std::int64_t losses_ = 0;              ///< that stopped training
  std::map<int, Seconds> trained_;       ///< [deployment]
  std::optional<Seconds> first_stored_;
  JobReport report_;
  JobTrace trace_;
};

}  // namespace trainyard
