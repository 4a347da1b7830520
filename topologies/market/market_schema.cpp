// What may stand under `market:`.
#include "topologies/market/market_reader.hpp"
#include "topologies/market/price_records.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {

using namespace schema;

namespace {

constexpr double kLongest = 1e10;  // s

Schema time(Range range, std::string help) { return quantity(Dimension::seconds, range, std::move(help)); }

Schema by_group(Schema one, std::string help) {
  Schema all = mapping("group of nodes", one, help);
  return one_of({std::move(one), std::move(all)}, std::move(help));
}

Schema victims() { return choice({"random", "newest"}, "who is taken when the number of nodes falls: drawn with the seed, or the newest"); }

Schema trace_schema() {
  return object({required("trace", text("FILE with the record")),
                 optional("format", choice(availability_formats(), "how the file is written"), "told from the file"),
                 optional("after_end", choice({"hold", "loop", "stop"}, "the last state, the record again, or the job ends there"), "hold"),
                 optional("victims", victims(), "random"), optional("column", text("pool of a table with several")),
                 optional("unit", choice({"s", "ms", "h"}, "of the times of pairs that do not say it")),
                 optional("sort", boolean("puts a record that is out of order into order"), "false"),
                 optional("inverted", boolean("SkyPilot: 1 means taken"), "false")},
                "a record");
}

Schema process_schema(const char* name, std::vector<SchemaField> times, const char* help) {
  times.insert(times.begin(), required("process", choice({name}, help)));
  return object(std::move(times), help);
}

Schema markov_schema() {
  const Schema level = object({required("nodes", integer(between(0, 1e6), "nodes that can be had")),
                               required("hold", time(above(0, kLongest), "mean time until another level")),
                               optional("to", mapping("nodes", number(between(0, 1), "probability"), "the level that follows"), "for ever")},
                              "a level");
  return process_schema("markov", {required("levels", list(level, between(1, 10000), "the first is the start")), optional("victims", victims(), "random")},
                        "number of nodes as a chain in continuous time; `import spot FILE --fit` makes one");
}

Schema source_schema() {
  const auto mean = [](const char* help) { return time(above(0, kLongest), help); };
  const Schema down = time(between(0, kLongest), "mean time that a node is away");
  const auto shape = [] { return optional("up_shape", number(above(0, 100), "Weibull shape"), "1"); };
  return one_of(
      {trace_schema(), process_schema("exponential", {required("up", mean("mean time that a node stays")), required("down", down)}, "each node on its own"),
       process_schema("weibull", {required("up", mean("mean time that a node stays")), required("down", down), shape(),
                                  optional("down_shape", number(above(0, 100), "Weibull shape"), "1")},
                      "each node on its own"),
       process_schema("bursts", {required("every", mean("mean time between bursts in a zone")), required("away", time(between(0, kLongest), "mean time that capacity is gone")),
                                 required("share", number(above(0, 1), "of a zone's nodes that a burst takes"))},
                      "a zone loses nodes together"),
       markov_schema()},
      "a record or a process");
}

Schema price_trace_schema() {
  return object({required("trace", text("FILE with the prices")), required("format", choice(price_formats(), "how the file is written")),
                 optional("after_end", choice({"hold", "loop"}, "the last price, or the record again"), "hold"),
                 optional("zone", text("a zone of the file, mean or cheapest"), "the nodes' zone, else mean"),
                 optional("instance", text("of a file with several")), optional("product", text("AWS: ProductDescription")),
                 optional("gpus", integer(between(1, 1024), "GCP: Number of GPUs"))},
                "a history of prices");
}

Schema price_schema() {
  const Schema price = quantity(Dimension::dollars_per_second, above(0, 10), "of one node");
  const Schema step = object({required("at", time(between(0, kLongest), "from then on")), required("price", price)}, "a price");
  const Schema steps = object({required("steps", list(step, between(1, 1e6), "in order of time")),
                               optional("after_end", choice({"hold"}, "the last price"), "hold")},
                              "prices written out");
  return one_of({price, price_trace_schema(), steps}, "of one spot node over time");
}

Schema failure_schema() {
  const Schema repair = time(between(0, kLongest), "until another node can be had in its place");
  return one_of({object({required("every", time(above(0, kLongest), "mean time between failures of a node")), required("repair", repair)}, "a rate"),
                 object({required("like", text("a published rate: `trainyard list failures`")), required("repair", repair)}, "a published rate")},
                "hardware that breaks");
}

Schema per_byte(std::string help) { return quantity(Dimension::dollars_per_byte, between(0, 1), std::move(help)); }

Schema store_schema() {
  return object({required("bandwidth", quantity(Dimension::bytes_per_second, above(0, 1e14), "of all nodes together, each direction")),
                 optional("per_node", quantity(Dimension::bytes_per_second, above(0, 1e14), "that one node reaches"), "its network card's"),
                 optional("latency", time(between(0, 1e4), "of one object"), "0 s"),
                 optional("price_per_month", per_byte("of what is kept for 30 days"), "0 USD/GB"),
                 optional("egress", per_byte("of what is read from it"), "0 USD/GB")},
                "object storage, where checkpoints outlive every node");
}

}  // namespace

Schema market_schema() {
  const Schema billing = object({optional("period", time(between(0, kLongest), "full periods are billed"), "to the instant"),
                                 optional("minimum", time(between(0, kLongest), "of each time that a node is had"), "0 s")},
                                "how held nodes are billed");
  const Schema egress = object({optional("between_zones", per_byte("of what leaves a zone"), "0 USD/GB"), optional("between_regions", per_byte("of what leaves a region"), "0 USD/GB")},
                               "price of traffic");
  return object({optional("availability", by_group(source_schema(), "when spot nodes can be had; one source, or one by group"), "always"),
                 optional("notice", by_group(time(between(0, 1e6), "between the warning and the loss of a spot node"), "warning, one or by group"), "the instance's"),
                 optional("acquire", time(between(0, kLongest), "from capacity to a node that is had and paid"), "0 s"),
                 optional("boot", time(between(0, kLongest), "from then until it computes"), "0 s"),
                 optional("prices", mapping("group of nodes", price_schema(), "of spot nodes over time"), "the price of the nodes"),
                 optional("failures", by_group(failure_schema(), "hardware failures of nodes of any market; one, or one by group"), "none"),
                 optional("billing", billing), optional("store", store_schema(), "none"), optional("egress", egress)},
                "nodes and prices over time, for jobs over a horizon");
}

}  // namespace trainyard
