#include "sim/scenario/scenario.hpp"
#include "topologies/market.hpp"
#include "topologies/topologies.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

constexpr double kMostSteps = 1e9;
/// Integers that a double, and so JSON, holds exactly.
constexpr double kLargestSeed = 9007199254740992.0;

Schema jitter_schema() {
  using namespace schema;
  return object({optional("kernels", number(between(0, 1), "of computing: standard deviation over mean, such as 0.03"), "0"),
                 optional("communication", number(between(0, 1), "of exchanges: standard deviation over mean"), "0"),
                 optional("draw", choice({"group", "device"}, "once for equal devices, or for each device on its own"), "group")},
                "times that vary from operation to operation, drawn with the seed");
}

Schema run_schema() {
  using namespace schema;
  return object(
      {optional("steps", integer(between(1, kMostSteps), "training steps; a step is simulated once, all are alike"),
                "1"),
       optional("seed", integer(between(0, kLargestSeed), "of everything that is drawn"), "1"),
       optional("jitter", jitter_schema()),
       optional("horizon", quantity(Dimension::seconds, above(0, 1e10), "a job of so long instead of steps: nodes come and go, checkpoints are saved")),
       optional("tokens", number(above(0, 1e18), "a job until so many tokens are trained; with a horizon, at most that long")),
       optional("planning", quantity(Dimension::seconds, between(0, 1e6), "simulated time that planning takes, at the start and after each change"), "0 s"),
       optional("deadline", quantity(Dimension::seconds, above(0, 1e10), "for objective: cost_under_deadline"))},
      "how long");
}

Schema strategy_schema() {
  using namespace schema;
  return one_of({text("name of a strategy"), mapping("strategy", any("its options"), "a strategy with its options")},
                "a strategy: NAME or {NAME: {OPTION: VALUE}}");
}

Schema strategies_schema() { return schema::list(strategy_schema(), between(1, 1000), "what is compared"); }

Schema variants_schema() {
  using namespace schema;
  return mapping("variant", mapping("path", any("the value that is put there"), "PATH: VALUE"),
                 "alternatives to the cluster, workload and market above, each simulated on its own");
}

}  // namespace

Schema scenario_schema() {
  using namespace schema;
  return object(
      {optional("name", text("of the scenario"), "the file's name"), required("cluster", cluster_schema()),
       required("workload", workload_schema()), optional("market", market_schema()), optional("run", run_schema()),
       optional("objective",
                choice({"throughput", "cost", "goodput", "cost_under_deadline"}, "what `compare` ranks by"),
                "throughput"),
       optional("strategies", strategies_schema(), "none: only a trace needs none"), optional("variants", variants_schema()),
       optional("jobs", jobs_schema()),
       optional("data", any("reserved: lengths and images")), optional("routing", any("reserved: loads of experts"))},
      "a scenario: which strategies train which workload on which cluster");
}

Schema jobs_schema() {
  using namespace schema;
  const Schema job = object({required("name", text("of the job")),
                             required("nodes", list(text("name of an entry of cluster.nodes"), between(1, 1000), "its nodes: nobody else's")),
                             required("workload", workload_schema()), required("strategy", strategy_schema())},
                            "a job on nodes of its own");
  return list(job, between(1, 100), "other jobs that train on the same fabric at the same time");
}

std::string_view name(Objective objective) {
  switch (objective) {
    case Objective::throughput:
      return "throughput";
    case Objective::cost:
      return "cost";
    case Objective::goodput:
      return "goodput";
    case Objective::cost_under_deadline:
      return "cost_under_deadline";
  }
  return "";
}

}  // namespace trainyard
