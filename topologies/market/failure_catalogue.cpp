// Rates of hardware failures as published.
#include <fmt/format.h>

#include <string_view>

#include "topologies/market/market_reader.hpp"

namespace trainyard {

using namespace schema;

std::string_view topologies_failures();

namespace {

Schema failure_file_schema() {
  const Schema entry = object({required("name", text("key")), required("every", quantity(Dimension::seconds, above(0, 1e10), "of one node")),
                               required("summary", text("one line")),
                               required("confidence", choice({"found", "partly found", "recalled"}, "how it is known")),
                               required("source", text("where it was read, and how derived"))},
                              "a rate");
  return object({required("failures", list(entry, between(1, 1000), "rates"))}, "rates of hardware failures");
}

const std::vector<FailureRate>& rates() {
  static const std::vector<FailureRate> all = [] {
    Diagnostics diagnostics;
    const ConfigValue document = read_yaml_text(std::string(topologies_failures()), "topologies/failures.yaml", diagnostics);
    diagnostics.throw_if_any();
    check(document, failure_file_schema(), diagnostics);
    diagnostics.throw_if_any();
    std::vector<FailureRate> read;
    const View list = View(document)["failures"];
    for (std::size_t i = 0; i < list.size(); ++i)
      read.push_back({list.at(i)["name"].text(), list.at(i)["summary"].text(), list.at(i)["source"].text(), list.at(i)["confidence"].text(),
                      list.at(i)["every"].quantity<Seconds>()});
    return read;
  }();
  return all;
}

}  // namespace

const FailureRate* failure_rate(const std::string& name) {
  for (const FailureRate& rate : rates())
    if (rate.name == name) return &rate;
  return nullptr;
}

std::vector<std::string> failure_rate_names() {
  std::vector<std::string> names;
  for (const FailureRate& rate : rates()) names.push_back(rate.name);
  return names;
}

std::vector<CatalogueEntry> failure_catalogue() {
  std::vector<CatalogueEntry> entries;
  for (const FailureRate& rate : rates())
    entries.push_back({rate.name, {}, fmt::format("{:.4g} d a node: {}", rate.every.value / 86400, rate.summary),
                       fmt::format("mean time between failures of one node: {:.4g} d\n{}: {}\n", rate.every.value / 86400, rate.confidence, rate.source)});
  return entries;
}

std::string failure_catalogue_text() { return std::string(topologies_failures()); }

}  // namespace trainyard
