#include "sim/routing/families.hpp"

#include <algorithm>
#include <string>

namespace trainyard {

Families::Families(const Cluster& cluster) : cluster_(cluster), nic_(cluster.vertices.size(), false) {
  std::vector<std::string> names{""};
  for (std::size_t i = 0; i < cluster.transports.size(); ++i) {
    const Transport& transport = cluster.transports[i];
    auto known = std::find(names.begin(), names.end(), transport.family);
    family_.push_back(static_cast<int>(known - names.begin()));
    if (known == names.end()) names.push_back(transport.family);
    if (!common_ && !transport.family.empty() && !transport.direct_memory) common_ = id_at<TransportId>(i);
  }
  several_ = names.size() > 2;
  for (const Device& device : cluster.devices) nic_[index(device.vertex)] = device.kind == DeviceKind::nic;
}

std::optional<TransportId> Families::fallback_for(const std::vector<LinkId>& links) const {
  if (!several_ || !common_) return std::nullopt;
  int seen = 0;
  for (LinkId id : links) {
    const Link& link = cluster_.links[index(id)];
    const int family = family_[index(link.transport)];
    const bool counts =
        nic_[index(link.from)] || nic_[index(link.to)] || !cluster_.transports[index(link.transport)].direct_memory;
    if (family == 0 || !counts) continue;
    if (seen != 0 && seen != family) return common_;
    seen = family;
  }
  return std::nullopt;
}

}  // namespace trainyard
