#include "sim/scenario/reserved.hpp"

#include <array>
#include <string_view>

#include "sim/config/view.hpp"

namespace trainyard {
namespace {

struct Reserved {
  std::string_view section, key, why;  ///< `section` "": the root
};

constexpr std::array kReserved{Reserved{"", "data", "stands under `workload`"},
                               Reserved{"", "routing", "stands under `workload`"}};

void refuse(const ConfigValue& map, std::string_view key, std::string_view why, Diagnostics& diagnostics) {
  for (const auto& [name, place] : map.keys)
    if (name == key) diagnostics.add(place, std::string(why));
}

void refuse_jobs_in_time(const ConfigValue& root, Diagnostics& diagnostics) {
  const ConfigValue* run = root.find("run");
  if (run != nullptr && (run->find("horizon") != nullptr || run->find("tokens") != nullptr))
    refuse(root, "jobs", "several jobs on one fabric are simulated for some steps, not over a horizon yet", diagnostics);
}

}  // namespace

void refuse_reserved(const ConfigValue& root, Diagnostics& diagnostics) {
  for (const Reserved& reserved : kReserved) {
    const ConfigValue* map = reserved.section.empty() ? &root : root.find(reserved.section);
    if (map != nullptr) refuse(*map, reserved.key, reserved.why, diagnostics);
  }
  refuse_jobs_in_time(root, diagnostics);
}

}  // namespace trainyard
