#include "sim/planning/stage_plan.hpp"

namespace trainyard {
namespace {

Stage stage_of(const StageChoice& choice, std::optional<int> zero) {
  Stage stage;
  stage.devices = choice.devices;
  stage.chunks.emplace_back();
  for (int layer = choice.first; layer < choice.last; ++layer) stage.chunks[0].push_back(id_at<LayerId>(layer));
  Rule rule;
  const int data = int(choice.devices.size()) / choice.tensor;
  rule.settings.layout = Layout{};
  if (data > 1 || choice.tensor == 1) rule.settings.layout->push_back(equal_axis(AxisKind::data, data));
  if (choice.tensor > 1) rule.settings.layout->push_back(equal_axis(AxisKind::tensor, choice.tensor));
  rule.settings.recompute = choice.recompute;
  rule.settings.zero = zero;
  stage.rules = {rule};
  return stage;
}

}  // namespace

Plan plan_of(const std::vector<PipelineChoice>& pipelines, std::optional<int> zero, const std::string& schedule) {
  Part part;
  part.schedule = schedule;
  for (const PipelineChoice& choice : pipelines) {
    Pipeline pipeline;
    pipeline.batch = choice.batch;
    pipeline.micro_batches = choice.micro_batches;
    for (const StageChoice& stage : choice.stages) {
      pipeline.stages.push_back(id_at<StageId>(part.stages.size()));
      part.stages.push_back(stage_of(stage, zero));
    }
    part.pipelines.push_back(pipeline);
  }
  Plan plan;
  plan.phases.push_back({{}, {part}, {}});
  return plan;
}

}  // namespace trainyard
