// Indices that cannot be mixed up: an XId is the position of an X in its owner's vector<X>.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard {

#define TRAINYARD_ID(Name)           \
  enum class Name : std::int32_t {}; \
  constexpr std::size_t index(Name id) { return static_cast<std::size_t>(id); }

// Cluster
TRAINYARD_ID(NodeId)
TRAINYARD_ID(DeviceId)
TRAINYARD_ID(DeviceTypeId)
TRAINYARD_ID(LinkId)
TRAINYARD_ID(TransportId)
TRAINYARD_ID(VertexId)
// Workload
TRAINYARD_ID(ModuleId)
TRAINYARD_ID(LayerTypeId)
TRAINYARD_ID(LayerId)
TRAINYARD_ID(OperatorId)
TRAINYARD_ID(PassId)
// Plan
TRAINYARD_ID(StageId)
TRAINYARD_ID(PipelineId)
// TaskGraph
TRAINYARD_ID(ProcessorId)
TRAINYARD_ID(StreamId)
TRAINYARD_ID(ChannelId)
TRAINYARD_ID(PathId)
TRAINYARD_ID(TaskId)

#undef TRAINYARD_ID

/// The id of position i.
template <class Id>
constexpr Id id_at(std::size_t i) {
  return static_cast<Id>(static_cast<std::int32_t>(i));
}

}  // namespace trainyard
