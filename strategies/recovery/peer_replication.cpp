// Copies in the memory of the own host and of the next node's: the store is needed only when neighbours fall together.
// Paper: Wang et al., Gemini: Fast Failure Recovery in Distributed Training with In-Memory Checkpoints, SOSP'23.
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

std::vector<CopyPlace> places(const View& options) {
  std::vector<CopyPlace> all{CopyPlace::host, CopyPlace::peer};
  if (options["store"].boolean_or(false)) all.push_back(CopyPlace::store);
  return all;
}

Schema options() {
  using namespace schema;
  std::vector<SchemaField> fields = save_fields("when");
  fields.push_back(optional("store", boolean("every copy also goes to the store, beside the steps"), "false"));
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
                   "one interval for peers and store; Gemini saves to the store far less often"},
    .make = [](const View& values, Diagnostics&) {
      return std::make_unique<SavingRecovery>(values, saves_of(values, places(values)), pauses_of(values, kRestart, kRestart));
    },
});

}  // namespace
}  // namespace trainyard
