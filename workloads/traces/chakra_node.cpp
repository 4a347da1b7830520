#include "workloads/traces/chakra_node.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "sim/units/error.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {

enum Type { kMetadata = 1, kLoad, kStore, kCompute, kSend, kReceive, kCollective };

/// CollectiveCommType of schema 0.0.4.
constexpr std::array kExchanges{ExchangeKind::all_reduce, ExchangeKind::reduce,         ExchangeKind::all_gather,
                                ExchangeKind::gather,     ExchangeKind::scatter,        ExchangeKind::broadcast,
                                ExchangeKind::all_to_all, ExchangeKind::reduce_scatter, ExchangeKind::reduce_scatter,
                                ExchangeKind::barrier};

/// Thirty years: beyond, a negative duration was written into the unsigned field.
constexpr double kLongestMicros = 1e15;
/// An exabyte: beyond, the same of a size.
constexpr double kMostBytes = 1e18;

std::optional<double> number_of(const ChakraValue& value) {
  if (value.is_number) return value.number;
  if (value.text == "true" || value.text == "True") return 1;
  if (value.text == "false" || value.text == "False") return 0;
  return number_of_word(value.text);
}

/// Where an attribute's number goes; nullptr: it is of no use here.
double* place_of(std::string_view name, ChakraNode& node) {
  static const std::map<std::string_view, double ChakraNode::*> places{{"comm_type", &ChakraNode::comm_type},
                                                                       {"comm_size", &ChakraNode::comm_size},
                                                                       {"comm_src", &ChakraNode::source},
                                                                       {"comm_dst", &ChakraNode::destination},
                                                                       {"comm_tag", &ChakraNode::tag},
                                                                       {"num_ops", &ChakraNode::operations},
                                                                       {"tensor_size", &ChakraNode::tensor_bytes},
                                                                       {"stream", &ChakraNode::stream}};
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &(node.*found->second);
}

int whole(double number, const char* what, std::uint64_t id, const RankBuilder& builder) {
  const std::optional<int> value = int_of(number);
  if (!value) throw UserError(builder.at(id, fmt::format("{} is {}; a whole number of 32 bits is read", what, number)));
  return *value;
}

std::string text_of(const ChakraValue& value) {
  return value.is_number ? fmt::format("{:.0f}", value.number) : value.text;
}

/// Where the file says nothing of the host's nodes, all are the device's.
void set_exchange(const ChakraNode& node, RankBuilder& builder, TraceTables& tables, TraceNode& made) {
  if (node.comm_type >= 0 && node.comm_type >= double(kExchanges.size()))
    throw UserError(
        builder.at(node.id, fmt::format("comm_type {:.0f} is no collective; known: 0 (all-reduce) to {} (barrier)",
                                        node.comm_type, kExchanges.size() - 1)));
  const bool named = exchange_named(node.name, made.exchange);
  if (node.comm_type >= 0) made.exchange = kExchanges[std::size_t(node.comm_type)];
  made.work = TraceWork::exchange;
  made.bytes = node.comm_size;
  const bool barrier = made.exchange == ExchangeKind::barrier && node.comm_type >= 0;
  if (node.comm_size < 0 && !barrier) {  // a note of the host, or a kernel whose time alone is known
    ++builder.repairs().unsized_exchanges;
    made.work = node.on_host ? TraceWork::host : node.micros > 0 ? TraceWork::exchange : TraceWork::none;
    return;
  }
  if (node.comm_type < 0 && !named)
    throw UserError(builder.at(
        node.id, fmt::format("a collective without comm_type, and \"{}\" names none; known: all-reduce, reduce, "
                             "all-gather, gather, scatter, broadcast, all-to-all, reduce-scatter, barrier",
                             node.name)));
  if (node.some_dimensions)
    throw UserError(builder.at(
        node.id, "involved_dim names some dimensions of a network only; a group of ranks (comm_group) is read"));
  if (barrier && node.comm_size < 0) made.bytes = 1;
  made.group = tables.group({node.group, {}, 0, 1});
}

void set_transfer(const ChakraNode& node, RankBuilder& builder, TraceNode& made) {
  const bool sends = node.type == kSend;
  made.work = sends ? TraceWork::send : TraceWork::receive;
  const double peer = sends ? node.destination : node.source;
  if (peer < 0) throw UserError(builder.at(node.id, sends ? "a send without comm_dst" : "a receive without comm_src"));
  if (node.comm_size < 0)
    throw UserError(builder.at(node.id, fmt::format("a {} without comm_size", sends ? "send" : "receive")));
  made.peer = whole(peer, "the rank of a peer", node.id, builder);
  made.tag = whole(node.tag, "comm_tag", node.id, builder);
  made.bytes = node.comm_size;
}

}  // namespace

void set_attribute(std::string_view name, const ChakraValue& value, ChakraNode& node) {
  if (name == "comm_group" || name == "pg_name") {
    node.group = text_of(value);
    return;
  }
  double flag = 0;
  const bool host = name == "is_cpu_op", dimensions = name == "involved_dim";
  double* const place = host || dimensions ? &flag : place_of(name, node);
  if (place == nullptr) return;
  const std::optional<double> number = number_of(value);
  if (number) *place = *number;
  if (!number && node.unreadable.empty()) node.unreadable = name;
  if (host) node.on_host = flag != 0;
  if (dimensions) node.some_dimensions = flag == 0;
}

int add_chakra_node(const ChakraNode& node, RankBuilder& builder, TraceTables& tables) {
  TraceNode made;
  made.id = node.id;
  made.name = tables.name(node.name);
  if (!node.unreadable.empty())
    throw UserError(builder.at(node.id, fmt::format("attribute {} holds no number (a list, text or the value of "
                                                    "another schema); one number is read",
                                                    node.unreadable)));
  if (node.micros < 0 || node.micros > kLongestMicros)
    throw UserError(builder.at(
        node.id,
        fmt::format("a duration of {:.0f} us; 0 to {:.0e} is allowed (a negative number in an unsigned field?)",
                    node.micros, kLongestMicros)));
  if ((node.comm_size < 0 && node.comm_size != -1) || node.comm_size > kMostBytes)
    throw UserError(
        builder.at(node.id, fmt::format("comm_size {:.0f}; 0 to {:.0e} is allowed", node.comm_size, kMostBytes)));
  made.time = Seconds(node.micros * 1e-6);
  if (node.begin_micros > 0) made.begin = Seconds(node.begin_micros * 1e-6);
  const bool unsaid = node.stream >= 0x1p64;  // -1 in an unsigned field
  made.stream = unsaid ? 0 : whole(node.stream, "stream", node.id, builder);
  if (node.type < kMetadata || node.type > kCollective)
    throw UserError(builder.at(node.id, fmt::format("type {}; known: 1 (metadata) to 7 (collective)", node.type)));
  if (node.type == kCollective) set_exchange(node, builder, tables, made);
  if (node.type == kSend || node.type == kReceive) set_transfer(node, builder, made);
  if (node.type == kLoad || node.type == kStore) made.work = TraceWork::memory;
  if (node.type == kCompute) made.work = node.on_host ? TraceWork::host : TraceWork::compute;
  if (node.type <= kCompute) made.flops = node.operations, made.bytes = node.tensor_bytes;
  return builder.add(made);
}

}  // namespace trainyard
