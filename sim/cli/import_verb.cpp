#include "sim/cli/import_verb.hpp"

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/units/error.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

std::vector<std::string> import_kinds() { return topology_import_kinds(); }

std::string import_text(const Arguments& arguments) {
  const std::vector<std::string> kinds = import_kinds();
  if (std::find(kinds.begin(), kinds.end(), arguments.import_kind) == kinds.end())
    throw UserError("trainyard import: " + unknown_name("kind", arguments.import_kind, kinds));
  return import_topology(arguments.import_kind, arguments.import_file);
}

}  // namespace trainyard
