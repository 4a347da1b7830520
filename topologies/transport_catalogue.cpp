#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

namespace {

Schema algorithm_schema(const char* what) {
  const Schema time = quantity(Dimension::seconds, between(0, 10), "seconds");
  return object({required("setup", time), required("step", time), required("ramp", time),
                 required("rate", number(above(0, 4), "share of the bandwidth that bulk traffic reaches")),
                 optional("from", integer(between(2, 100000), "members or nodes below which it is not chosen"), "2"),
                 optional("on_request", boolean("never chosen unasked"), "false")},
                what);
}

AlgorithmTimes algorithm_times(const View& item) {
  return {item["setup"].quantity<Seconds>(),
          item["step"].quantity<Seconds>(),
          item["ramp"].quantity<Seconds>(),
          item["rate"].number(),
          static_cast<int>(item["from"].integer_or(2)),
          item["on_request"].boolean_or(false)};
}

std::optional<AlgorithmTimes> algorithm_if_there(const View& item) {
  return item ? std::optional(algorithm_times(item)) : std::nullopt;
}

void read_algorithms(const View& item, Transport& transport) {
  transport.ring = algorithm_if_there(item["ring"]);
  transport.tree = algorithm_if_there(item["tree"]);
  transport.in_network = algorithm_if_there(item["in_network"]);
  transport.exchange = algorithm_if_there(item["exchange"]);
}

}  // namespace

Schema transport_file_schema() {
  const Schema time = quantity(Dimension::seconds, between(0, 10), "seconds");
  const Schema share = number(above(0, 1), "share of the nominal bandwidth");
  const Schema fast = object({required("from", quantity(Dimension::bytes_per_second, above(0, 1e13), "nominal rate")),
                              required("efficiency", share)},
                             "links at least so fast reach another share");
  const Schema entry =
      object({required("name", text("key")), required("efficiency", share), optional("fast", fast),
              required("setup", time), required("step", time), required("ramp", time), optional("latency", time, "0 s"),
              optional("staged", boolean("devices reach it through host memory only"), "false"),
              optional("ring", algorithm_schema("rings, instead of setup, step and ramp")),
              optional("tree", algorithm_schema("double binary tree of an all-reduce")),
              optional("in_network", algorithm_schema("all-reduce in the switches")),
              optional("exchange", algorithm_schema("all-to-all")),
              optional("fit", text("where ring, tree, in_network and exchange come from")),
              required("source", text("where the numbers come from"))},
             "a class of links");
  return object({required("transports", list(entry, between(1, 1000), "transports"))}, "classes of links");
}

TransportEntry transport_entry(const View& item) {
  TransportEntry entry;
  Transport& transport = entry.transport;
  transport.name = item["name"].text();
  transport.setup = item["setup"].quantity<Seconds>();
  transport.step = item["step"].quantity<Seconds>();
  transport.ramp = item["ramp"].quantity<Seconds>();
  transport.direct_memory = !item["staged"].boolean_or(false);
  entry.efficiency = item["efficiency"].number();
  if (const View fast = item["fast"]) {
    entry.fast_from = fast["from"].quantity<BytesPerSecond>();
    entry.fast_efficiency = fast["efficiency"].number();
  }
  entry.latency = item["latency"].quantity_or(Seconds{});
  entry.source = item["source"].text();
  read_algorithms(item, entry.transport);
  return entry;
}

}  // namespace trainyard
