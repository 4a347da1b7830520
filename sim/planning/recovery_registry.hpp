// Every recovery that is linked in, by name. Filled before main, read-only after.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/recovery.hpp"

namespace trainyard {

struct RecoveryInfo {
  std::string name;                      ///< as written in scenarios
  std::string summary;                   ///< one line
  std::string paper;                     ///< citation
  Schema options;                        ///< Kind::object with defaults and help
  std::vector<std::string> simplified;   ///< what this implementation leaves out of the paper
  /// `options`: empty when none were given. `diagnostics` is for what the schema cannot say.
  std::function<std::unique_ptr<Recovery>(const View& options, Diagnostics& diagnostics)> make;
};

class RecoveryRegistry {
 public:
  static RecoveryRegistry& instance();
  /// Never throws: a bad or taken name is remembered for problems().
  void add(RecoveryInfo info) noexcept;
  [[nodiscard]] const RecoveryInfo* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;   ///< sorted
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<RecoveryInfo> all_;
  std::vector<std::string> problems_;
};

/// A recovery as a scenario chooses it beside a strategy; an empty name: the default.
struct RecoveryChoice {
  std::string name;
  ConfigValue options;                   ///< null: none given
};

/// A static object of this type at the end of a recovery's file registers it.
struct RecoveryRegistrar {
  explicit RecoveryRegistrar(RecoveryInfo info) noexcept { RecoveryRegistry::instance().add(std::move(info)); }
};

}  // namespace trainyard
