#include "sim/lowering/cell_memory.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace trainyard {
namespace {

/// How one member cuts each layer of the stage.
std::vector<LayerCut> cuts_on(const StageRole& role, const Cell& cell, std::size_t member) {
  std::vector<LayerCut> cuts;
  for (std::size_t i = 0; i < role.layers.size(); ++i) {
    cuts.push_back(role.cut_of(i, cell, member));
    cuts.back().part = role.cut_on(member).part;
  }
  return cuts;
}

/// Of one layer; of a head beside the embedding whose table it shares what it adds to that.
StaticMemory states_of_layer(const Emission& emission, const StageRole& role, const LayerRun& run, LayerId layer,
                             const LayerCut& cut) {
  const Module& module = *emission.placement.module;
  const int holders =
      role.zero == 3 ? state_parts(role.shards, cut, emission.workload.software) : run.holders(emission.placement);
  const auto states = [&](std::span<const LayerId> layers) {
    return static_memory(module, layers, cut, emission.workload, holders, role.zero,
                         run.expert_holders(emission.placement));
  };
  const std::vector<LayerId>& tied = module.layers[index(layer)].tied_to;
  if (tied.empty() || std::ranges::find(role.layers, tied.front()) == role.layers.end())
    return states(std::span(&layer, 1));
  const std::array both{tied.front(), layer};
  StaticMemory added = states(both);
  const StaticMemory other = states(std::span(both).first(1));
  added.weights -= other.weights;
  added.gradients -= other.gradients;
  added.optimizer -= other.optimizer;
  return added;
}

/// Layers with different holders have optimizer states of different shares, and members different experts.
StaticMemory states_of(const Emission& emission, int cell, const std::vector<LayerCut>& cuts, Bytes& buffers) {
  const StageRole& role = emission.placement.role(cell);
  const Module& module = *emission.placement.module;
  StaticMemory held;
  for (const LayerRun& run : emission.traffic.runs) {
    if (!run.held_by(cell)) continue;
    for (const LayerId& layer : run.layers) {
      const LayerCut& cut = cuts[std::size_t(std::ranges::find(role.layers, layer) - role.layers.begin())];
      const StaticMemory part = states_of_layer(emission, role, run, layer, cut);
      const LayerHome home = role.home(layer);
      if (home.weights.place == Place::device) held.weights += part.weights;
      if (home.gradients.place == Place::device) held.gradients += part.gradients;
      if (home.optimizer.place == Place::device) held.optimizer += part.optimizer;
      held.buffers = std::max(held.buffers, part.buffers);
    }
  }
  if (role.stays_whole(emission.workload.software))
    keep_whole(held, module, role.layers, cuts.front(), emission.workload);
  if (role.zero < 3) held.buffers += flat_gradients(module, role.layers, cuts.front(), emission.workload);
  buffers = std::max(buffers, held.buffers);
  held.buffers = Bytes(0);
  return held;
}

void measure_chunks(const Emission& emission, const StageRole& role, const std::vector<LayerCut>& cuts,
                    const DeviceType& type, CellMemory& memory) {
  const Module& module = *emission.placement.module;
  memory.passes.emplace_back();
  memory.layers.emplace_back();
  for (std::size_t chunk = 0; chunk < role.chunks.size(); ++chunk) {
    const std::vector<Recompute> recompute = role.recompute_of(int(chunk));
    const std::span<const LayerCut> each =
        std::span(cuts).subspan(role.first_of(int(chunk)), role.chunks[chunk].size());
    memory.passes.back().push_back(
        activation_memory(module, role.chunks[chunk], each.front(), type, emission.workload, recompute, each));
    for (const LayerMemory& layer :
         layer_memory(module, role.chunks[chunk], recompute, each.front(), type, emission.workload, each))
      memory.layers.back().push_back(layer);
  }
}

std::size_t member_of_class(const Emission& emission, int cell, int device_class) {
  const auto& members = emission.placement.cells[cell].members;
  const auto found = std::ranges::find(members, device_class,
                                       [&](DeviceId id) { return emission.symmetry.devices.class_of[index(id)]; });
  return found == members.end() ? 0 : std::size_t(found - members.begin());
}

}  // namespace

LayerCut cut_on_class(const Emission& emission, int cell, int device_class) {
  return emission.placement.role(cell).cut_on(member_of_class(emission, cell, device_class));
}

CellMemory cell_memory(const Emission& emission, int cell, const std::vector<int>& device_classes) {
  return cell_memory(emission, cell, device_classes, emission.placement.role(cell));
}

CellMemory cell_memory(const Emission& emission, int cell, const std::vector<int>& device_classes,
                       const StageRole& role) {
  CellMemory memory;
  for (const int c : device_classes) {
    const std::size_t member = member_of_class(emission, cell, c);
    const std::vector<LayerCut> cuts = cuts_on(role, emission.placement.cells[cell], member);
    measure_chunks(emission, role, cuts, emission.cluster.type_of(emission.placement.cells[cell].members[member]),
                   memory);
    memory.states.push_back(states_of(emission, cell, cuts, memory.buffers));
  }
  return memory;
}

}  // namespace trainyard
