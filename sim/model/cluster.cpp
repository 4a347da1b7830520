#include "sim/model/cluster.hpp"

namespace trainyard {

std::string Cluster::name_of(LinkId link) const {
  const Link& of = links[index(link)];
  return of.name.empty() ? vertices[index(of.from)] + ">" + vertices[index(of.to)] : of.name;
}

std::vector<DeviceId> Cluster::gpus() const {
  std::vector<DeviceId> found;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].kind == DeviceKind::gpu) found.push_back(id_at<DeviceId>(i));
  return found;
}

}  // namespace trainyard
