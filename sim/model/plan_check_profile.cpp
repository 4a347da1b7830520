// What Plan::check asks of layers that are measured and not computed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/model/plan_check.hpp"
#include "sim/model/plan_words.hpp"

namespace trainyard::plan_check {
namespace {

std::string devices_of(const LayerProfile& profile) {
  std::set<std::string> devices;
  for (const MeasuredCurve& curve : profile.curves) devices.insert(curve.device);
  return fmt::format("{}", fmt::join(devices, ", "));
}

/// "" where the device was not measured at all.
std::string tensor_sizes_of(const LayerProfile& profile, const std::string& device) {
  std::set<int> sizes;
  for (const MeasuredCurve& curve : profile.curves)
    if (curve.device == device) sizes.insert(curve.tensor);
  return fmt::format("{}", fmt::join(sizes, ", "));
}

/// Layers of one profile were measured together, so the first that lacks something stands for all.
class StageProfiles {
 public:
  StageProfiles(const PartView& view, std::size_t stage, Problems& problems)
      : view_(view), stage_(view.part.stages[stage]), where_(view.stage_name(stage)), problems_(problems) {}

  void check() {
    for (const auto& chunk : stage_.chunks)
      for (const LayerId layer : chunk) {
        const Module& module = view_.module();
        const auto& profile = module.types[index(module.layers[index(layer)].type)].profile;
        if (profile && !(settings_fit(layer) && curves_exist(layer, *profile))) return;
      }
  }

 private:
  bool refuse(std::string text) {
    problems_.push_back(where_ + ": " + std::move(text));
    return false;
  }

  bool settings_fit(LayerId layer) {
    const Settings settings = settings_of(stage_, layer, view_.workload);
    if (settings.recompute->kind == RecomputeKind::selective)
      return refuse("recompute: selective needs a layer's operators, its profile measures it whole");
    if (axis_size(*settings.layout, AxisKind::context) > 1)
      return refuse("a context axis cuts sequences, the profile measures whole ones");
    return true;
  }

  bool curves_exist(LayerId layer, const LayerProfile& profile) {
    const int tensor = axis_size(*settings_of(stage_, layer, view_.workload).layout, AxisKind::tensor);
    std::set<std::string> types;
    for (const DeviceId device : stage_.devices) types.insert(view_.cluster.type_of(device).name);
    for (const std::string& type : types) {
      if (profile.find(type, tensor)) continue;
      const std::string sizes = tensor_sizes_of(profile, type);
      if (sizes.empty()) return refuse(fmt::format("the workload has no profile of {}; it has {}", type, devices_of(profile)));
      return refuse(fmt::format("layer {} was not measured at tensor {} on {}; measured: {}", view_.layer_name(layer), tensor, type, sizes));
    }
    return true;
  }

  const PartView& view_;
  const Stage& stage_;
  std::string where_;
  Problems& problems_;
};

bool has_profiles(const Module& module) {
  return std::ranges::any_of(module.types, [](const LayerType& type) { return type.profile.has_value(); });
}

bool puts_off_weight_gradients(const PlanPhase& phase) {
  return std::ranges::any_of(phase.lanes, [](const Lane& lane) {
    return std::ranges::any_of(lane.entries, [](const Entry& entry) { return entry.operation.kind == 'W'; });
  });
}

}  // namespace

void check_profiles(const PartView& view, const PlanPhase& phase, Problems& problems) {
  if (!has_profiles(view.module())) return;
  for (const char* schedule : {"zb_h1", "zb_v", "dualpipe"})
    if (view.part.schedule == schedule)
      problems.push_back(fmt::format("{}schedule {} splits the backward pass, the profile measures it whole", view.where, schedule));
  if (puts_off_weight_gradients(phase))
    problems.push_back(fmt::format("{}order: W splits the backward pass, the profile measures it whole", view.where));
  for (std::size_t s = 0; s < view.part.stages.size(); ++s)
    if (!view.part.stages[s].devices.empty()) StageProfiles(view, s, problems).check();
}

}  // namespace trainyard::plan_check
