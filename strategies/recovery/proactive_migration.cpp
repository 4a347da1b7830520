// Leave a node before it goes: survivors hand their states on, and nothing but the step at hand is ever lost while a replica lives.
// Paper: Duan et al., Parcae: Proactive, Liveput-Optimized DNN Training on Preemptible Instances, NSDI'24, arXiv 2403.14097.
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"
#include "strategies/recovery/replicas.hpp"

namespace trainyard {
namespace {

class ProactiveMigration final : public Recovery {
 public:
  explicit ProactiveMigration(const View& options) : saves_(saves_of(options, {CopyPlace::store})), restore_(pauses_of(options, kRegroup, kRegroup)) {
    restore_.from_devices = true;
    if (options["forecast"].boolean_or(true)) look_ahead_ = LookAhead{};
  }

  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }
  OnNotice on_notice() const override { return OnNotice::leave; }
  std::optional<LookAhead> look_ahead() const override { return look_ahead_; }

  /// Every replica holds whole states, so that whoever is left can hand them on.
  Plan modify(Plan plan, const PlanningContext& context) const override {
    Settings whole;
    whole.zero = 0;
    Plan replicated = with_settings(plan, whole);
    if (fits(context, replicated)) return replicated;
    std::optional<Plan> smaller = best_pipelines(context, shape_of(plan, context.workload), 1);
    return smaller ? *std::move(smaller) : replicated;
  }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
  std::optional<LookAhead> look_ahead_;
};

Schema options() {
  std::vector<SchemaField> fields = save_fields("when to save to the store, for the loss of all replicas");
  for (SchemaField& field : pause_fields("5 s", nullptr)) fields.push_back(std::move(field));
  fields.push_back(schema::optional("forecast", schema::boolean("of the next 12 minutes from the last 12: new nodes are taken in if they seem to stay for long enough; "
                                                                "false: by the mean time between losses so far"), "true"));
  return schema::object(std::move(fields), "options of proactive_migration");
}

const RecoveryRegistrar registrar({
    .name = "proactive_migration",
    .summary = "leaves a node when its loss is announced, takes new ones in as the forecast says; states go from device to device",
    .paper = "Duan et al., Parcae, NSDI'24, arXiv 2403.14097",
    .options = options(),
    .simplified = {"losses are known by the provider's notice; the forecast of availability, ARIMA(1,1,0) as in its code but fitted by least squares, says whether new nodes are taken in",
                   "depth and width are the strategy's, not chosen for the losses that are expected",
                   "states that all replicas lose come from the store; Parcae keeps them on machines of its own"},
    .make = [](const View& values, Diagnostics&) { return std::make_unique<ProactiveMigration>(values); },
});

}  // namespace
}  // namespace trainyard
