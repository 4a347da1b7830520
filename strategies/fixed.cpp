// A Plan that somebody wrote, in its long or short form, in the scenario or in a file of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "sim/config/text_file.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

class Fixed final : public Strategy {
 public:
  Fixed(const StrategyOptions& options, Diagnostics& diagnostics) {
    if (!options.values) throw UserError("fixed needs a Plan, such as {fixed: {tensor: 8, pipeline: 2, data: 4}}");
    if (options.values.is_scalar())
      read_file(options, diagnostics);
    else
      read(options.values.value(), diagnostics);
  }

  void check(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) const override {
    (void)resolved(cluster, workload, diagnostics);
  }

  /// What is wrong with the Plan everywhere was said when the scenario was read; here it may not fit this variant.
  PlanOrInfeasible plan(const PlanningContext& context) override {
    Diagnostics diagnostics;
    Plan plan = resolved(context.cluster, context.workload, diagnostics);
    if (diagnostics.empty()) return Planned{std::move(plan), std::nullopt, {}, false};
    std::vector<std::string> why;
    for (const Diagnostic& mistake : diagnostics.all()) why.push_back(mistake.message);
    return Infeasible{fmt::format("{}", fmt::join(why, "; ")), {}, {}};
  }

 private:
  void read_file(const StrategyOptions& options, Diagnostics& diagnostics) {
    const std::string name = options.values.text();
    const std::string path = (std::filesystem::path(options.directory) / name).lexically_normal().string();
    const TextFile file = read_text_file(path);
    if (!file.error.empty()) return diagnostics.add(options.values.place(), fmt::format("{}: {}", path, file.error));
    const ConfigValue document = read_yaml_text(file.text, path, diagnostics);
    if (diagnostics.empty()) read(document, diagnostics);
  }

  void read(const ConfigValue& value, Diagnostics& diagnostics) {
    place_ = value.place;
    plan_ = read_plan(value, diagnostics);
  }

  /// The Plan on this cluster; its mistakes go to `diagnostics`, those of the whole Plan at its beginning.
  [[nodiscard]] Plan resolved(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) const {
    const std::size_t before = diagnostics.all().size();
    Plan plan = resolve(plan_, cluster, workload, diagnostics);
    if (diagnostics.all().size() == before)
      for (std::string& problem : plan.check(cluster, workload)) diagnostics.add(place_, std::move(problem));
    return plan;
  }

  SymbolicPlan plan_;
  SourcePlace place_;
};

const StrategyRegistrar registrar({
    .name = "fixed",
    .summary = "a Plan written by hand: its short form, its long form, or a file that holds one",
    .paper = "none",
    .options = schema::any("a Plan, or the file that holds one"),
    .simplified = {},
    .make = [](const StrategyOptions& options, Diagnostics& diagnostics) { return std::make_unique<Fixed>(options, diagnostics); },
});

}  // namespace
}  // namespace trainyard
