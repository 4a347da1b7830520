#include "sim/scenario/other_jobs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/scenario/strategy_choices.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

/// Group of nodes -> the job that has it; "": the scenario's own workload.
class Owners {
 public:
  explicit Owners(const Cluster& cluster) {
    for (const Node& node : cluster.nodes) job_of_[node.group] = "";
  }

  /// Mistakes: a group that is not there, or that a job has already.
  void give(const View& group, const std::string& job, Diagnostics& diagnostics) {
    const auto owner = job_of_.find(group.text());
    if (owner == job_of_.end())
      diagnostics.add(group.place(), unknown_name("group of nodes", group.text(), groups()));
    else if (!owner->second.empty())
      diagnostics.add(group.place(), "job " + owner->second + " has the nodes " + group.text() + " already");
    else
      owner->second = job;
  }

  [[nodiscard]] bool any_left() const {
    return std::ranges::any_of(job_of_, [](const auto& owner) { return owner.second.empty(); });
  }

  /// The cluster as a job may use it.
  [[nodiscard]] ClusterShare share(const std::string& job, const Cluster& cluster) const {
    std::vector<bool> chosen;
    for (const Node& node : cluster.nodes) chosen.push_back(job_of_.at(node.group) == job);
    return share_of(cluster, chosen);
  }

 private:
  [[nodiscard]] std::vector<std::string> groups() const {
    std::vector<std::string> names;
    for (const auto& [group, job] : job_of_) names.push_back(group);
    return names;
  }

  std::map<std::string, std::string> job_of_;
};

void check_names(const View& jobs, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const View name = jobs.at(j)["name"];
    if (name.text().empty()) diagnostics.add(name.place(), "a job needs a name");
    if (!names.insert(name.text()).second) diagnostics.add(name.place(), "another job is named " + name.text() + " already");
  }
}

StrategyChoice strategy_of(const View& job, const std::string& directory, Diagnostics& diagnostics) {
  ConfigValue list;
  list.kind = ConfigValue::Kind::list;
  list.place = job["strategy"].place();
  list.items = {job["strategy"].value()};
  const std::vector<StrategyChoice> choices = read_strategies(list, directory, diagnostics);
  return choices.empty() ? StrategyChoice{} : choices.front();
}

}  // namespace

void add_other_jobs(const ConfigValue& section, const std::string& directory, Variant& variant, Diagnostics& diagnostics) {
  const View jobs(section);
  check_names(jobs, diagnostics);
  Owners owners(variant.cluster);
  for (std::size_t j = 0; j < jobs.size(); ++j)
    for (std::size_t n = 0; n < jobs.at(j)["nodes"].size(); ++n)
      owners.give(jobs.at(j)["nodes"].at(n), jobs.at(j)["name"].text(), diagnostics);
  if (!owners.any_left()) diagnostics.add(section.place, "the jobs have all nodes: none are left for the scenario's own workload");
  variant.whole = std::make_shared<const Cluster>(variant.cluster);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const View job = jobs.at(j);
    variant.jobs.push_back({job["name"].text(), owners.share(job["name"].text(), *variant.whole),
                            build_workload(job["workload"].value(), directory, diagnostics), strategy_of(job, directory, diagnostics)});
    const OtherJob& made = variant.jobs.back();
    if (diagnostics.empty()) check_on(made.strategy, made.share.cluster, made.workload, directory, diagnostics);
  }
  variant.share = std::make_shared<const ClusterShare>(owners.share("", *variant.whole));
  variant.cluster = variant.share->cluster;
}

}  // namespace trainyard
