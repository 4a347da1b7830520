// Copies in the memory of the own host and of the next node's: the store, seldom written, is needed only when neighbours fall together.
// Paper: Wang et al., Gemini: Fast Failure Recovery in Distributed Training with In-Memory Checkpoints, SOSP'23.
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

/// What Gemini compares itself with (§7) saves to the store every three hours, as BLOOM's training did; Gemini keeps such copies, too.
constexpr Seconds kStoreEvery{3 * 3600};

SavePolicy policy_of(const View& options) {
  SavePolicy saves = saves_of(options, {CopyPlace::host, CopyPlace::peer, CopyPlace::store});
  const View every = options["store_every"];
  const std::string word = every ? every.text() : "";
  if (word == "never") std::erase(saves.to, CopyPlace::store);
  saves.store_if_there = !every;
  if (word != "save") saves.store_every = every && word != "never" ? every.quantity<Seconds>() : kStoreEvery;
  return saves;
}

Schema options() {
  using namespace schema;
  std::vector<SchemaField> fields = save_fields("when");
  fields.push_back(optional("store_every", one_of({choice({"save", "never"}, "every copy, or none"), quantity(Dimension::seconds, above(0, 1e9), "of training between copies in the store")},
                                                  "when a copy also goes to the store, beside the steps; without `market.store` none does"),
                            "3 h"));
  fields.push_back(optional("on_notice", boolean("also save when a loss is announced"), "false"));
  for (SchemaField& field : pause_fields("30 s", nullptr)) fields.push_back(std::move(field));
  return object(std::move(fields), "options of peer_replication");
}

const RecoveryRegistrar registrar({
    .name = "peer_replication",
    .summary = "copies in the memory of the own host and of the next node; all start again from them",
    .paper = "Wang et al., Gemini, SOSP'23",
    .options = options(),
    .simplified = {"training waits for the copy to the peer; Gemini sends it in pieces while the network is idle",
                   "meant for machines that break one by one: a group of preempted nodes of a single pipeline takes both copies of a stage along, and the job goes back to the store",
                   "a node's copy lies with the nearest one behind it that holds another part; Gemini forms groups of nodes"},
    .make = [](const View& values, Diagnostics&) {
      return std::make_unique<SavingRecovery>(values, policy_of(values), pauses_of(values, kRestart, kRestart));
    },
});

}  // namespace
}  // namespace trainyard
