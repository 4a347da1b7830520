#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

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
              required("source", text("where the numbers come from"))},
             "a class of links");
  return object({required("transports", list(entry, between(1, 1000), "transports"))}, "classes of links");
}

TransportEntry transport_entry(const View& item) {
  TransportEntry entry;
  entry.transport = {item["name"].text(), item["setup"].quantity<Seconds>(), item["step"].quantity<Seconds>(),
                     item["ramp"].quantity<Seconds>(), !item["staged"].boolean_or(false)};
  entry.efficiency = item["efficiency"].number();
  if (const View fast = item["fast"]) {
    entry.fast_from = fast["from"].quantity<BytesPerSecond>();
    entry.fast_efficiency = fast["efficiency"].number();
  }
  entry.latency = item["latency"].quantity_or(Seconds{});
  entry.source = item["source"].text();
  return entry;
}

}  // namespace trainyard
