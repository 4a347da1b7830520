#include "sim/model/cluster.hpp"

namespace trainyard {

std::vector<DeviceId> Cluster::gpus() const {
  std::vector<DeviceId> found;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].kind == DeviceKind::gpu) found.push_back(id_at<DeviceId>(i));
  return found;
}

}  // namespace trainyard
