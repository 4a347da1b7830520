#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "sim/cli/commands.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/planning/recovery_registry.hpp"
#include "sim/planning/registry.hpp"
#include "sim/report/describe.hpp"
#include "sim/report/numbers.hpp"
#include "sim/units/error.hpp"
#include "topologies/market.hpp"
#include "topologies/topologies.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

/// One line of a catalogue, and all that is known of it.
struct Entry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary, details;
};
using Entries = std::vector<Entry>;

std::string default_text(const SchemaField& field) {
  if (field.required) return "needed";
  return field.fallback.empty() ? "optional" : "default " + field.fallback;
}

/// The map among the ways of writing the options, where there are several.
const Schema& map_among(const Schema& options) {
  const auto found = std::ranges::find(options.of, Schema::Kind::object, &Schema::kind);
  return options.kind == Schema::Kind::one_of && found != options.of.end() ? *found : options;
}

std::string options_text(const Schema& given) {
  const Schema& options = map_among(given);
  if (options.fields.empty()) return options.help.empty() ? "" : "options: " + options.help + "\n";
  std::string text = &options == &given ? "options:\n" : "options: " + given.help + "\n";
  for (const SchemaField& field : options.fields)
    text += fmt::format("  {} ({}): {}\n", field.name, default_text(field), field.schema.help);
  return text;
}

std::string heading_and_lines(const std::string& heading, const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : heading + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string strategy_details(const StrategyInfo& info) {
  std::string text = info.paper.empty() ? "" : "paper: " + info.paper + "\n";
  text += options_text(info.options);
  text += heading_and_lines("left out of the paper:", info.simplified);
  return text + heading_and_lines("reconstructed, where the paper's text does not settle it:", info.reconstructed);
}

Entries strategy_entries() {
  Entries entries;
  const StrategyRegistry& registry = StrategyRegistry::instance();
  for (const std::string& name : registry.names()) {
    const StrategyInfo& info = *registry.find(name);
    entries.push_back({name, {}, info.summary, strategy_details(info)});
  }
  return entries;
}

Entries recovery_entries() {
  Entries entries;
  const RecoveryRegistry& registry = RecoveryRegistry::instance();
  for (const std::string& name : registry.names()) {
    const RecoveryInfo& info = *registry.find(name);
    const std::string paper = info.paper.empty() ? "" : "paper: " + info.paper + "\n";
    entries.push_back({name, {}, info.summary, paper + options_text(info.options) + heading_and_lines("left out of the paper:", info.simplified)});
  }
  return entries;
}

Entries topology_entries(const std::vector<CatalogueEntry>& catalogue) {
  Entries entries;
  for (const CatalogueEntry& entry : catalogue)
    entries.push_back({entry.name, entry.aliases, entry.summary, entry.details});
  return entries;
}

Entries model_entries() {
  Entries entries;
  for (const ModelEntry& model : model_catalogue())
    entries.push_back({model.name,
                       model.aliases,
                       model.summary,
                       fmt::format("{} parameters\n{}source: {}\n", whole(model.parameters), model.details, model.source)});
  return entries;
}

Entries software_entries() {
  Entries entries;
  for (const Software& software : software_presets())
    entries.push_back({software.name, {},
                       fmt::format("attention {}, loss {}, gradients kept in {} and reduced in {}", name(software.attention),
                                   name(software.loss), name(software.gradient_type), name(software.gradient_reduce_type)),
                       switches_text(software) + "source: " + software.source + "\n"});
  return entries;
}

Entries schedule_entries() {
  Entries entries;
  for (const std::string& name : schedule_names()) entries.push_back({name, {}, "", ""});
  return entries;
}

Entries entries_of(const std::string& what) {
  if (what == "strategies") return strategy_entries();
  if (what == "recoveries") return recovery_entries();
  if (what == "gpus") return topology_entries(gpu_catalogue());
  if (what == "instances") return topology_entries(instance_catalogue());
  if (what == "fabrics") return topology_entries(fabric_catalogue());
  if (what == "failures") return topology_entries(failure_catalogue());
  if (what == "models") return model_entries();
  if (what == "software") return software_entries();
  require(what == "schedules", "the catalogue is one of those that the command line accepts");
  return schedule_entries();
}

std::string lines_of(const Entries& entries) {
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, width_of(entry.name));
  std::string text;
  for (const Entry& entry : entries) {
    text += entry.summary.empty() ? entry.name : pad_right(entry.name, width + 2) + entry.summary;
    if (!entry.aliases.empty()) text += fmt::format(" (also {})", fmt::join(entry.aliases, ", "));
    text += "\n";
  }
  return text;
}

std::string everything_about(const Entry& entry) {
  std::string text = entry.name + "\n";
  if (!entry.summary.empty()) text += entry.summary + "\n";
  if (!entry.aliases.empty()) text += fmt::format("also {}\n", fmt::join(entry.aliases, ", "));
  text += entry.details;
  return text.ends_with('\n') ? text : text + "\n";
}

const Entry& find(const Entries& entries, const std::string& what, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    const bool also = std::find(entry.aliases.begin(), entry.aliases.end(), wanted) != entry.aliases.end();
    if (entry.name == wanted || also) return entry;
    names.push_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  throw UserError("trainyard list " + what + ": " + unknown_name("entry", wanted, names));
}

}  // namespace

std::vector<std::string> catalogue_names(const std::string& what) {
  std::vector<std::string> names;
  for (const auto& entry : entries_of(what)) names.push_back(entry.name);
  return names;
}

std::string list_text(const Arguments& arguments) {
  const Entries entries = entries_of(arguments.list_what);
  if (arguments.list_name.empty()) return lines_of(entries);
  return everything_about(find(entries, arguments.list_what, arguments.list_name));
}

}  // namespace trainyard
