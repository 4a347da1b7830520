#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

namespace {

std::optional<PriceEntry> price_entry(const View& item) {
  if (!item) return std::nullopt;
  return PriceEntry{item["price"].quantity<DollarsPerSecond>(), item["source"].text(), item["date"].text(),
                    item["confidence"].text()};
}

}  // namespace

Schema confidence_schema() {
  return choice({"found", "partly found", "recalled"}, "whether the facts were read somewhere");
}

Schema host_schema() {
  return object(
      {optional("cores", number(above(0, 4096), "physical cores")),
       optional("memory", quantity(Dimension::bytes, above(0, 1e15), "host memory")),
       optional("dram", quantity(Dimension::bytes_per_second, above(0, 1e14), "memory bandwidth, all sockets")),
       optional("storage", quantity(Dimension::bytes_per_second, above(0, 1e13), "rate of the local drives"))},
      "what the node holds besides its GPUs");
}

void read_host(const View& item, HostEntry& host) {
  if (!item) return;
  host.cores = item["cores"].number_or(host.cores);
  host.memory = item["memory"].quantity_or(host.memory);
  host.dram = item["dram"].quantity_or(host.dram);
  host.storage = item["storage"].quantity_or(host.storage);
}

Schema instance_file_schema() {
  const Schema price = object({required("price", quantity(Dimension::dollars_per_second, above(0, 10), "whole node")),
                               required("date", text("when it held")), required("confidence", confidence_schema()),
                               required("source", text("where it was read"))},
                              "price");
  const Schema entry = object(
      {required("name", text("key")), optional("aliases", list(text("other name"), between(0, 20), "other names")),
       required("gpu", text("catalogue key")), required("gpus", integer(between(1, 1024), "count")),
       optional("inside", text("how they are joined")), required("nics", integer(between(0, 64), "count")),
       required("nic", quantity(Dimension::bytes_per_second, above(0, 1e13), "rate of one NIC")),
       required("transport", text("catalogue key")), required("host", host_schema()),
       required("notice", quantity(Dimension::seconds, between(0, 1e5), "warning before a spot node is lost")),
       optional("on_demand", price), optional("spot", price), optional("reserved", price),
       required("confidence", confidence_schema()), required("source", text("where the numbers come from"))},
      "an instance");
  return object({required("instances", list(entry, between(1, 10000), "instances"))}, "instances");
}

InstanceEntry instance_entry(const View& item) {
  InstanceEntry entry;
  entry.name = item["name"].text();
  for (std::size_t i = 0; i < item["aliases"].size(); ++i) entry.aliases.push_back(item["aliases"].at(i).text());
  entry.gpu = item["gpu"].text();
  entry.gpus = static_cast<int>(item["gpus"].integer());
  entry.inside = item["inside"].text_or("");
  entry.nics = static_cast<int>(item["nics"].integer());
  entry.nic = item["nic"].quantity<BytesPerSecond>();
  entry.transport = item["transport"].text();
  read_host(item["host"], entry.host);
  entry.notice = item["notice"].quantity<Seconds>();
  entry.on_demand = price_entry(item["on_demand"]);
  entry.spot = price_entry(item["spot"]);
  entry.reserved = price_entry(item["reserved"]);
  entry.confidence = item["confidence"].text();
  entry.source = item["source"].text();
  return entry;
}

}  // namespace trainyard
