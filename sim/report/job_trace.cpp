#include "sim/report/job_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;
constexpr int kCourse = 1, kPlans = 2;  // threads of a job

const char* name(JobActivity what) {
  switch (what) {
    case JobActivity::steps: return "steps";
    case JobActivity::lost: return "lost work";
    case JobActivity::saving: return "saving";
    case JobActivity::changing: return "changing";
    case JobActivity::waiting: return "waiting";
    case JobActivity::idle: return "no nodes";
  }
  return "";
}

class JobTraceWriter {
 public:
  explicit JobTraceWriter(int first_process) : next_process_(first_process) {}

  void add(const CaseResult& result) {
    const int job = next_process_, nodes = next_process_ + 1;
    next_process_ += 2;
    const std::string title = result.strategy + " · " + result.recovery + (result.variant.empty() ? "" : " · " + result.variant);
    name_of(job, 0, "process_name", title);
    name_of(nodes, 0, "process_name", "nodes · " + title);
    name_of(job, kCourse, "thread_name", "job");
    name_of(job, kPlans, "thread_name", "plan");
    add_course(*result.job_trace, job);
    add_plans(*result.job, job);
    add_counters(*result.job, job);
    add_nodes(*result.job_trace, nodes);
    add_fetches(*result.job_trace, nodes);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void write(const Json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void name_of(int process, int thread, const char* what, const std::string& title) {
    write({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", title}}}});
  }
  void slice(int process, int thread, const std::string& title, const char* kind, Seconds from, Seconds until, const Json& arguments) {
    write({{"ph", "X"}, {"name", title}, {"cat", kind}, {"ts", from.value * kMicroseconds}, {"dur", (until - from).value * kMicroseconds},
           {"pid", process}, {"tid", thread}, {"args", arguments}});
  }
  void counter(int process, const char* what, Seconds at, const Json& values) {
    write({{"ph", "C"}, {"name", what}, {"ts", at.value * kMicroseconds}, {"pid", process}, {"args", values}});
  }

  void add_course(const JobTrace& trace, int process) {
    for (const JobStretch& stretch : trace.stretches) {
      Json arguments = Json::object();
      if (stretch.steps > 0) arguments["steps"] = stretch.steps;
      slice(process, kCourse, name(stretch.what), name(stretch.what), stretch.from, stretch.until, arguments);
    }
  }

  /// One Plan from the moment at which it starts until another one does.
  void add_plans(const JobReport& job, int process) {
    const JobEntry* since = nullptr;
    const auto end = [&](Seconds at) {
      if (since != nullptr) slice(process, kPlans, since->plan, "plan", since->at, at, {{"nodes_used", since->used}});
      since = nullptr;
    };
    for (const JobEntry& entry : job.timeline) {
      const bool trains = entry.phase == JobPhase::training;
      if (since != nullptr && trains && entry.plan == since->plan && entry.used == since->used) continue;
      end(entry.at);
      if (trains) since = &entry;
    }
    end(job.length);
  }

  void add_counters(const JobReport& job, int process) {
    for (const JobEntry& entry : job.timeline) {
      counter(process, "nodes", entry.at, {{"used", entry.used}, {"not used", entry.nodes - entry.used}});
      counter(process, "tokens per second", entry.at, {{"tokens/s", entry.tokens_per_s}});
      counter(process, "tokens trained", entry.at, {{"tokens", entry.tokens}});
      if (!job.money.known) continue;
      counter(process, "price", entry.at, {{"USD/h", in_dollars_per_hour(entry.price)}});
      counter(process, "spent", entry.at, {{"USD", entry.usd.value}});
    }
    counter(process, "tokens trained", job.length, {{"tokens", job.tokens}});
    if (job.money.known) counter(process, "spent", job.length, {{"USD", job.money.total().value}});
  }

  /// While it boots, is at work, and is known to go.
  void add_nodes(const JobTrace& trace, int process) {
    std::set<int> named;
    for (const HeldNode& node : trace.nodes) {
      const int thread = 2 * node.node + 1;
      if (named.insert(node.node).second) {
        name_of(process, thread, "thread_name", node.name);
        name_of(process, thread + 1, "thread_name", node.name + " fetches");
      }
      const Seconds ready = std::min(node.ready, node.until), noticed = std::clamp(node.noticed, ready, node.until);
      const Json end{{"end", node.preempted ? "preempted" : node.failed ? "failed" : "held"}};
      if (ready > node.acquired) slice(process, thread, "boots", "node", node.acquired, ready, end);
      if (noticed > ready) slice(process, thread, "is there", "node", ready, noticed, end);
      if (node.until > noticed) slice(process, thread, "will be lost", "node", noticed, node.until, end);
    }
  }

  /// Those of one node start together: longest first, they nest.
  void add_fetches(const JobTrace& trace, int process) {
    std::vector<const StateFetch*> order;
    for (const StateFetch& fetch : trace.fetches) order.push_back(&fetch);
    std::ranges::stable_sort(order, {}, [](const StateFetch* fetch) { return std::tuple(fetch->node, fetch->from, -fetch->until.value); });
    for (const StateFetch* fetch : order) {
      const std::string layers = fetch->first_layer == fetch->last_layer ? fmt::format("layer {}", fetch->first_layer)
                                                                         : fmt::format("layers {} to {}", fetch->first_layer, fetch->last_layer);
      slice(process, 2 * fetch->node + 2, layers + " from " + fetch->source, "fetch", fetch->from, fetch->until,
            {{"from", fetch->source}, {"to", fetch->target}, {"first_layer", fetch->first_layer}, {"last_layer", fetch->last_layer}, {"bytes", fetch->bytes.value}});
    }
  }

  std::string text_;
  int next_process_;
};

}  // namespace

std::string job_trace_events(const std::vector<CaseResult>& results, int first_process) {
  JobTraceWriter writer(first_process);
  for (const CaseResult& result : results)
    if (result.job && result.job_trace) writer.add(result);
  return std::move(writer).take();
}

}  // namespace trainyard
