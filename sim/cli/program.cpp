#include "sim/cli/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/calibrate_verb.hpp"
#include "sim/cli/check_verb.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/import_verb.hpp"
#include "sim/cli/init_verb.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/plugins.hpp"
#include "sim/cli/sweep_verb.hpp"
#include "sim/cli/validate_verb.hpp"
#include "sim/planning/recovery_registry.hpp"
#include "sim/planning/registry.hpp"
#include "sim/report/output_file.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

void complain(const std::string& text) { fmt::print(stderr, "{}{}", text, text.ends_with('\n') ? "" : "\n"); }

int stop(const Stop& stop) {
  if (stop.status == exit_status::kDone)
    write_all(STDOUT_FILENO, stop.text, "standard output");
  else
    complain(stop.text);
  return stop.status;
}

/// Strategies register before main(), where nothing can be reported.
void check_registry() {
  std::vector<std::string> problems = StrategyRegistry::instance().problems();
  for (const std::string& problem : RecoveryRegistry::instance().problems()) problems.push_back(problem);
  if (!problems.empty()) throw InternalError(fmt::format("{}", fmt::join(problems, "; ")));
}

int print(const Arguments& arguments, const std::string& text) {
  deliver(arguments, text);
  return exit_status::kDone;
}

int carry_out(const Arguments& arguments, const WorkerNursery& nursery) {
  switch (arguments.verb) {
    case Verb::run:
    case Verb::compare:
      return simulate(arguments, nursery);
    case Verb::explain:
      return print(arguments, explain_text(arguments));
    case Verb::list:
      return print(arguments, list_text(arguments));
    case Verb::schema:
      return print(arguments, schema_text());
    case Verb::validate:
      return validate(arguments, nursery);
    case Verb::calibrate:
      return print(arguments, calibrate_text(arguments, nursery));
    case Verb::check:
      return check_baselines(arguments, nursery);
    case Verb::import:
      return print(arguments, import_text(arguments));
    case Verb::export_plan:
      return print(arguments, export_text(arguments));
    case Verb::collective:
      return print(arguments, collective_text(arguments, nursery));
    case Verb::sweep:
      return sweep(arguments, nursery);
    case Verb::merge:
      return merge_sweeps(arguments);
    case Verb::init:
      return print(arguments, init_text(arguments.starter));
    case Verb::completion:
      return print(arguments, completion_text(arguments));
  }
  throw InternalError("a verb without a command");
}

int parse_and_run(const std::vector<std::string>& words, const WorkerNursery& nursery) {
  check_registry();
  const auto parsed = parse_arguments(words, version());
  if (const Stop* end = std::get_if<Stop>(&parsed)) return stop(*end);
  load_plugins(std::get<Arguments>(parsed).plugins);
  return carry_out(std::get<Arguments>(parsed), nursery);
}

}  // namespace

int run_program(const std::vector<std::string>& words, const WorkerNursery& nursery) {
  try {
    return parse_and_run(words, nursery);
  } catch (const UserError& error) {
    complain(error.what());
    return exit_status::kWrongInput;
  } catch (const OutputError& error) {
    complain(error.what());
    return exit_status::kCannotWrite;
  } catch (const std::exception& error) {
    complain(fmt::format("trainyard: a bug: {}", error.what()));
    return exit_status::kBug;
  }
}

}  // namespace trainyard
