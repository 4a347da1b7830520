// Checkpoints by layer, near and far: whoever needs a layer fetches it from the nearest node that has it, from the store only what no
// node has.
// Paper: Wang et al., AutoHet, arXiv 2512.20953 (recovery by layer-granular, locality-aware checkpoints).
#include "sim/planning/recovery_registry.hpp"
#include "strategies/recovery/common_options.hpp"

namespace trainyard {
namespace {

std::vector<CopyPlace> places(const View& to) {
  if (!to) return {CopyPlace::host, CopyPlace::store};
  std::vector<CopyPlace> all;
  for (std::size_t i = 0; i < to.size(); ++i) all.push_back(to.at(i).text() == "host" ? CopyPlace::host : CopyPlace::store);
  return all;
}

class LayerLocalFirst final : public Recovery {
 public:
  explicit LayerLocalFirst(const View& options)
      : saves_(saves_of(options, places(options["to"]))), restore_(pauses_of(options, kRestart, kRestart)), on_notice_(options["on_notice"].boolean_or(false)) {}

  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }
  OnNotice on_notice() const override { return on_notice_ ? OnNotice::save : OnNotice::nothing; }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
  bool on_notice_;
};

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
    .make = [](const View& values, Diagnostics&) { return std::make_unique<LayerLocalFirst>(values); },
});

}  // namespace
}  // namespace trainyard
