#include "workloads/traces/pytorch_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string_view>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTensorEntries = 6;

bool is_tensor(const Json& value) {
  return value.is_array() && value.size() == kTensorEntries && value[0].is_number() && value[3].is_number() &&
         value[4].is_number() && value[5].is_string();
}

std::vector<double> numbers_of(const Json* list) {
  std::vector<double> numbers;
  if (list != nullptr && list->is_array())
    for (const Json& one : *list)
      if (one.is_number()) numbers.push_back(one.get<double>());
  return numbers;
}

/// Tensors of a value, nested lists too; `shapes` runs beside it.
void collect(const Json& value, const Json* shapes, std::vector<PytorchTensor>& tensors) {
  if (is_tensor(value)) {
    const std::string device = value[5].get<std::string>();
    tensors.push_back({std::int64_t(value[1].get<double>()), value[3].get<double>() * value[4].get<double>(),
                       device.starts_with("cuda") || device.starts_with("hip"), numbers_of(shapes)});
    return;
  }
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i)
    collect(value[i], shapes != nullptr && shapes->is_array() && i < shapes->size() ? &(*shapes)[i] : nullptr, tensors);
}

void collect_plain(const Json& value, PytorchNode& node) {
  if (value.is_string()) node.texts.push_back(value.get<std::string>());
  if (value.is_array() && !is_tensor(value) &&
      std::ranges::all_of(value, [](const Json& one) { return one.is_number_integer(); }))
    node.parts = std::max(node.parts, value.size());
  if (value.is_array() && !is_tensor(value) &&
      std::ranges::all_of(value, [](const Json& one) { return one.is_string(); }))
    for (const Json& one : value) node.texts.push_back(one.get<std::string>());
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::uint64_t whole(const Json& json, const char* key, const std::string& path, std::size_t place) {
  const Json* value = find(json, key);
  if (value == nullptr || !value->is_number_integer() ||
      (!value->is_number_unsigned() && value->get<std::int64_t>() < 0))
    throw UserError(fmt::format("{}: node {} in the list: `{}` is {}; a whole number from 0 is allowed", path, place,
                                key, value == nullptr ? "missing" : value->dump()));
  return value->get<std::uint64_t>();
}

void read_values(const Json* values, const Json* shapes, std::vector<PytorchTensor>& tensors) {
  if (values != nullptr && values->is_array()) collect(*values, shapes, tensors);
}

constexpr std::array<std::string_view, 34> kFree{
    "aten::view",       "aten::_unsafe_view", "aten::reshape",        "aten::transpose",  "aten::t",
    "aten::permute",    "aten::slice",        "aten::select",         "aten::as_strided", "aten::expand",
    "aten::expand_as",  "aten::squeeze",      "aten::unsqueeze",      "aten::detach",     "detach",
    "detach_",          "aten::detach_",      "aten::alias",          "aten::narrow",     "aten::split",
    "aten::chunk",      "aten::unbind",       "aten::empty",          "aten::empty_like", "aten::empty_strided",
    "aten::resize_",    "aten::set_",         "aten::_reshape_alias", "aten::flatten",    "aten::result_type",
    "aten::is_nonzero", "aten::lift_fresh",   "aten::view_as",        "aten::swapdims"};

double product(const std::vector<double>& sizes, std::size_t from = 0) {
  return from >= sizes.size()
             ? 1
             : std::accumulate(sizes.begin() + std::ptrdiff_t(from), sizes.end(), 1.0, std::multiplies<>());
}

/// [.., m, k] times [.., k, n].
void set_product(const PytorchTensor& a, const PytorchTensor& b, PytorchCost& cost) {
  const std::size_t d = a.shape.size();
  if (d < 2 || b.shape.size() != d) return;
  cost.shape = {a.shape[d - 2], b.shape[d - 1], a.shape[d - 1],
                d > 2 ? product({a.shape.begin(), a.shape.end() - 2}) : 1};
  cost.product = true;
}

void set_convolution(const PytorchNode& node, PytorchCost& cost) {
  const bool backward = node.name.find("backward") != std::string::npos;
  const PytorchTensor* weight = node.inputs.size() > (backward ? 2U : 1U) ? &node.inputs[backward ? 2 : 1] : nullptr;
  const PytorchTensor* result = backward ? (node.inputs.empty() ? nullptr : &node.inputs[0]) : nullptr;
  if (weight == nullptr || weight->shape.empty()) return;
  double elements = 0;
  if (result != nullptr)
    elements = product(result->shape);
  else if (!node.outputs.empty())
    elements = product(node.outputs[0].shape);
  cost.flops = 2 * elements * product(weight->shape, 1) * (backward ? 2 : 1);
  cost.product = cost.flops > 0;
}

/// Queries [batch, heads, sequence, size]; backward 2.5 times the forward pass.
void set_attention(const PytorchNode& node, PytorchCost& cost) {
  const bool backward = node.name.find("backward") != std::string::npos;
  const std::size_t query = backward ? 1 : 0;
  if (node.inputs.size() <= query + 1 || node.inputs[query].shape.size() != 4 ||
      node.inputs[query + 1].shape.size() != 4)
    return;
  cost.flops = 4 * product(node.inputs[query].shape) * node.inputs[query + 1].shape[2] * (backward ? 2.5 : 1);
  cost.product = true;
}

}  // namespace

