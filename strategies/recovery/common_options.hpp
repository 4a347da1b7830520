// Options that several recoveries have; private to this folder.
#pragma once

#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/recovery.hpp"

namespace trainyard {

/// `every` (young_daly, never or a time), `first_loss`.
[[nodiscard]] std::vector<SchemaField> save_fields(const char* to_where);
/// Of those: saves behind training to `to`; `never`: none.
[[nodiscard]] SavePolicy saves_of(const View& options, std::vector<CopyPlace> to);

/// `restart`, `failover` with their defaults in seconds.
[[nodiscard]] std::vector<SchemaField> pause_fields(const char* restart, const char* failover);
[[nodiscard]] RestorePolicy pauses_of(const View& options, Seconds restart, Seconds failover);

/// `to` (host, store), or `otherwise` where it is not given.
[[nodiscard]] std::vector<CopyPlace> copy_places(const View& to, std::vector<CopyPlace> otherwise);

/// Saves by a policy and restores by another; saves once more on notice where the option `on_notice` says so.
class SavingRecovery final : public Recovery {
 public:
  SavingRecovery(const View& options, SavePolicy saves, RestorePolicy restore);
  SavePolicy saves() const override { return saves_; }
  RestorePolicy restore() const override { return restore_; }
  OnNotice on_notice() const override { return on_notice_; }

 private:
  SavePolicy saves_;
  RestorePolicy restore_;
  OnNotice on_notice_;
};

/// MegaScale (NSDI'24, arXiv 2402.15627) sets up the communicators of more than 10,000 GPUs in less than this; what a framework takes to
/// start differs, so users give their own.
constexpr Seconds kRestart{30};
/// And those of 2,048 GPUs in less than this: for processes that live on and only meet others.
constexpr Seconds kRegroup{5};

}  // namespace trainyard
