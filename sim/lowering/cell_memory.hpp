// What the devices of a cell hold.
#pragma once

#include <vector>

#include "sim/cost/memory.hpp"
#include "sim/lowering/emission.hpp"

namespace trainyard {

/// By device class of the cell, in the order of Resources::cell_devices.
struct CellMemory {
  std::vector<std::vector<LayerMemory>> layers;           ///< [device][layer of the stage], one micro-batch
  std::vector<std::vector<ActivationMemory>> passes;      ///< [device][chunk], one micro-batch
  std::vector<StaticMemory> states;                       ///< [device] whose home is the device; without buffers
  Bytes buffers{};                                        ///< most of any layer
};

/// The cell's cut on a device class: that of its members of this class, which have equal parts.
[[nodiscard]] LayerCut cut_on_class(const Emission& emission, int cell, int device_class);

[[nodiscard]] CellMemory cell_memory(const Emission& emission, int cell, const std::vector<int>& device_classes);
/// With the cell's role as it is for one micro-batch.
[[nodiscard]] CellMemory cell_memory(const Emission& emission, int cell, const std::vector<int>& device_classes, const StageRole& role);

}  // namespace trainyard