PytorchNode pytorch_node(const Json& json, const std::string& path, std::size_t place) {
  if (!json.is_object()) throw UserError(fmt::format("{}: node {} in the list is no object", path, place));
  PytorchNode node;
  node.id = whole(json, "id", path, place);
  node.parent = whole(json, json.contains("parent") ? "parent" : "ctrl_deps", path, place);
  if (const Json* name = find(json, "name"); name != nullptr && name->is_string()) node.name = name->get<std::string>();
  const Json *inputs = find(json, "inputs"), *outputs = find(json, "outputs"), *shapes = find(json, "input_shapes"),
             *output_shapes = find(json, "output_shapes");
  const Json* values = inputs;
  if (inputs != nullptr && inputs->is_object()) values = find(*inputs, "values"), shapes = find(*inputs, "shapes");
  if (outputs != nullptr && outputs->is_object())
    output_shapes = find(*outputs, "shapes"), outputs = find(*outputs, "values");
  read_values(values, shapes, node.inputs);
  read_values(outputs, output_shapes, node.outputs);
  if (values != nullptr && values->is_array())
    for (const Json& value : *values) {
      if (value.is_number_integer()) node.integers.push_back(value.get<std::int64_t>());
      collect_plain(value, node);
    }
  for (const PytorchTensor& tensor : node.inputs) node.sent += tensor.bytes;
  if (const Json* time = find(json, "dur"); time != nullptr && time->is_number()) node.micros = time->get<double>();
  if (const Json* begin = find(json, "ts"); begin != nullptr && begin->is_number())
    node.begin_micros = begin->get<double>();
  if (node.micros < 0 && json.contains("dur"))
    throw UserError(fmt::format("{}: node {}: a duration of {} us; 0 or more is allowed", path, node.id, node.micros));
  return node;
}

PytorchCost pytorch_cost(const PytorchNode& node) {
  PytorchCost cost;
  const auto on_device = [](const PytorchTensor& tensor) { return tensor.on_device; };
  const bool device = std::ranges::any_of(node.inputs, on_device) || std::ranges::any_of(node.outputs, on_device);
  if (!device || std::ranges::find(kFree, node.name) != kFree.end()) return cost;
  cost.computes = true;
  for (const PytorchTensor& tensor : node.inputs) cost.bytes += tensor.on_device ? tensor.bytes : 0;
  for (const PytorchTensor& tensor : node.outputs) cost.bytes += tensor.on_device ? tensor.bytes : 0;
  const bool adds = node.name == "aten::addmm" || node.name == "aten::baddbmm";
  const bool multiplies =
      adds || node.name == "aten::mm" || node.name == "aten::bmm" || node.name == "aten::_scaled_mm";
  if (multiplies && node.inputs.size() >= (adds ? 3U : 2U))
    set_product(node.inputs[adds ? 1 : 0], node.inputs[adds ? 2 : 1], cost);
  if (node.name.find("convolution") != std::string::npos) set_convolution(node, cost);
  if (node.name.find("attention") != std::string::npos) set_attention(node, cost);
  return cost;
}

}  // namespace trainyard
