#include "sim/cli/check_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/config/schema.hpp"
#include "sim/report/output_file.hpp"
#include "sim/units/error.hpp"
#include "validation/baseline.hpp"
#include "validation/junit.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

Maker maker() { return {version(), catalogue_hash()}; }

double share_of(const std::string& text, const std::string& whole) {
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share >= 0) || share > 1)
    throw UserError(fmt::format("--tolerance: a share from 0 to 1, or FIGURE=SHARE, is needed, not \"{}\"", whole));
  return share;
}

/// `SHARE` is for all figures, `FIGURE=SHARE` for one.
Tolerance tolerance_of(const std::vector<std::string>& given) {
  Tolerance tolerance;
  const std::vector<std::string> known = baseline_figures();
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      tolerance.all = share_of(text, text);
      continue;
    }
    const std::string figure = text.substr(0, equals);
    if (!figure.starts_with("jobs.") && std::find(known.begin(), known.end(), figure) == known.end())
      throw UserError("--tolerance: " + unknown_name("figure", figure, known));
    tolerance.of[figure] = share_of(text.substr(equals + 1), text);
  }
  return tolerance;
}

int update(const Arguments& arguments, const WorkerNursery& nursery) {
  std::string text;
  make_folders(arguments.into);
  Progress progress(!arguments.quiet, "baselines");
  std::size_t done = 0;
  for (const std::string& file : arguments.baselines) {
    progress.show(done++, arguments.baselines.size());
    const Baseline baseline = make_baseline(file, maker(), arguments.jobs, nursery);
    const std::string path = (fs::path(arguments.into) / (baseline.name + ".json")).string();
    write_file(path, to_baseline_json(baseline));
    text += path + "\n";
  }
  progress.end();
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
  const CheckOptions options{maker(), tolerance_of(arguments.tolerances), arguments.figures_only, arguments.jobs};
  std::vector<BaselineOutcome> outcomes;
  Progress progress(!arguments.quiet, "baselines");
  bool drifted = false;
  for (const std::string& file : arguments.baselines) {
    progress.show(outcomes.size(), arguments.baselines.size());
    outcomes.push_back(check_baseline(file, options, nursery));
    drifted = drifted || !outcomes.back().drift.empty();
  }
  progress.end();
  if (!arguments.junit.empty()) write_file(arguments.junit, to_junit(outcomes));
  deliver(arguments, text_of(outcomes));
  return drifted ? exit_status::kCheckFailed : exit_status::kDone;
}

}  // namespace trainyard
