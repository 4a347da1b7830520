// What the lowering does not know of samples of different length, and of layers that see samples in their own way: each
// line is one.
#include <set>

#include "sim/model/convolution.hpp"
#include "sim/model/plan_check.hpp"
#include "sim/model/plan_questions.hpp"

namespace trainyard::plan_check {
namespace {

bool lengths_vary(const Question& q) { return !q.workload.data.batch.empty(); }

int data_ranks(const Settings& settings) {
  return axis_size(*settings.layout, AxisKind::data) * axis_size(*settings.layout, AxisKind::shard);
}

bool lists_samples_for_ranks(const Question& q) {
  return any_part(q, [&](const Part& part) {
    return std::ranges::any_of(part.pipelines, [&](const Pipeline& pipeline) {
      return !pipeline.samples.empty() && std::ranges::any_of(pipeline.stages, [&](StageId id) {
        const Stage& stage = part.stages[index(id)];
        return std::ranges::any_of(
            layers_of(stage), [&](LayerId layer) { return data_ranks(settings_of(stage, layer, q.workload)) > 1; });
      });
    });
  });
}

bool replication_differs(const Question& q) {
  return any_part(q, [&](const Part& part) {
    return std::ranges::any_of(part.pipelines, [&](const Pipeline& pipeline) {
      std::set<int> ranks;
      for (const StageId id : pipeline.stages)
        for (const LayerId layer : layers_of(part.stages[index(id)]))
          ranks.insert(data_ranks(settings_of(part.stages[index(id)], layer, q.workload)));
      return ranks.size() > 1;
    });
  });
}

bool layouts_differ_inside(const Question& q) {
  return differs_inside_stage(q, [](const Settings& s) { return *s.layout; });
}

bool activations_leave(const Question& q) {
  const bool orders = std::ranges::any_of(q.plan.phases, [](const PlanPhase& phase) {
    return std::ranges::any_of(phase.lanes, [](const Lane& lane) { return lane.stream != "compute"; });
  });
  return orders || any_layer_settings(q, [](const Settings& s) { return s.home.at(State::activations) != Home{}; });
}

/// Any layer of such a type with such settings.
template <class OfType, class OfSettings>
bool any_of_type_with(const Question& q, OfType of_type, OfSettings of_settings) {
  return any_stage(q, [&](const Stage& stage) {
    return std::ranges::any_of(layers_of(stage),
                               [&](LayerId layer) { return is_of_type(q, layer, of_type) && of_settings(q.settings_at(stage, layer)); });
  });
}

bool convolves(const LayerType& type) { return has_convolution(type); }

/// Their rows would overlap at the cut's edges, and channels would be summed over the members.
bool cuts_convolutions(const Question& q) {
  return any_of_type_with(q, convolves, [](const Settings& s) {
    return std::ranges::any_of(*s.layout, [](const Axis& axis) { return axis.kind != AxisKind::data && axis.kind != AxisKind::shard && axis.size() > 1; });
  });
}

bool slices_convolutions(const Question& q) {
  return any_of_type_with(q, convolves, [](const Settings& s) { return s.slices->rows > 1 || s.slices->columns > 1 || *s.redundant_forward; });
}

bool seen_otherwise(const LayerType& type) { return !has_convolution(type) && (type.samples.width > 0 || type.samples.sequences != 1); }

bool cuts_encoder_by_context(const Question& q) {
  return any_of_type_with(q, seen_otherwise, [](const Settings& s) { return axis_size(*s.layout, AxisKind::context) > 1; });
}

constexpr Construct kOfSamples[] = {
    {"`samples` of a pipeline with more than one data rank", lists_samples_for_ranks},
    {"samples of different length with layouts that differ inside a stage",
     [](const Question& q) { return lengths_vary(q) && layouts_differ_inside(q); }},
    {"samples of different length with data axes of different size in a pipeline",
     [](const Question& q) { return lengths_vary(q) && replication_differs(q); }},
    {"samples of different length with activations that leave the device",
     [](const Question& q) { return lengths_vary(q) && activations_leave(q); }},
    {"samples of different length with `redundant_forward`",
     [](const Question& q) {
       return lengths_vary(q) && any_layer_settings(q, [](const Settings& s) { return *s.redundant_forward; });
     }},
    {"a `context` axis over an encoder", cuts_encoder_by_context},
    {"an axis other than `data` and `shard` over convolutions", cuts_convolutions},
    {"`slices` or `redundant_forward` with convolutions", slices_convolutions},
};

}  // namespace

std::span<const Construct> constructs_of_samples() { return kOfSamples; }

}  // namespace trainyard::plan_check
