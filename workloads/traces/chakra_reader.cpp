#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "sim/units/error.hpp"
#include "workloads/traces/chakra.pb.h"
#include "workloads/traces/chakra_node.hpp"
#include "workloads/traces/chakra_schema.hpp"
#include "workloads/traces/readers.hpp"

namespace trainyard {
namespace {

namespace io = google::protobuf::io;

constexpr int kLargestMessage = 64 << 20;

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

/// Whether they say of which schema the file is.
bool read_metadata(const std::string& message, const MessageStream& stream) {
  chakra::GlobalMetadata metadata;
  if (!metadata.ParseFromString(message)) stream.fail("neither GlobalMetadata nor a Node");
  if (const std::string wrong = wrong_version(metadata); !wrong.empty()) stream.fail(wrong);
  return !metadata.version().empty();
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
  bool says_version = false;
  for (bool first = true; stream.next(message); first = false) {
    const bool is_node = node.ParseFromString(message);
    if (first && (!is_node || node.type() == 0)) {
      says_version = read_metadata(message, stream);
      continue;
    }
    if (const std::string foreign = foreign_field(message); !foreign.empty()) stream.fail(foreign);
    if (!is_node) stream.fail("no Node");
    if (const std::string foreign = says_version ? "" : foreign_kind(node); !foreign.empty()) stream.fail(foreign);
    const int at = add_chakra_node(node_of(node), builder, tables);
    for (const std::uint64_t on : node.control_dependencies()) builder.depend(at, on, Dependency::control);
    for (const std::uint64_t on : node.data_dependencies()) builder.depend(at, on, Dependency::data);
  }
  TraceFile file;
  file.rank = builder.finish();
  if (file.rank.nodes.empty()) throw UserError(path + ": holds no node");
  file.repairs = builder.repairs();
  file.repairs.without_version = says_version ? 0 : 1;
  return file;
}

}  // namespace trainyard
