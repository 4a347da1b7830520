// Events of a Kineto trace that a replay needs, in order of time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/model/execution_trace.hpp"

namespace trainyard {

/// Something that the device did: a kernel, a copy, a fill. Times in microseconds since the first event.
struct DeviceEvent {
  std::string name;
  std::int64_t stream = 0;
  double begin = 0, time = 0;
  double bytes = 0;               ///< of a copy or a fill
  std::int64_t correlation = -1;  ///< with its launch; -1: none
  std::int64_t external = -1;     ///< with the operator around its launch
  bool communicates = false, copies = false;
};

/// A call of the host that launches, or that waits for the device.
struct HostCall {
  double begin = 0, time = 0;
  std::int64_t correlation = -1;
  bool waits = false;  ///< cudaStreamSynchronize and the like
  double end() const { return begin + time; }
};

/// What an operator of the host says of the collective that it starts.
struct CollectiveNote {
  double begin = 0, end = 0;
  std::int64_t thread = 0;
  ExchangeKind kind = ExchangeKind::all_reduce;
  bool known = false;      ///< the kind
  double bytes = -1;       ///< of the input; -1: not said
  int members = 0;         ///< 0: not said
  std::vector<int> ranks;  ///< empty: not said (or cut off in the file)
  std::string group;
};

struct KinetoEvents {
  int rank = -1, world_size = 0;
  std::string device;
  std::vector<DeviceEvent> device_events;            ///< by begin
  std::vector<HostCall> calls;                       ///< by begin
  std::vector<CollectiveNote> notes;                 ///< of operators, by begin
  std::map<std::int64_t, CollectiveNote> described;  ///< of kernels that say it themselves, by correlation
};

/// UserError in one line (event by its place in the list): no events, a duration below 0, a time that is no number.
[[nodiscard]] KinetoEvents kineto_events(const std::string& path);

}  // namespace trainyard
