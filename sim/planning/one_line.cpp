// A Plan in one line, for tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard {
namespace {

constexpr std::string_view kBetween = " · ";
/// That a line says beside the usual one.
constexpr std::size_t kMostLayouts = 2;

/// Axes by the letters of the field.
std::string axis_text(AxisKind kind, int size) {
  switch (kind) {
    case AxisKind::data:
      return fmt::format("DP{}", size);
    case AxisKind::shard:
      return fmt::format("FSDP{}", size);
    case AxisKind::context:
      return fmt::format("CP{}", size);
    case AxisKind::tensor:
      return fmt::format("TP{}", size);
    case AxisKind::items:
      return fmt::format("EP{}", size);
    default:
      return fmt::format("{}{}", word(kind), size);
  }
}

/// What a line says of one stage.
struct StageView {
  Layout layout;     ///< of most of its layers
  std::string type;  ///< "A100"
  int layers = 0;    ///< numbered ones
  Settings written;
  std::map<std::string, int> otherwise;  ///< layers that do not have `layout`, by theirs
  int items = 1;  ///< size of an `expert` axis of its rules
};

class Line {
 public:
  Line(const Part& part, const Cluster& cluster, const Workload& workload) : part_(part), cluster_(cluster) {
    const Module& module = workload.modules[index(workload.passes[index(part.pass)].module)];
    for (const Stage& stage : part.stages) stages_.push_back(view(stage, module, workload));
  }

  std::string text() const {
    if (stages_.empty()) return "no stages";
    std::vector<std::string> pieces = is_even() ? even_pieces() : uneven_pieces();
    add_otherwise(pieces);
    add_common(pieces);
    return fmt::format("{}", fmt::join(pieces, kBetween));
  }

