// Save the state at intervals while training waits; after a change of the cluster every process starts again from the last copy.
// Paper: Athlur et al., Varuna: Scalable, Low-cost Training of Massive Deep Learning Models, EuroSys'22, arXiv 2111.04007 (§5, checkpoints
// to a store, and morphing to the nodes that are left, which here is the strategy planning again).
#include "sim/planning/recovery_registry.hpp"

namespace trainyard {
namespace {

/// MegaScale (NSDI'24, arXiv 2402.15627) sets up the communicators of more than 10,000 GPUs in less than this; what a framework
/// takes to start differs, so users give their own.
constexpr double kRestart = 30;

std::vector<CopyPlace> places(const View& to) {
  if (!to) return {CopyPlace::store};
  std::vector<CopyPlace> all;
  for (std::size_t i = 0; i < to.size(); ++i) all.push_back(to.at(i).text() == "host" ? CopyPlace::host : CopyPlace::store);
  return all;
}

class RestartFromCheckpoint final : public Recovery {
 public:
  explicit RestartFromCheckpoint(const View& options) {
    saves_.to = places(options["to"]);
    if (options["every"] && options["every"].text() != "young_daly") saves_.every = options["every"].quantity<Seconds>();
    saves_.first_loss = options["first_loss"].quantity_or(saves_.first_loss);
    restore_.restart = options["restart"].quantity_or(Seconds(kRestart));
    if (options["on_notice"].boolean_or(false)) on_notice_ = OnNotice::save;
  }

  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }
  OnNotice on_notice() const override { return on_notice_; }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
  OnNotice on_notice_ = OnNotice::nothing;
};

Schema options() {
  using namespace schema;
  return object(
      {optional("every", one_of({choice({"young_daly"}, "the interval that loses least at the rate of losses seen so far"),
                                 quantity(Dimension::seconds, between(0, 1e9), "of training between saves; 0 s: after every step")},
                                "when"),
                "young_daly"),
       optional("to", list(choice({"host", "store"}, "the host's memory, or the store"), between(1, 2), "where copies are kept"), "[store]"),
       optional("on_notice", boolean("also save when a loss is announced"), "false"),
       optional("first_loss", quantity(Dimension::seconds, above(0, 1e9), "for young_daly: a loss that counts as seen before any is"), "1 h"),
       optional("restart", quantity(Dimension::seconds, between(0, 1e6), "until processes run and communicators stand again"), "30 s")},
      "options of restart_from_checkpoint");
}

const RecoveryRegistrar registrar({
    .name = "restart_from_checkpoint",
    .summary = "saves at intervals while training waits; after a change all start again from the newest whole copy",
    .paper = "Athlur et al., Varuna, EuroSys'22, arXiv 2111.04007; Young, CACM 17(9), 1974; Daly, FGCS 22, 2006",
    .options = options(),
    .simplified = {"the time to restart is a stated constant"},
    .make = [](const View& values, Diagnostics&) { return std::make_unique<RestartFromCheckpoint>(values); },
});

}  // namespace
}  // namespace trainyard
