// A profile as a table, whatever file it came from, and the module that it becomes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// A row: what holds of a layer on every device. Bytes of one sample, whole; absent where the file does not say.
struct ProfileLayer {
  std::string name;
  std::optional<Bytes> parameters, output, saved;
  std::vector<std::string> inputs;      ///< names; empty: the layer before
  std::optional<Flops> forward_flops, backward_flops;
  SourcePlace place;
};

/// A column: all layers on one type of device at one tensor size and micro-batch, in order. Bytes are of that device; empty lists
/// where the file does not say.
struct ProfileColumn {
  std::string gpu;                      ///< key of the GPU catalogue
  int tensor = 1;
  double samples = 1;                   ///< of the micro-batch
  std::vector<Seconds> forward, backward;
  std::vector<Bytes> saved, parameters;
  std::string rule;                     ///< how the times were made where not measured; "": measured
  SourcePlace place;
};

struct ProfileTable {
  std::string name;
  std::optional<DataType> precision;    ///< absent: the file does not say
  std::optional<double> sequence_length;
  std::vector<ProfileLayer> layers;     ///< empty: times of a model's layers
  bool equal_layers = false;            ///< of a model: three entries a column, of the embedding, of each layer, of the head
  std::vector<ProfileColumn> columns;
};

/// The layers of the table, which knows everything of them. Bytes become parameters in `precision`. Mistakes go to `diagnostics`.
[[nodiscard]] Module measured_module(const ProfileTable& table, DataType precision, Diagnostics& diagnostics);

/// The table's times on the layers of a model: the first column entry is the embedding's, then layer by layer; what stands behind
/// the last layer (one or two entries: a final norm, the head) is the head's. Any other number is a mistake, but for `equal_layers`.
void measure_model(Module& module, const ProfileTable& table, Diagnostics& diagnostics);

}  // namespace trainyard