 private:
  StageView view(const Stage& stage, const Module& module, const Workload& workload) const {
    StageView result;
    const std::vector<bool> counted = module.counted_layers();
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk)
        if (counted[index(layer)]) ++result.layers;
    const LayerId usual = usual_layer(stage, workload);
    result.layout = *settings_of(stage, usual, workload).layout;
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk)
        if (const Layout own = *settings_of(stage, layer, workload).layout; own != result.layout) ++result.otherwise[layout_text(own, false)];
    result.written = written_settings(stage, usual);
    for (const Rule& rule : stage.rules)
      if (rule.settings.layout)
        result.items = std::max(result.items, axis_size(*rule.settings.layout, AxisKind::items));
    std::set<std::string> types;
    for (const DeviceId device : stage.devices) types.insert(short_type(device));
    result.type = fmt::format("{}", fmt::join(types, "+"));
    return result;
  }

  /// The first of those that have the layout of most.
  static LayerId usual_layer(const Stage& stage, const Workload& workload) {
    std::vector<std::tuple<Layout, LayerId, int>> counted;
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk) {
        const Layout own = *settings_of(stage, layer, workload).layout;
        const auto known = std::ranges::find(counted, own, [](const auto& entry) { return std::get<0>(entry); });
        if (known == counted.end())
          counted.emplace_back(own, layer, 1);
        else
          ++std::get<2>(*known);
      }
    const auto most = std::ranges::max_element(counted, {}, [](const auto& entry) { return std::get<2>(entry); });
    return most == counted.end() ? LayerId{} : std::get<1>(*most);
  }

  void add_otherwise(std::vector<std::string>& pieces) const {
    std::map<std::string, int> layers;
    int all = 0;
    for (const StageView& s : stages_)
      for (const auto& [layout, count] : s.otherwise) {
        layers[layout] += count;
        all += count;
      }
    if (layers.size() > kMostLayouts) return pieces.push_back(fmt::format("{} layers cut otherwise", all));
    for (const auto& [layout, count] : layers)
      pieces.push_back(fmt::format("{} {} {}", count, count == 1 ? "layer" : "layers", layout.empty() ? "on 1 GPU" : layout));
  }

  std::string short_type(DeviceId device) const {
    const std::string& name = cluster_.type_of(device).name;
    return name.substr(0, name.find('-'));
  }

  const StageView& stage(StageId id) const { return stages_[index(id)]; }

  /// One pipeline whose stages have the same layout on the same type of device.
  bool is_even() const {
    if (part_.pipelines.size() != 1) return false;
    const StageView& first = stages_.front();
    return std::ranges::all_of(stages_,
                               [&](const StageView& s) { return s.layout == first.layout && s.type == first.type; });
  }

  std::vector<std::string> even_pieces() const {
    const Layout& layout = stages_.front().layout;
    std::vector<std::string> pieces;
    const auto add_axis = [&](AxisKind kind) {
      if (axis_size(layout, kind) > 1) pieces.push_back(axis_text(kind, axis_size(layout, kind)));
    };
    add_axis(AxisKind::tensor);
    add_axis(AxisKind::context);
    if (stages_.front().items > 1) pieces.push_back(axis_text(AxisKind::items, stages_.front().items));
    if (stages_.size() > 1) pieces.push_back(depth_text());
    for (const AxisKind kind :
         {AxisKind::data, AxisKind::shard, AxisKind::rows, AxisKind::columns, AxisKind::inner, AxisKind::variant})
      add_axis(kind);
    if (pieces.empty()) pieces.emplace_back("1 GPU");
    return pieces;
  }

  /// `PP4`, `PP4 [10,12,12,6]` where the layers are uneven, `PP4x2` with two chunks a stage.
  std::string depth_text() const {
    std::string text = fmt::format("PP{}", stages_.size());
    const std::size_t chunks = part_.stages.front().chunks.size();
    if (chunks > 1) text += fmt::format("x{}", chunks);
    std::vector<int> layers;
    for (const StageView& s : stages_) layers.push_back(s.layers);
    if (std::ranges::any_of(layers, [&](int count) { return count != layers.front(); }))
      text += fmt::format(" [{}]", fmt::join(layers, ","));
    return text;
  }

  std::vector<std::string> uneven_pieces() const {
    std::set<int> data;
    for (const StageView& s : stages_) data.insert(axis_size(s.layout, AxisKind::data));
    const bool common = data.size() == 1;
    std::vector<std::string> pieces;
    if (common && *data.begin() > 1) pieces.push_back(axis_text(AxisKind::data, *data.begin()));
    pieces.push_back(pipelines_text(common));
    return pieces;
  }

  /// `[TP8 A100 x 20 layers → TP8 V100 x 12]`, pipelines joined by `+`, equal ones counted.
  std::string pipelines_text(bool without_data) const {
    std::vector<std::pair<std::string, int>> pipelines;
    for (const Pipeline& pipeline : part_.pipelines) {
      std::string text = pipeline_text(pipeline, without_data);
      if (!pipelines.empty() && pipelines.back().first == text)
        ++pipelines.back().second;
      else
        pipelines.emplace_back(std::move(text), 1);
    }
    std::vector<std::string> pieces;
    for (const auto& [text, count] : pipelines)
      pieces.push_back(count == 1 ? text : fmt::format("{} x {}", count, text));
    if (pieces.empty()) return fmt::format("{} stages", stages_.size());
    return fmt::format("{}", fmt::join(pieces, " + "));
  }

  std::string pipeline_text(const Pipeline& pipeline, bool without_data) const {
    std::vector<std::string> stages;
    for (const StageId id : pipeline.stages) {
      std::string text = layout_text(stage(id).layout, without_data);
      text += (text.empty() ? "" : " ") + stage(id).type;
      stages.push_back(fmt::format("{} x {}{}", text, stage(id).layers, stages.empty() ? " layers" : ""));
    }
    return fmt::format("[{}]", fmt::join(stages, " → "));
  }

  static std::string layout_text(const Layout& layout, bool without_data) {
    std::vector<std::string> axes;
    for (const Axis& axis : layout)
      if (axis.size() > 1 && !(without_data && axis.kind == AxisKind::data))
        axes.push_back(axis_text(axis.kind, axis.size()));
    return fmt::format("{}", fmt::join(axes, " "));
  }

  /// Least and most samples that a data rank takes at once.
  std::pair<double, double> micro_batch() const {
    double least = 0, most = 0;
    for (const Pipeline& pipeline : part_.pipelines)
      for (const StageId id : pipeline.stages) {
        const Layout& layout = stage(id).layout;
        const double ranks = axis_size(layout, AxisKind::data) * axis_size(layout, AxisKind::shard);
        const double samples = pipeline.batch / pipeline.micro_batches / ranks;
        least = most == 0 ? samples : std::min(least, samples);
        most = std::max(most, samples);
      }
    return {least, most};
  }

  void add_common(std::vector<std::string>& pieces) const {
    if (const auto [least, most] = micro_batch(); most > 0)
      pieces.push_back(least == most ? fmt::format("micro-batch {:.4g}", most)
                                     : fmt::format("micro-batch {:.4g}-{:.4g}", least, most));
    const bool deep = std::ranges::any_of(part_.pipelines, [](const Pipeline& p) { return p.stages.size() > 1; });
    if (deep) pieces.push_back(part_.schedule);
    const Settings& first = stages_.front().written;
    if (first.zero && *first.zero > 0) pieces.push_back(fmt::format("ZeRO-{}", *first.zero));
    if (first.slices && *first.slices != Slices{}) pieces.push_back(fmt::format("slices {} x {}", first.slices->rows, first.slices->columns));
    if (const auto text = recompute_text()) pieces.push_back(*text);
    if (std::ranges::any_of(first.home, [](const auto& entry) { return entry.second.place != Place::device; }))
      pieces.emplace_back("offload");
  }

  std::optional<std::string> recompute_text() const {
    std::set<std::string> kinds;
    for (const Stage& stage : part_.stages)
      for (const auto& chunk : stage.chunks)
        for (const LayerId layer : chunk)
          kinds.insert(to_text(written_settings(stage, layer).recompute.value_or(Recompute{})));
    if (kinds.size() > 1) return fmt::format("recompute {}", fmt::join(kinds, "/"));
    if (kinds.empty() || *kinds.begin() == "none") return std::nullopt;
    return "recompute " + *kinds.begin();
  }

  const Part& part_;
  const Cluster& cluster_;
  std::vector<StageView> stages_;
};

}  // namespace

std::string one_line(const Plan& plan, const Cluster& cluster, const Workload& workload) {
  std::vector<std::string> parts;
  for (const PlanPhase& phase : plan.phases)
    for (const Part& part : phase.parts) {
      const std::string text = Line(part, cluster, workload).text();
      parts.push_back(phase.parts.size() > 1 ? workload.passes[index(part.pass)].name + ": " + text : text);
    }
  return fmt::format("{}", fmt::join(parts, " | "));
}

}  // namespace trainyard
