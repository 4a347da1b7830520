// Every strategy that is linked in, by name. Filled before main, read-only after.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

/// Options of one entry of `strategies:`, checked against the strategy's schema.
struct StrategyOptions {
  View values;                           ///< empty when none were given
  std::string directory;                 ///< of the scenario file, for options that name files
};

struct StrategyInfo {
  std::string name;                      ///< as written in scenarios
  std::string summary;                   ///< one line
  std::string paper;                     ///< citation
  Schema options;                        ///< Kind::object with defaults and help
  std::vector<std::string> simplified;   ///< what this implementation leaves out of the paper
  std::vector<std::string> reconstructed = {};  ///< what the paper's text does not settle and this implementation decided
  /// `diagnostics` is for what the schema cannot say.
  std::function<std::unique_ptr<Strategy>(const StrategyOptions&, Diagnostics& diagnostics)> make;
};

/// Of StrategyInfo, Strategy and all that they refer to. Raised with every change of them, so that a plug-in built against other
/// headers is refused instead of read wrongly.
inline constexpr int kStrategyInterface = 1;

class StrategyRegistry {
 public:
  static StrategyRegistry& instance();
  /// Never throws: a bad or taken name or another interface is remembered for problems().
  void add(StrategyInfo info, int interface = kStrategyInterface) noexcept;
  [[nodiscard]] const StrategyInfo* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;   ///< sorted
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<StrategyInfo> all_;
  std::vector<std::string> problems_;
};

/// A static object of this type at the end of a strategy's file registers it.
struct StrategyRegistrar {
  explicit StrategyRegistrar(StrategyInfo info) noexcept { StrategyRegistry::instance().add(std::move(info), kStrategyInterface); }
};

}  // namespace trainyard
