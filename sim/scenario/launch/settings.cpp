#include "sim/scenario/launch/settings.hpp"

#include "sim/units/error.hpp"
#include "sim/units/number.hpp"

namespace trainyard::launch {

std::string Settings::get(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

std::int64_t Settings::count(std::string_view key, std::int64_t absent) const {
  const auto found = values_.find(key);
  return found == values_.end() ? absent : std::stoll(found->second);
}

void Settings::drop(std::string_view key) {
  if (const auto found = values_.find(key); found != values_.end()) values_.erase(found);
}

std::vector<std::string> Settings::keys(std::string_view prefix) const {
  std::vector<std::string> found;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix); ++at)
    found.push_back(at->first.substr(prefix.size()));
  return found;
}

SourcePlace Reading::place(std::string_view key) const {
  const auto found = places.find(key);
  return found == places.end() ? file : found->second;
}

}  // namespace trainyard::launch
