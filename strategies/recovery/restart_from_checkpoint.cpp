// Save the state at intervals while training waits; after a change of the cluster every process starts again from the last copy.
// Paper: Athlur et al., Varuna: Scalable, Low-cost Training of Massive Deep Learning Models, EuroSys'22, arXiv 2111.04007 (§5, checkpoints
// to a store, and morphing to the nodes that are left, which here is the strategy planning again).
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

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
    .make = [](const View& values, Diagnostics&) {
      SavePolicy saves = saves_of(values, copy_places(values["to"], {CopyPlace::store}));
      saves.behind_training = false;
      return std::make_unique<SavingRecovery>(values, std::move(saves), pauses_of(values, kRestart, RestorePolicy{}.failover));
    },
});

}  // namespace
}  // namespace trainyard
