#include "sim/cli/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "sim/planning/registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// What the dynamic linker says, without the path that the message names already.
std::string linker_text(const std::string& path) {
  std::string text = ::dlerror();
  if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
  return text;
}

void load(const std::string& file) {
  const StrategyRegistry& registry = StrategyRegistry::instance();
  const std::size_t names = registry.names().size(), problems = registry.problems().size();
  const std::string path = std::filesystem::absolute(file).string();  // a bare name would be looked up among the system's libraries
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) throw UserError(fmt::format("--plugin {}: {}", file, linker_text(path)));
  if (registry.problems().size() > problems) throw UserError(fmt::format("--plugin {}: {}", file, registry.problems().back()));
  if (registry.names().size() == names) throw UserError(fmt::format("--plugin {}: it registers no strategy", file));
}

}  // namespace

void load_plugins(const std::vector<std::string>& files) {
  for (const std::string& file : files) load(file);
}

}  // namespace trainyard
