#include "sim/cli/check_verb.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/output_file.hpp"
#include "validation/baseline.hpp"
#include "validation/junit.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

int update(const Arguments& arguments, const WorkerNursery& nursery) {
  std::string text;
  fs::create_directories(arguments.into);
  for (const std::string& file : arguments.baselines) {
    const Baseline baseline = make_baseline(file, version(), arguments.jobs, nursery);
    const std::string path = (fs::path(arguments.into) / (baseline.name + ".json")).string();
    write_file(path, to_baseline_json(baseline));
    text += path + "\n";
  }
  deliver(arguments, text);
  return exit_status::kDone;
}

std::string text_of(const std::vector<BaselineOutcome>& outcomes) {
  std::string text;
  for (const BaselineOutcome& outcome : outcomes) {
    text += fmt::format("{}  {}: {} figures of {} cases compared\n", outcome.drift.empty() ? "same " : "DRIFT",
                        outcome.name, outcome.figures, outcome.cases);
    for (const std::string& line : outcome.drift) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace

int check_baselines(const Arguments& arguments, const WorkerNursery& nursery) {
  if (arguments.update) return update(arguments, nursery);
  std::vector<BaselineOutcome> outcomes;
  const Progress progress(!arguments.quiet);
  bool drifted = false;
  for (const std::string& file : arguments.baselines) {
    progress.show(outcomes.size(), arguments.baselines.size());
    outcomes.push_back(check_baseline(file, arguments.tolerance, arguments.jobs, nursery));
    drifted = drifted || !outcomes.back().drift.empty();
  }
  if (!arguments.junit.empty()) write_file(arguments.junit, to_junit(outcomes));
  deliver(arguments, text_of(outcomes));
  return drifted ? exit_status::kCheckFailed : exit_status::kDone;
}

}  // namespace trainyard
