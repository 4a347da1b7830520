#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "sim/units/error.hpp"
#include "workloads/traces/chakra.pb.h"
#include "workloads/traces/chakra_node.hpp"
#include "workloads/traces/readers.hpp"

namespace trainyard {
namespace {

namespace io = google::protobuf::io;

constexpr int kLargestMessage = 64 << 20;
constexpr std::uint32_t kLastField = 10;  // of Node in schema 0.0.4

ChakraValue value_of(const chakra::Attribute& attribute) {
  using Attribute = chakra::Attribute;
  const auto number = [](auto value) { return ChakraValue{double(value), "", true}; };
  switch (attribute.value_case()) {
    case Attribute::kDoubleValue:
      return number(attribute.double_value());
    case Attribute::kFloatValue:
      return number(attribute.float_value());
    case Attribute::kInt32Value:
      return number(attribute.int32_value());
    case Attribute::kInt64Value:
      return number(attribute.int64_value());
    case Attribute::kUint32Value:
      return number(attribute.uint32_value());
    case Attribute::kUint64Value:
      return number(attribute.uint64_value());
    case Attribute::kSint32Value:
      return number(attribute.sint32_value());
    case Attribute::kSint64Value:
      return number(attribute.sint64_value());
    case Attribute::kFixed32Value:
      return number(attribute.fixed32_value());
    case Attribute::kFixed64Value:
      return number(attribute.fixed64_value());
    case Attribute::kSfixed32Value:
      return number(attribute.sfixed32_value());
    case Attribute::kSfixed64Value:
      return number(attribute.sfixed64_value());
    case Attribute::kBoolValue:
      return number(attribute.bool_value());
    case Attribute::kStringValue:
      return {0, attribute.string_value(), false};
    case Attribute::kBoolList: {
      bool all = true;
      for (const bool one : attribute.bool_list().values()) all = all && one;
      return number(all);
    }
    case Attribute::VALUE_NOT_SET:
      break;
  }
  return {};
}

/// One message after the other.
class MessageStream {
 public:
  explicit MessageStream(const std::string& path)
      : path_(path), file_(path, std::ios::binary), raw_(&file_), in_(&raw_) {
    if (!file_.is_open()) throw UserError(path + ": no such file");
    in_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }

  /// False at the end of the file.
  bool next(std::string& message) {
    begins_ = in_.CurrentPosition();
    std::uint8_t first = 0;
    if (!in_.ReadRaw(&first, 1)) return false;
    std::uint32_t length = first & 0x7fU;
    for (int shift = 7; (first & 0x80U) != 0; shift += 7) {
      if (shift > 28 || !in_.ReadRaw(&first, 1)) fail("no length of a message stands here");
      length |= std::uint32_t(first & 0x7fU) << shift;
    }
    if (length > std::uint32_t(kLargestMessage))
      fail(fmt::format("a message of {} bytes; at most {} are read", length, kLargestMessage));
    if (!in_.ReadString(&message, int(length))) fail(fmt::format("the file ends inside a message of {} bytes", length));
    ++count_;
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}: message {} at byte {}: {}; a Chakra trace is a sequence of lengths and messages",
                                path_, count_, begins_, what));
  }

 private:
  std::string path_;
  std::ifstream file_;
  io::IstreamInputStream raw_;
  io::CodedInputStream in_;
  int begins_ = 0, count_ = 0;
};

/// The first field of a message that schema 0.0.4's Node does not have, or 0. Files of the schemas before it say no
/// version; their nodes have attributes in field 11, or a field each (up to 22) and kinds counted from 1.
std::uint32_t foreign_field(const std::string& message) {
  io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()), int(message.size()));
  for (std::uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (tag >> 3U > kLastField) return tag >> 3U;
    std::uint64_t skipped = 0;
    switch (tag & 7U) {
      case 0:
        if (!in.ReadVarint64(&skipped)) return 0;
        break;
      case 1:
        if (!in.Skip(8)) return 0;
        break;
      case 2:
        if (!in.ReadVarint64(&skipped) || skipped > message.size() || !in.Skip(int(skipped))) return 0;
        break;
      case 5:
        if (!in.Skip(4)) return 0;
        break;
      default:
        return 0;
    }
  }
  return 0;
}

void check_schema(const std::string& message, const MessageStream& stream) {
  if (const std::uint32_t field = foreign_field(message); field > 0)
    stream.fail(
        fmt::format("a node with field {}, as schemas 0.0.1 to 0.0.3 write it, which number kinds of nodes and "
                    "collectives in another way; 0.0.4 (fields 1 to {}) is read",
                    field, kLastField));
}

void read_metadata(const std::string& message, const MessageStream& stream) {
  chakra::GlobalMetadata metadata;
  if (!metadata.ParseFromString(message)) stream.fail("neither GlobalMetadata nor a Node");
  const std::string& version = metadata.version();
  if (version == "0.0.1" || version == "0.0.2" || version == "0.0.3")
    stream.fail(fmt::format("schema {}, which numbers kinds of nodes in another way; 0.0.4 is read", version));
  if (version.find_first_not_of("0123456789.") == std::string::npos && !version.empty() && version != "0.0.4")
    stream.fail(fmt::format("schema {}; 0.0.4 is read", version));
}

ChakraNode node_of(const chakra::Node& read) {
  ChakraNode node;
  node.id = read.id();
  node.name = read.name();
  node.type = read.type();
  node.micros = double(read.duration_micros());
  node.begin_micros = double(read.start_time_micros());
  for (const chakra::Attribute& attribute : read.attributes())
    set_attribute(attribute.name(), value_of(attribute), node);
  return node;
}

}  // namespace

TraceFile read_chakra(const std::string& path, const TraceReading& reading, TraceTables& tables) {
  MessageStream stream(path);
  RankBuilder builder(path, reading.lenient);
  std::string message;
  chakra::Node node;
  for (bool first = true; stream.next(message); first = false) {
    const bool is_node = node.ParseFromString(message);
    if (first && (!is_node || node.type() == 0)) {
      read_metadata(message, stream);
      continue;
    }
    check_schema(message, stream);
    if (!is_node) stream.fail("no Node");
    const int at = add_chakra_node(node_of(node), builder, tables);
    for (const std::uint64_t on : node.control_dependencies()) builder.depend(at, on, Dependency::control);
    for (const std::uint64_t on : node.data_dependencies()) builder.depend(at, on, Dependency::data);
  }
  TraceFile file;
  file.rank = builder.finish();
  if (file.rank.nodes.empty()) throw UserError(path + ": holds no node");
  file.repairs = builder.repairs();
  return file;
}

}  // namespace trainyard
