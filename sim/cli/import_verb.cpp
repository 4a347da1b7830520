#include "sim/cli/import_verb.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/report/output_file.hpp"
#include "sim/units/error.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

namespace {

bool is_launch(const std::string& kind) {
  const std::vector<std::string> kinds = launch_import_kinds();
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool has_launch_options(const LaunchImportOptions& o) {
  return !(o.gpu + o.instance + o.cluster + o.ranks + o.nic).empty() || o.nodes + o.gpus_per_node + o.vocabulary > 0;
}

bool has_spot_options(const SpotImport& o) {
  return !(o.format + o.column + o.unit).empty() || o.fit || o.sort || o.inverted;
}

void print_notes(const std::string& file, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "{}: {}\n", file, note);
}

}  // namespace

std::vector<std::string> import_kinds() {
  std::vector<std::string> kinds = topology_import_kinds();
  for (const std::string& kind : launch_import_kinds()) kinds.push_back(kind);
  kinds.emplace_back("spot");
  return kinds;
}

std::string export_text(const Arguments& arguments) {
  const ExportedLaunch exported = export_launch(arguments.export_file, arguments.export_options);
  print_notes(arguments.export_file, exported.notes);
  if (!arguments.ranks.empty()) write_file(arguments.ranks, exported.ranks);
  return exported.text;
}

std::string import_text(const Arguments& arguments) {
  const std::vector<std::string> kinds = import_kinds();
  if (std::find(kinds.begin(), kinds.end(), arguments.import_kind) == kinds.end())
    throw UserError("trainyard import: " + unknown_name("kind", arguments.import_kind, kinds));
  if (arguments.import_kind != "spot" && has_spot_options(arguments.spot_options))
    throw UserError("trainyard import: --fit, --format, --column, --unit, --sort and --inverted are for spot, not for " +
                    arguments.import_kind);
  if (is_launch(arguments.import_kind)) {
    const ImportedLaunch imported =
        import_launch(arguments.import_kind, arguments.import_file, arguments.import_options);
    print_notes(arguments.import_file, imported.notes);
    return imported.scenario;
  }
  if (has_launch_options(arguments.import_options))
    throw UserError(
        "trainyard import: --gpu, --nic, --instance, --cluster, --nodes, --gpus-per-node, --vocabulary and --ranks are "
        "for launch "
        "arguments, not for " +
        arguments.import_kind);
  if (arguments.import_kind == "spot") return import_spot(arguments.import_file, arguments.spot_options);
  return import_topology(arguments.import_kind, arguments.import_file);
}

}  // namespace trainyard
