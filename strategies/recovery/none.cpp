// Nothing is saved: after a loss the job begins anew.
#include "sim/planning/recovery_registry.hpp"

namespace trainyard {
namespace {

class None final : public Recovery {
 public:
  explicit None(const View& options) { restore_.restart = options["restart"].quantity_or(Seconds(0)); }

  SavePolicy saves() const override { return {}; }
  RestorePolicy restore() const override { return restore_; }

 private:
  RestorePolicy restore_;
};

const RecoveryRegistrar registrar({
    .name = "none",
    .summary = "nothing is saved; after a loss the job begins anew",
    .paper = "none",
    .options = schema::object({schema::optional("restart", schema::quantity(Dimension::seconds, between(0, 1e6), "until processes run and communicators stand"), "0 s")},
                              "options of none"),
    .simplified = {},
    .make = [](const View& values, Diagnostics&) { return std::make_unique<None>(values); },
});

}  // namespace
}  // namespace trainyard
