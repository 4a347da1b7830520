#include "sim/config/config_value.hpp"

#include <algorithm>

#include "sim/config/message.hpp"

namespace trainyard {
namespace {

bool same_scalar(const ConfigValue& a, const ConfigValue& b) {
  if (a.scalar != b.scalar) return false;
  return a.quoted == b.quoted || described(a) == described(b);
}

}  // namespace

const ConfigValue* ConfigValue::find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& entry) { return entry.first == key; });
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

bool ConfigValue::same_content(const ConfigValue& other) const {
  if (kind != other.kind || !same_scalar(*this, other)) return false;
  const bool same_keys = std::equal(keys.begin(), keys.end(), other.keys.begin(), other.keys.end(),
                                    [](const auto& a, const auto& b) { return a.first == b.first; });
  return same_keys && std::equal(items.begin(), items.end(), other.items.begin(), other.items.end(),
                                 [](const ConfigValue& a, const ConfigValue& b) { return a.same_content(b); });
}

}  // namespace trainyard
