#include "strategies/recovery/common_options.hpp"

namespace trainyard {

using namespace schema;

std::vector<SchemaField> save_fields(const char* to_where) {
  return {optional("every",
                   one_of({choice({"young_daly", "never"}, "the interval that loses least at the rate of losses seen so far, or no saves"),
                           quantity(Dimension::seconds, between(0, 1e9), "of training between saves; 0 s: after every step")},
                          to_where),
                   "young_daly"),
          optional("first_loss", quantity(Dimension::seconds, above(0, 1e9), "for young_daly: a loss that counts as seen before any is"), "1 h")};
}

SavePolicy saves_of(const View& options, std::vector<CopyPlace> to) {
  SavePolicy saves;
  const View every = options["every"];
  const bool never = every && every.text() == "never";
  if (!never) saves.to = std::move(to);
  if (every && !never && every.text() != "young_daly") saves.every = every.quantity<Seconds>();
  saves.first_loss = options["first_loss"].quantity_or(saves.first_loss);
  saves.behind_training = true;
  return saves;
}

std::vector<SchemaField> pause_fields(const char* restart, const char* failover) {
  const auto time = [](const char* help) { return quantity(Dimension::seconds, between(0, 1e6), help); };
  std::vector<SchemaField> fields{optional("restart", time("after a Plan by the strategy, until processes run and communicators stand again"), restart)};
  if (failover != nullptr) fields.push_back(optional("failover", time("after a Plan by the recovery, until those who are left stand together"), failover));
  return fields;
}

RestorePolicy pauses_of(const View& options, Seconds restart, Seconds failover) {
  RestorePolicy restore;
  restore.restart = options["restart"].quantity_or(restart);
  restore.failover = options["failover"].quantity_or(failover);
  return restore;
}

std::vector<CopyPlace> copy_places(const View& to, std::vector<CopyPlace> otherwise) {
  if (!to) return otherwise;
  std::vector<CopyPlace> all;
  for (std::size_t i = 0; i < to.size(); ++i) all.push_back(to.at(i).text() == "host" ? CopyPlace::host : CopyPlace::store);
  return all;
}

SavingRecovery::SavingRecovery(const View& options, SavePolicy saves, RestorePolicy restore)
    : saves_(std::move(saves)), restore_(std::move(restore)),
      on_notice_(options["on_notice"].boolean_or(false) ? OnNotice::save : OnNotice::nothing) {}

}  // namespace trainyard
