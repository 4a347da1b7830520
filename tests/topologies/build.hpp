// A cluster from text, as a scenario would hold it under `cluster:`.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "topologies/topologies.hpp"

namespace trainyard::testing {

inline Cluster build(const std::string& text, Diagnostics& diagnostics) {
  const ConfigValue section = read_yaml_text(text, "cluster.yaml", diagnostics);
  if (!diagnostics.empty() || !check(section, cluster_schema(), diagnostics)) return {};
  return build_cluster(section, ".", diagnostics);
}

inline Cluster build(const std::string& text) {
  Diagnostics diagnostics;
  Cluster cluster = build(text, diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.empty());
  return cluster;
}

/// The messages of everything wrong with `text`, one a line, without places.
inline std::string mistakes(const std::string& text) {
  Diagnostics diagnostics;
  build(text, diagnostics);
  std::string messages;
  for (const Diagnostic& mistake : diagnostics.all()) messages += (messages.empty() ? "" : "\n") + mistake.message;
  return messages;
}

inline DeviceId device_named(const Cluster& cluster, const std::string& name) {
  for (std::size_t i = 0; i < cluster.devices.size(); ++i)
    if (cluster.devices[i].name == name) return id_at<DeviceId>(i);
  FAIL("no device " << name);
  return {};
}

inline const Link& link_named(const Cluster& cluster, const std::string& name) {
  for (const Link& link : cluster.links)
    if (cluster.name_of(id_at<LinkId>(std::size_t(&link - cluster.links.data()))) == name) return link;
  FAIL("no link " << name);
  return cluster.links.front();
}

inline const Transport& transport_of(const Cluster& cluster, const Link& link) {
  return cluster.transports[index(link.transport)];
}

inline std::ptrdiff_t links_with(const Cluster& cluster, const std::string& transport) {
  return std::count_if(cluster.links.begin(), cluster.links.end(),
                       [&](const Link& link) { return transport_of(cluster, link).name == transport; });
}

}  // namespace trainyard::testing
