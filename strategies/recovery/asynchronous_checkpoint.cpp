// Copy the state to the hosts' memory while training waits, and from there to the store while it goes on.
// Paper: Mohan et al., CheckFreq: Frequent, Fine-Grained DNN Checkpointing, FAST'21 (snapshot and persist in two phases).
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

Schema options() {
  using namespace schema;
  return object(
      {optional("every", one_of({choice({"young_daly"}, "the interval that loses least at the rate of losses seen so far"),
                                 quantity(Dimension::seconds, between(0, 1e9), "of training between saves; 0 s: after every step")},
                                "when; a save whose copy to the store still travels is put off"),
                "young_daly"),
       optional("on_notice", boolean("also save when a loss is announced"), "false"),
       optional("first_loss", quantity(Dimension::seconds, above(0, 1e9), "for young_daly: a loss that counts as seen before any is"), "1 h"),
       optional("restart", quantity(Dimension::seconds, between(0, 1e6), "until processes run and communicators stand again"), "30 s")},
      "options of asynchronous_checkpoint");
}

const RecoveryRegistrar registrar({
    .name = "asynchronous_checkpoint",
    .summary = "snapshots to the hosts' memory at intervals; the copy to the store travels beside the steps",
    .paper = "Mohan et al., CheckFreq, FAST'21",
    .options = options(),
    .simplified = {"training waits for the whole snapshot; CheckFreq hides it behind the next forward pass", "the interval is not tuned by profiling"},
    .make = [](const View& values, Diagnostics&) {
      return std::make_unique<SavingRecovery>(values, saves_of(values, {CopyPlace::host, CopyPlace::store}), pauses_of(values, kRestart, RestorePolicy{}.failover));
    },
});

}  // namespace
}  // namespace trainyard
