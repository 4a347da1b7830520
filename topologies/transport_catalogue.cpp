#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

namespace {

std::vector<SchemaField> message_keys() {
  const Schema time = quantity(Dimension::seconds, between(0, 10), "seconds");
  return {required("setup", time), required("step", time), optional("inner", time, "0 s"), optional("ramp", time, "0 s"),
          required("rate", number(above(0, 10), "share of the bandwidth that its bytes get"))};
}

Schema protocol_schema() {
  std::vector<SchemaField> keys = message_keys();
  keys.push_back(optional("name", text("as the library calls it"), "\"\""));
  std::vector<SchemaField> expected = message_keys();
  expected.push_back(optional("by_size", list(number(above(0, 10), "factor of the rate"), between(1, 40),
                                              "factors of the rate for 64 B, 128 B, .. and all larger sizes")));
  keys.push_back(optional("expected", object(std::move(expected), "what the library expects when it chooses")));
  return object(std::move(keys), "a protocol of a library");
}

Schema algorithm_schema(const char* what) {
  return object({required("protocols", list(protocol_schema(), between(1, 8), "protocols")),
                 optional("from", integer(between(2, 100000), "members or nodes below which it is not chosen"), "2"),
                 optional("on_request", boolean("never chosen unasked"), "false"),
                 optional("shared", boolean("all members' bytes pass one place"), "false"),
                 optional("own", number(between(0, 1), "share of a member's own part that costs as if it were sent"), "0")},
                what);
}

MessageTimes message_times(const View& item) {
  return {item["setup"].quantity<Seconds>(), item["step"].quantity<Seconds>(), item["inner"].quantity_or(Seconds{}),
          item["ramp"].quantity_or(Seconds{}), item["rate"].number()};
}

Expectation expectation(const View& item) {
  Expectation expected{message_times(item), {}};
  const View factors = item["by_size"];
  for (std::size_t i = 0; factors && i < factors.size(); ++i) expected.by_size.push_back(factors.at(i).number());
  return expected;
}

AlgorithmTimes algorithm_times(const View& item) {
  AlgorithmTimes times;
  for (std::size_t i = 0; i < item["protocols"].size(); ++i) {
    const View entry = item["protocols"].at(i);
    Protocol protocol{entry["name"].text_or(""), message_times(entry), std::nullopt};
    if (const View expected = entry["expected"]) protocol.expected = expectation(expected);
    times.protocols.push_back(std::move(protocol));
  }
  times.from = static_cast<int>(item["from"].integer_or(2));
  times.on_request = item["on_request"].boolean_or(false);
  times.shared = item["shared"].boolean_or(false);
  times.own = item["own"].number_or(0);
  return times;
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
              optional("family", text("of network cards that exchange memory directly"), "the name"),
              optional("bridge", boolean("joins a PCIe switch and a socket"), "false"),
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
  transport.family = item["family"].text_or("");
  transport.bridge = item["bridge"].boolean_or(false);
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
