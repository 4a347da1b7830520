#include "workloads/traces/chakra_schema.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "workloads/traces/chakra.pb.h"

namespace trainyard {
namespace {

using Wire = google::protobuf::internal::WireFormatLite;

/// Names of kinds of nodes in every schema, by their number in 0.0.4; writers begin names of nodes with them.
constexpr std::array<std::string_view, 8> kKinds{"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                                 "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr int kFields = 10;  ///< of a Node in 0.0.4: ids, names, kinds, dependencies, times, tensors, attributes

/// Whether a field of 0.0.4 can stand as it does: lists of numbers may be packed.
bool is_field(int number, int type) {
  const bool is_number = number == 1 || number == 3 || number == 6 || number == 7, is_list = number == 4 || number == 5;
  const bool packed = type == Wire::WIRETYPE_LENGTH_DELIMITED;
  return number <= kFields && (is_list || packed != is_number) && (packed || type == Wire::WIRETYPE_VARINT);
}

}  // namespace

std::string wrong_version(const chakra::GlobalMetadata& metadata) {
  const std::string& version = metadata.version();
  if (version.empty() || version == "0.0.4") return "";
  const bool is_text = std::ranges::all_of(version, [](unsigned char c) { return std::isprint(c) != 0; });
  if (!is_text) return "attributes stand where schema 0.0.4 has its version: an older schema; 0.0.4 is read";
  if (version == "0.0.1" || version == "0.0.2" || version == "0.0.3")
    return fmt::format("schema {}, which numbers kinds of nodes in another way; 0.0.4 is read", version);
  return fmt::format("schema {}; 0.0.4 is read", version.substr(0, 40));
}

std::string foreign_field(const std::string& message) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(message.data());
  google::protobuf::io::CodedInputStream in(bytes, int(message.size()));
  while (const std::uint32_t tag = in.ReadTag()) {
    const int field = Wire::GetTagFieldNumber(tag);
    if (!is_field(field, Wire::GetTagWireType(tag)))
      return fmt::format(
          "a node with field {}, as schemas 0.0.1 to 0.0.3 write it, which number kinds of nodes and collectives in "
          "another way; 0.0.4 (fields 1 to {}) is read",
          field, kFields);
    if (!Wire::SkipField(&in, tag)) break;  // cut off, as parsing tells
  }
  return "";
}

std::string foreign_kind(const chakra::Node& node) {
  const auto kind = std::ranges::find_if(kKinds, [&](std::string_view name) { return node.name().starts_with(name); });
  if (kind == kKinds.end() || kind - kKinds.begin() == node.type()) return "";
  return fmt::format("node {} is called {}, but type {} is not that in schema 0.0.4: an older schema; 0.0.4 is read",
                     node.id(), *kind, node.type());
}

}  // namespace trainyard
