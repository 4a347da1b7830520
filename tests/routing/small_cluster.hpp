// Clusters written out by hand, for routes that can be followed on paper.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"

namespace trainyard::testing {

/// Adds vertices, devices and links one by one.
struct SmallCluster {
  Cluster cluster;

  SmallCluster() {
    cluster.device_types.emplace_back();
    for (const char* name : {"slow", "fast"}) cluster.transports.emplace_back().name = name;
  }
  NodeId node() {
    cluster.nodes.emplace_back();
    return id_at<NodeId>(cluster.nodes.size() - 1);
  }
  VertexId vertex(const std::string& name) {
    cluster.vertices.push_back(name);
    return id_at<VertexId>(cluster.vertices.size() - 1);
  }
  DeviceId device(const std::string& name, DeviceKind kind, NodeId node) {
    cluster.devices.push_back({name, kind, {}, node, {}, vertex(name)});
    const DeviceId id = id_at<DeviceId>(cluster.devices.size() - 1);
    cluster.nodes[index(node)].devices.push_back(id);
    return id;
  }
  VertexId at(DeviceId id) const { return cluster.devices[index(id)].vertex; }
  LinkId one_way(VertexId from, VertexId to, double gigabytes_per_s, double microseconds = 0, int transport = 0) {
    const BytesPerSecond rate(gigabytes_per_s * 1e9);
    cluster.links.push_back({"", from, to, rate, rate, Seconds(microseconds * 1e-6), TransportId{transport}});
    return id_at<LinkId>(cluster.links.size() - 1);
  }
  /// The link there; the one back has the next id.
  LinkId join(VertexId a, VertexId b, double gigabytes_per_s, double microseconds = 0, int transport = 0) {
    const LinkId there = one_way(a, b, gigabytes_per_s, microseconds, transport);
    one_way(b, a, gigabytes_per_s, microseconds, transport);
    return there;
  }
};

}  // namespace trainyard::testing
