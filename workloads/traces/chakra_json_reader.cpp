#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/units/error.hpp"
#include "workloads/traces/chakra_node.hpp"
#include "workloads/traces/json_text.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

/// Keys in any of the spellings that writers use.
const Json* find(const Json& node, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = node.find(key); found != node.end() && !found->is_null()) return &*found;
  return nullptr;
}

ChakraValue value_of(const Json& value) {
  if (value.is_string()) return {0, value.get<std::string>(), false};
  if (value.is_boolean()) return {double(value.get<bool>()), "", true};
  return value.is_number() ? ChakraValue{value.get<double>(), "", true} : ChakraValue{};
}

/// 0 where it is not there, which is what protobuf means by it.
double number(const Json* value, const char* what, const ChakraNode& node, const RankBuilder& builder) {
  if (value == nullptr) return 0;
  const ChakraValue read = value_of(*value);
  const std::optional<double> number = read.is_number ? read.number : number_of_word(read.text);
  if (!number)
    throw UserError(builder.at(node.id, fmt::format("{} is {}; a number is read", what, value->dump().substr(0, 60))));
  return *number;
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
  node.type = int_of(number(find(json, {"NodeType", "node_type", "type"}), "NodeType", node, builder)).value_or(-1);
  node.micros = number(find(json, {"runtime", "duration_micros", "duration"}), "runtime", node, builder);
  for (const auto& [key, value] : json.items())
    if (!value.is_null()) set_attribute(key, value_of(value), node);
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
