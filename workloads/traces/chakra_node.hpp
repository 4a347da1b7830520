// A node as Chakra writes it, in protobuf or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/traces/rank_builder.hpp"

namespace trainyard {

/// An attribute: writers disagree on the type of one and the same. Neither number nor text: a list, or another
/// schema's.
struct ChakraValue {
  double number = 0;
  std::string text;
  bool is_number = false;
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  int type = 0;  ///< 1 metadata, 2 memory load, 3 memory store, 4 compute, 5 send, 6 receive, 7 collective
  double micros = 0, begin_micros = 0;
  double comm_type = -1, comm_size = -1;  ///< -1: not said
  double source = -1, destination = -1, tag = 0;
  double operations = 0, tensor_bytes = 0, stream = 0;
  std::string group;  ///< "": not said
  bool on_host = false, some_dimensions = false;
  std::string unreadable;  ///< name of the first attribute that should hold a number and holds none; "": all do
};

void set_attribute(std::string_view name, const ChakraValue& value, ChakraNode& node);

/// Checks it and hands it to the builder: its position there.
[[nodiscard]] int add_chakra_node(const ChakraNode& node, RankBuilder& builder, TraceTables& tables);

}  // namespace trainyard
