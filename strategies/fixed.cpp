// A Plan that somebody wrote, in its long or short form, in the scenario or in a file of its own.
#include <filesystem>

#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

class Fixed final : public Strategy {
 public:
  Fixed(const StrategyOptions& options, Diagnostics& diagnostics) {
    if (!options.values) throw UserError("fixed needs a Plan, such as {fixed: {tensor: 8, pipeline: 2, data: 4}}");
    if (!options.values.is_scalar()) {
      plan_ = read_plan(options.values.value(), diagnostics);
      return;
    }
    const std::string file = (std::filesystem::path(options.directory) / options.values.text()).string();
    const ConfigValue document = read_yaml_file(file, diagnostics);
    if (diagnostics.empty()) plan_ = read_plan(document, diagnostics);
  }

  PlanOrInfeasible plan(const PlanningContext& context) override {
    Diagnostics diagnostics;
    Plan resolved = resolve(plan_, context.cluster, context.workload, diagnostics);
    diagnostics.throw_if_any();
    return Planned{std::move(resolved), std::nullopt, {}, false};
  }

 private:
  SymbolicPlan plan_;
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
