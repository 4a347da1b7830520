// A node of PyTorch's ExecutionTraceObserver in either of its dialects, and what it costs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/model/operator_class.hpp"

namespace trainyard {

/// One tensor: [tensor, storage, offset, elements, bytes an element, device].
struct PytorchTensor {
  std::int64_t storage = -1;
  double bytes = 0;
  bool on_device = false;
  std::vector<double> shape;
};

struct PytorchNode {
  std::uint64_t id = 0, parent = 0;
  std::string name;
  double micros = -1, begin_micros = -1;  ///< merged from a Kineto trace; below 0: not there
  std::vector<PytorchTensor> inputs, outputs;
  std::vector<std::int64_t> integers;  ///< among the inputs
  std::vector<std::string> texts;      ///< among the inputs, those of tuples too
  std::size_t parts = 0;               ///< length of its longest list of numbers: of an uneven exchange one a member
  double sent = 0;                     ///< bytes of its input tensors on any device
};

/// Schema 1.0.1 (flat) or 1.0.2 and later. UserError naming file and place.
[[nodiscard]] PytorchNode pytorch_node(const nlohmann::json& json, const std::string& path, std::size_t place);

/// What a node without children computes on the device: nothing for views, allocations and work of the host.
struct PytorchCost {
  bool computes = false, product = false;
  GemmShape shape;  ///< m 0: no single product
  double flops = 0, bytes = 0;
};
[[nodiscard]] PytorchCost pytorch_cost(const PytorchNode& node);

}  // namespace trainyard
