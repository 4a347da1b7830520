#include "sim/planning/recovery_registry.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

RecoveryRegistry& RecoveryRegistry::instance() {
  static RecoveryRegistry registry;
  return registry;
}

void RecoveryRegistry::add(RecoveryInfo info) noexcept {
  if (info.name.empty() || !info.make)
    problems_.push_back("recovery \"" + info.name + "\" lacks a name or a way to make one");
  else if (find(info.name))
    problems_.push_back("recovery \"" + info.name + "\" is registered twice");
  else
    all_.push_back(std::move(info));
}

const RecoveryInfo* RecoveryRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &RecoveryInfo::name);
  return found == all_.end() ? nullptr : &*found;
}

std::vector<std::string> RecoveryRegistry::names() const {
  std::vector<std::string> names;
  for (const RecoveryInfo& info : all_) names.push_back(info.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace trainyard
