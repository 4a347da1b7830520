#include "workloads/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

/// Sums the entries [from, to) of a column into the point of one layer.
MeasuredPoint point_of(const ProfileColumn& column, std::size_t from, std::size_t to) {
  MeasuredPoint point;
  point.samples = column.samples;
  for (std::size_t i = from; i < to; ++i) {
    point.forward += column.forward[i];
    point.backward += column.backward[i];
    if (!column.saved.empty()) point.saved += column.saved[i];
  }
  return point;
}

/// A column twice is a mistake; else the point finds its place in the curve.
bool add_point(LayerProfile& profile, const ProfileColumn& column, const MeasuredPoint& point) {
  auto curve = std::ranges::find_if(profile.curves, [&](const MeasuredCurve& c) { return c.device == column.gpu && c.tensor == column.tensor; });
  if (curve == profile.curves.end()) curve = profile.curves.insert(curve, MeasuredCurve{column.gpu, column.tensor, {}, column.rule});
  const auto at = std::ranges::lower_bound(curve->points, point.samples, {}, &MeasuredPoint::samples);
  if (at != curve->points.end() && at->samples == point.samples) return false;
  curve->points.insert(at, point);
  return true;
}

/// Equal layers share a type.
LayerTypeId type_for(Module& module, LayerType type) {
  const auto same = [&](const LayerType& known) { return known.operators == type.operators && known.profile == type.profile; };
  const auto found = std::ranges::find_if(module.types, same);
  const auto at = found - module.types.begin();
  if (found == module.types.end()) module.types.push_back(std::move(type));
  return id_at<LayerTypeId>(static_cast<std::size_t>(at));
}

void refuse_twice(const ProfileColumn& column, Diagnostics& diagnostics) {
  diagnostics.add(column.place, fmt::format("{} at tensor {} with micro-batches of {} stands twice", column.gpu, column.tensor, column.samples));
}

/// Builds the layers of a table that knows their bytes.
class TableModule {
 public:
  TableModule(const ProfileTable& table, DataType precision, Diagnostics& diagnostics)
      : table_(table), precision_(precision), diagnostics_(diagnostics) {}

  Module build() {
    module_.name = table_.name;
    module_.family = "measured";
    for (std::size_t i = 0; i < table_.layers.size(); ++i) names_.emplace(table_.layers[i].name, i);
    for (std::size_t i = 0; i < table_.layers.size(); ++i) add_layer(i);
    return std::move(module_);
  }

 private:
  void add_layer(std::size_t i) {
    const ProfileLayer& row = table_.layers[i];
    if (names_.at(row.name) != i) diagnostics_.add(row.place, fmt::format("layer {:?} stands twice", row.name));
    LayerProfile profile;
    profile.output = known(row, "output", row.output);
    profile.forward_flops = row.forward_flops;
    profile.backward_flops = row.backward_flops;
    for (const ProfileColumn& column : table_.columns) add_column(profile, row, column, i);
    module_.layers.push_back({row.name, type_for(module_, {row.name, {}, std::move(profile)}), inputs_of(row, i), {}});
  }

  Bytes known(const ProfileLayer& row, const char* key, const std::optional<Bytes>& value) {
    if (!value) diagnostics_.add(row.place, fmt::format("layer {:?} has no `{}`, which a profile without `model` must give", row.name, key));
    return value.value_or(Bytes(0));
  }

  void add_column(LayerProfile& profile, const ProfileLayer& row, const ProfileColumn& column, std::size_t i) {
    MeasuredPoint point = point_of(column, i, i + 1);
    if (column.tensor > 1 && (column.saved.empty() || column.parameters.empty())) {
      if (i == 0)
        diagnostics_.add(column.place, fmt::format("tensor {}: `saved` and `parameters` of a device are missing", column.tensor));
      return;
    }
    if (column.saved.empty()) point.saved = known(row, "saved", row.saved) * column.samples;
    if (!add_point(profile, column, point) && i == 0) refuse_twice(column, diagnostics_);
    const Bytes weights = column.parameters.empty() ? known(row, "parameters", row.parameters) : column.parameters[i];
    const double count = weights / element_size(precision_);
    const auto [before, is_new] = profile.parameters.emplace(column.tensor, count);
    if (!is_new && before->second != count)
      diagnostics_.add(column.place, fmt::format("layer {:?} has {:.0f} parameters at tensor {} here and {:.0f} elsewhere", row.name, count,
                                                 column.tensor, before->second));
  }

  std::vector<LayerId> inputs_of(const ProfileLayer& row, std::size_t i) {
    std::vector<LayerId> inputs;
    for (const std::string& name : row.inputs) {
      const auto found = names_.find(name);
      if (found != names_.end() && found->second < i) {
        inputs.push_back(id_at<LayerId>(found->second));
        continue;
      }
      std::vector<std::string> before;
      for (std::size_t l = 0; l < i; ++l) before.push_back(table_.layers[l].name);
      diagnostics_.add(row.place, fmt::format("layer {:?} reads {:?}, which is no layer before it", row.name, name));
    }
    return inputs;
  }

  const ProfileTable& table_;
  DataType precision_;
  Diagnostics& diagnostics_;
  Module module_;
  std::map<std::string, std::size_t> names_;
};

}  // namespace

Module measured_module(const ProfileTable& table, DataType precision, Diagnostics& diagnostics) {
  return TableModule(table, precision, diagnostics).build();
}

void measure_model(Module& module, const ProfileTable& table, Diagnostics& diagnostics) {
  const std::size_t layers = module.layers.size();
  std::vector<LayerProfile> profiles(layers);
  for (const ProfileColumn& column : table.columns) {
    const std::size_t entries = table.equal_layers ? layers : column.forward.size();
    if (entries != layers && entries != layers + 1) {
      diagnostics.add(column.place, fmt::format("the profile has {} layers, the model {} with embedding and head", entries, layers));
      continue;
    }
    for (std::size_t i = 0; i < layers; ++i) {
      const bool last = i + 1 == layers;
      const std::size_t from = table.equal_layers ? (i == 0 ? 0 : last ? 2 : 1) : i;
      const std::size_t end = last ? column.forward.size() : from + 1;
      if (!add_point(profiles[i], column, point_of(column, from, end)) && i == 0) refuse_twice(column, diagnostics);
    }
  }
  std::vector<LayerType> types;
  types.swap(module.types);
  for (std::size_t i = 0; i < layers; ++i) {
    LayerType type = types[index(module.layers[i].type)];
    type.profile = std::move(profiles[i]);
    module.layers[i].type = type_for(module, std::move(type));
  }
}

}  // namespace trainyard
