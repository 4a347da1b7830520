// A planner that is another program: the question as JSON on its standard input, a Plan as YAML or JSON on its standard output.
#include <fmt/format.h>

#include <filesystem>

#include <unistd.h>

#include "sim/planning/child_program.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/planning_json.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 20000;
constexpr Seconds kTimeLimit(60);

Schema options_schema() {
  const Schema program = schema::text("the program, as from the folder of the scenario; without a slash, from PATH");
  return schema::one_of(
      {program,
       schema::object({schema::required("program", program), schema::optional("name", schema::text("what results call it"), "external"),
                       schema::optional("budget", schema::integer(between(1, 1e12), "evaluations, told to the program, which alone can count them"),
                                        std::to_string(kBudget)),
                       schema::optional("time_limit", schema::quantity(Dimension::seconds, above(0, 86400), "until it must have ended"), "60 s")},
                      "a program and what it is told")},
      "a program, or a map of");
}

class External final : public Strategy {
 public:
  External(const StrategyOptions& options, Diagnostics& diagnostics) {
    if (!options.values) throw UserError("external needs a program, such as {external: ./planner.py}");
    const View program = options.values.is_scalar() ? options.values : options.values["program"];
    said_ = program.text();
    path_ = said_.find('/') == std::string::npos ? said_ : (std::filesystem::path(options.directory) / said_).string();
    if (said_.find('/') != std::string::npos) check_program(program.place(), diagnostics);
    if (options.values.is_scalar()) return;
    label_ = options.values["name"].text_or("");
    budget_ = options.values["budget"].integer_or(budget_);
    limits_.time = options.values["time_limit"].quantity_or(limits_.time);
  }

  std::string label() const override { return label_; }

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const ChildAnswer answer = ask_program(path_, planning_json(context.cluster, context.workload, budget_, context.seed), limits_);
    if (!answer.problem.empty()) fail(answer.problem);
    if (answer.output.find_first_not_of(" \t\r\n") == std::string::npos) fail("ended without printing a Plan");
    Diagnostics mistakes;
    const ConfigValue value = read_yaml_text(answer.output, "its answer", mistakes);
    fail_if_any("printed no Plan", mistakes);
    if (value.kind != ConfigValue::Kind::map) fail("printed no Plan: a map is expected");
    if (const ConfigValue* why = value.find("infeasible")) return Infeasible{fmt::format("{}: {}", said_, View(*why).text()), {}, {}};
    return read(value, context);
  }

 private:
  void check_program(const SourcePlace& place, Diagnostics& diagnostics) const {
    std::error_code unknown;
    if (!std::filesystem::exists(path_, unknown))
      diagnostics.add(place, fmt::format("no program {}", std::filesystem::path(path_).lexically_normal().string()));
    else if (std::filesystem::is_directory(path_, unknown) || ::access(path_.c_str(), X_OK) != 0)
      diagnostics.add(place, fmt::format("{} is no program that may be run", std::filesystem::path(path_).lexically_normal().string()));
  }

  /// A Plan, or `{plan:, estimated_step_time:}`.
  PlanOrInfeasible read(const ConfigValue& value, const PlanningContext& context) const {
    Diagnostics mistakes;
    std::optional<Seconds> estimate;
    const ConfigValue* written = value.find("plan");
    if (written) {
      const Schema schema = schema::object({schema::required("plan", schema::any("a Plan")),
                                            schema::optional("estimated_step_time", schema::quantity(Dimension::seconds, above(0, 1e9), "by its own model"))},
                                           "an answer");
      if (trainyard::check(value, schema, mistakes) && View(value)["estimated_step_time"]) estimate = View(value)["estimated_step_time"].quantity<Seconds>();
    }
    const SymbolicPlan symbolic = read_plan(written ? *written : value, mistakes);
    fail_if_any("printed a Plan with a mistake", mistakes);
    Plan plan = resolve(symbolic, context.cluster, context.workload, mistakes);
    fail_if_any("printed a Plan that does not fit the cluster or workload", mistakes);
    if (const auto wrong = plan.check(context.cluster, context.workload); !wrong.empty())
      fail("printed a Plan that breaks a rule: " + wrong.front() + others(wrong.size()));
    return Planned{std::move(plan), estimate, {}, false};
  }

  static std::string others(std::size_t all) { return all > 1 ? fmt::format(" (and {} more)", all - 1) : ""; }

  void fail_if_any(const std::string& what, const Diagnostics& mistakes) const {
    if (mistakes.empty()) return;
    const Diagnostic& first = mistakes.all().front();
    const std::string path = first.place.path.empty() ? "" : first.place.path + ": ";
    fail(fmt::format("{}: line {}, column {}: {}{}{}", what, first.place.line, first.place.column, path, first.message, others(mistakes.all().size())));
  }

  [[noreturn]] void fail(const std::string& why) const { throw UserError(fmt::format("external planner {} {}", said_, why)); }

  std::string said_, path_, label_;
  std::int64_t budget_ = kBudget;
  ChildLimits limits_{kTimeLimit, 16 << 20};
};

const StrategyRegistrar registrar({
    .name = "external",
    .summary = "a program of yours: cluster and workload as JSON in, a Plan out",
    .paper = "none",
    .options = options_schema(),
    .simplified = {},
    .make = [](const StrategyOptions& options, Diagnostics& diagnostics) { return std::make_unique<External>(options, diagnostics); },
});

}  // namespace
}  // namespace trainyard
