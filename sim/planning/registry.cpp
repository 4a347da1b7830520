#include "sim/planning/registry.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

/// Lower-case letters, digits and underscores, a letter first: what scenarios and the command line can name.
bool is_name(const std::string& name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || !is_lower(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

StrategyRegistry& StrategyRegistry::instance() {
  static StrategyRegistry registry;
  return registry;
}

void StrategyRegistry::add(StrategyInfo info, int interface) noexcept {
  if (interface != kStrategyInterface) {
    problems_.push_back("a strategy was built against interface " + std::to_string(interface) + " of the headers, this program has " +
                        std::to_string(kStrategyInterface) + ": build it again");
  } else if (!is_name(info.name)) {
    problems_.push_back("strategy \"" + info.name + "\": a name is lower-case letters, digits and underscores");
  } else if (find(info.name)) {
    problems_.push_back("strategy \"" + info.name + "\" is registered twice");
  } else if (!info.make) {
    problems_.push_back("strategy \"" + info.name + "\" has no way to make one");
  } else {
    all_.push_back(std::move(info));
  }
}

const StrategyInfo* StrategyRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &StrategyInfo::name);
  return found == all_.end() ? nullptr : &*found;
}

std::vector<std::string> StrategyRegistry::names() const {
  std::vector<std::string> names;
  for (const StrategyInfo& info : all_) names.push_back(info.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace trainyard
