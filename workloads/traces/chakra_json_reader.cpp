#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/units/error.hpp"
#include "workloads/traces/chakra_node.hpp"
#include "workloads/traces/json_text.hpp"
#include "workloads/traces/readers.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

/// Keys in any of the spellings that writers use.
const Json* find(const Json& node, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = node.find(key); found != node.end() && !found->is_null()) return &*found;
  return nullptr;
}

double number(const Json* value) {
  return value == nullptr      ? 0
         : value->is_boolean() ? double(value->get<bool>())
         : value->is_number()  ? value->get<double>()
                               : std::strtod(value->is_string() ? value->get<std::string>().c_str() : "", nullptr);
}

ChakraValue value_of(const Json& value) {
  return value.is_string() ? ChakraValue{0, value.get<std::string>(), false} : ChakraValue{number(&value), "", true};
}

std::uint64_t id_of(const Json& node, const std::string& path, std::size_t at) {
  const Json* id = find(node, {"Id", "id", "ID"});
  if (id == nullptr || !id->is_number_unsigned())
    throw UserError(fmt::format("{}: node {} in the list has no `Id`, a number from 0", path, at));
  return id->get<std::uint64_t>();
}

void add_node(const Json& json, std::size_t place, RankBuilder& builder, TraceTables& tables) {
  ChakraNode node;
  node.id = id_of(json, builder.trace().file, place);
  if (const Json* name = find(json, {"Name", "name"}); name != nullptr && name->is_string())
    node.name = name->get<std::string>();
  node.type = int(number(find(json, {"NodeType", "node_type", "type"})));
  node.micros = number(find(json, {"runtime", "duration_micros", "duration"}));
  for (const auto& [key, value] : json.items()) set_attribute(key, value_of(value), node);
  const int at = add_chakra_node(node, builder, tables);
  const auto depend = [&](const Json* on, Dependency kind) {
    if (on == nullptr || !on->is_array()) return;
    for (const Json& id : *on) {
      if (!id.is_number_unsigned())
        throw UserError(builder.at(node.id, fmt::format("depends on {}; ids are whole numbers from 0", id.dump())));
      builder.depend(at, id.get<std::uint64_t>(), kind);
    }
  };
  depend(find(json, {"ctrlDeps", "ctrl_deps", "control_deps"}), Dependency::control);
  depend(find(json, {"data_deps", "dataDeps"}), Dependency::data);
}

}  // namespace

TraceFile read_chakra_json(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  const Json root = parse_json(path);
  const auto nodes = root.find("workload_graph");
  if (nodes == root.end() || !nodes->is_array() || nodes->empty())
    throw UserError(path + ": no list `workload_graph` with nodes");
  RankBuilder builder(path, reading.lenient);
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    if (!(*nodes)[i].is_object()) throw UserError(fmt::format("{}: node {} in the list is no object", path, i));
    add_node((*nodes)[i], i, builder, tables);
  }
  TraceFile file;
  file.rank = builder.finish();
  file.repairs = builder.repairs();
  return file;
}

}  // namespace trainyard
