// Checkpoints by layer, near and far: whoever needs a layer fetches it from the nearest node that has it, from the store only what no
// node has.
// Paper: Wang et al., AutoHet, arXiv 2512.20953 (recovery by layer-granular, locality-aware checkpoints).
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

Schema options() {
  using namespace schema;
  std::vector<SchemaField> fields = save_fields("when");
  fields.push_back(optional("to", list(choice({"host", "store"}, "the host's memory, or the store"), between(1, 2), "where copies are kept"), "[host, store]"));
  fields.push_back(optional("on_notice", boolean("also save when a loss is announced"), "false"));
  for (SchemaField& field : pause_fields("30 s", nullptr)) fields.push_back(std::move(field));
  return object(std::move(fields), "options of layer_local_first");
}

const RecoveryRegistrar registrar({
    .name = "layer_local_first",
    .summary = "layer-granular copies in hosts and store; each layer comes from the nearest node that has it",
    .paper = "Wang et al., AutoHet, arXiv 2512.20953",
    .options = options(),
    .simplified = {"copies near the devices are in host memory, not on local disks",
                   "all devices go back to one version: the newest that hosts and store together hold whole"},
    .make = [](const View& values, Diagnostics&) {
      return std::make_unique<SavingRecovery>(values, saves_of(values, copy_places(values["to"], {CopyPlace::host, CopyPlace::store})), pauses_of(values, kRestart, kRestart));
    },
});

}  // namespace
}  // namespace trainyard
