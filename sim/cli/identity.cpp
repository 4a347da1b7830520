#include <fmt/format.h>

#include <cstdint>

#include "sim/cli/commands.hpp"
#include "sim/scenario/scenario.hpp"
#include "topologies/topologies.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

/// FNV-1a, 64 bits. Source: http://www.isthe.com/chongo/tech/comp/fnv.
std::uint64_t hash_on(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

std::string catalogue_hash() {
  const std::uint64_t topologies = hash_on(0xcbf29ce484222325ULL, topology_catalogue_text());
  return fmt::format("{:016x}", hash_on(topologies, workload_catalogue_text()));
}

std::string version() { return TRAINYARD_VERSION; }

std::string schema_text() {
  const std::string text = to_json_schema(scenario_schema(), "Trainyard scenario");
  return text.ends_with('\n') ? text : text + "\n";
}

}  // namespace trainyard
