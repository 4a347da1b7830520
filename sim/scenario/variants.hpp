// Variants: copies of the document with some values replaced.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {

/// Variants are kept as clusters and workloads; a whole document may change anywhere.
enum class ChangeScope { variant, document };

/// Puts every PATH: VALUE of `changes` in place. In a PATH (`cluster.nodes.v100.count`) keys are joined by dots and an
/// element of a list is given by its `name` or its index. A key that does not exist yet is created where `root_schema`
/// knows it. Paths that lead nowhere, or out of `scope`, go to `diagnostics`.
[[nodiscard]] ConfigValue with_changes(ConfigValue root, const ConfigValue& changes, const Schema& root_schema,
                                       ChangeScope scope, Diagnostics& diagnostics);

/// Mistakes of several variants as one list: those of `base` are left out, one that all share is said once, others name
/// their variants.
class VariantMistakes {
 public:
  explicit VariantMistakes(const Diagnostics& base) : base_(base) {}
  void add(const std::string& variant, const Diagnostics& mistakes);
  void move_to(Diagnostics& all) const;

 private:
  struct Shared {
    Diagnostic mistake;
    std::vector<std::string> variants;
  };
  Diagnostics base_;
  std::vector<Shared> shared_;
  std::size_t variants_ = 0;
};

}  // namespace trainyard
