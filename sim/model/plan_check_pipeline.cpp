// What Plan::check asks of pipelines: every layer once and in order, whole samples everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/model/plan_check.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/model/whole_shares.hpp"

namespace trainyard::plan_check {
namespace {

bool whole(double value) { return std::abs(value - std::round(value)) <= 1e-9 * std::max(1.0, std::abs(value)); }

/// Every layer of the pass exactly once.
bool check_coverage(const PartView& view, std::size_t p, Problems& problems) {
  const std::size_t before = problems.size();
  std::vector<int> holder(view.module().layers.size(), -1);
  for (const StageId id : view.part.pipelines[p].stages)
    for (const auto& chunk : view.part.stages[index(id)].chunks)
      for (const LayerId layer : chunk) {
        int& first = holder[index(layer)];
        if (first >= 0)
          problems.push_back(fmt::format("{}: layer {} stands twice, in {} and in {}", view.pipeline_name(p),
                                         view.layer_name(layer), view.stage_name(static_cast<std::size_t>(first)),
                                         view.stage_name(index(id))));
        first = static_cast<int>(index(id));
      }
  std::vector<LayerId> missing;
  for (std::size_t l = 0; l < holder.size(); ++l)
    if (holder[l] < 0) missing.push_back(id_at<LayerId>(l));
  if (!missing.empty())
    problems.push_back(fmt::format("{}: {} in no stage", view.pipeline_name(p), layer_list(view.module(), missing)));
  return problems.size() == before;
}

/// Chunks are runs of layers; with one chunk a stage, stages follow each other in order of the layers.
void check_order(const PartView& view, std::size_t p, Problems& problems) {
  std::vector<LayerId> visited;
  bool one_chunk_each = true;
  const auto report = [&](LayerId later, LayerId earlier) {
    problems.push_back(fmt::format("{}: layer {} comes after layer {}", view.pipeline_name(p), view.layer_name(earlier),
                                   view.layer_name(later)));
  };
  for (const StageId id : view.part.pipelines[p].stages) {
    const Stage& stage = view.part.stages[index(id)];
    one_chunk_each = one_chunk_each && stage.chunks.size() == 1;
    std::vector<LayerId> held;
    for (const auto& chunk : stage.chunks) held.insert(held.end(), chunk.begin(), chunk.end());
    for (std::size_t i = 1; i < held.size(); ++i)
      if (held[i] < held[i - 1]) return report(held[i - 1], held[i]);
    visited.insert(visited.end(), held.begin(), held.end());
  }
  for (std::size_t i = 1; one_chunk_each && i < visited.size(); ++i)
    if (visited[i] < visited[i - 1]) return report(visited[i - 1], visited[i]);
}

/// What cuts a data rank's samples further: slices, and the rows and the inner side of a grid, whose attention works on whole samples.
int parts_of(const Settings& settings) {
  return settings.slices->rows * axis_size(*settings.layout, AxisKind::rows) * axis_size(*settings.layout, AxisKind::inner);
}

/// An encoder's data ranks may share the images of a sample: each takes whole ones.
double pieces_of_sample(const PartView& view, LayerId layer) {
  const Module& module = view.workload.modules[index(view.workload.passes[index(view.part.pass)].module)];
  const LayerSamples& samples = module.types[index(module.layers[index(layer)].type)].samples;
  return samples.width > 0 && view.workload.data.batch.empty() ? std::max(1.0, samples.sequences) : 1.0;
}

void check_stage_samples(const PartView& view, std::size_t p, std::size_t s, Problems& problems) {
  const Pipeline& pipeline = view.part.pipelines[p];
  const double samples = pipeline.batch / pipeline.micro_batches;
  std::set<int> reported, cut_finer;
  for (const auto& chunk : view.part.stages[s].chunks)
    for (const LayerId layer : chunk) {
      const Settings settings = settings_of(view.part.stages[s], layer, view.workload);
      const Layout& layout = *settings.layout;
      const auto unequal = std::ranges::find_if(layout, [](const Axis& axis) { return axis.kind == AxisKind::data && are_unequal(axis.shares); });
      if (unequal != layout.end()) {
        if (whole(samples) && std::ranges::count(whole_shares(unequal->shares, int(std::round(samples))), 0) == 0) continue;
        problems.push_back(fmt::format("{}, {}: a micro-batch of {} samples in shares {} leaves a data rank without a whole one",
                                       view.pipeline_name(p), view.stage_name(s), samples, to_text(layout)));
        return;
      }
      const int members = axis_size(layout, AxisKind::data) * axis_size(layout, AxisKind::shard);
      if (!whole(samples * pieces_of_sample(view, layer) / members) && reported.insert(members).second)
        problems.push_back(fmt::format("{}, {}: a micro-batch of {} samples does not divide over {} data ranks",
                                       view.pipeline_name(p), view.stage_name(s), samples, members));
      const int parts = parts_of(settings);
      if (whole(samples / members) && !whole(samples / members / parts) && cut_finer.insert(parts).second)
        problems.push_back(fmt::format("{}, {}: {} samples of a data rank do not divide over {} {}", view.pipeline_name(p), view.stage_name(s),
                                       samples / members, parts, *settings.slices == Slices{} ? "parts of a grid (rows x inner)" : "slices"));
    }
}

/// Samples that differ are cut into micro-batches by their lengths, so that their number need not divide.
void check_listed(const PartView& view, std::size_t p, Problems& problems) {
  const Pipeline& pipeline = view.part.pipelines[p];
  const auto add = [&](const std::string& text) { problems.push_back(view.pipeline_name(p) + ": " + text); };
  if (double(pipeline.micro_batches) > pipeline.batch)
    add(fmt::format("{} samples for {} micro-batches", pipeline.batch, pipeline.micro_batches));
  for (const int sample : pipeline.samples)
    if (double(sample) >= view.workload.global_batch) return add(fmt::format("sample {}, but the batch has {}", sample, view.workload.global_batch));
}

void check_batch(const PartView& view, std::size_t p, Problems& problems) {
  const Pipeline& pipeline = view.part.pipelines[p];
  const auto add = [&](const std::string& text) { problems.push_back(view.pipeline_name(p) + ": " + text); };
  if (pipeline.micro_batches < 1) return add(fmt::format("micro_batches {}: at least 1", pipeline.micro_batches));
  if (view.part.batching) return;
  if (!(pipeline.batch > 0) || !std::isfinite(pipeline.batch) || !whole(pipeline.batch))
    return add(fmt::format("batch {}: a whole number of samples, at least 1", pipeline.batch));
  if (!pipeline.samples.empty() && static_cast<double>(pipeline.samples.size()) != pipeline.batch)
    add(fmt::format("batch {}, but {} samples are listed", pipeline.batch, pipeline.samples.size()));
  if (!pipeline.samples.empty() && !view.workload.data.batch.empty()) return check_listed(view, p, problems);
  if (!whole(pipeline.batch / pipeline.micro_batches))
    return add(fmt::format("batch {} does not divide into {} micro-batches", pipeline.batch, pipeline.micro_batches));
  for (const StageId stage : pipeline.stages) check_stage_samples(view, p, index(stage), problems);
}

void check_batch_sum(const PartView& view, Problems& problems) {
  if (view.part.batching || view.part.pipelines.empty()) return;
  double sum = 0;
  for (const Pipeline& pipeline : view.part.pipelines) sum += pipeline.batch;
  std::set<int> listed;
  for (const Pipeline& pipeline : view.part.pipelines)
    for (const int sample : pipeline.samples)
      if (!listed.insert(sample).second) problems.push_back(fmt::format("{}sample {} is listed twice", view.where, sample));
  if (sum != view.workload.global_batch)
    problems.push_back(fmt::format("{}the batches of the pipelines sum to {}, the global batch is {}", view.where, sum,
                                   view.workload.global_batch));
}

/// A device holds a layer once, however many pipelines pass through it; the first breach of each two stages is
/// reported.
void check_holders(const PartView& view, Problems& problems) {
  std::map<DeviceId, std::vector<std::size_t>> stages_on;
  for (std::size_t s = 0; s < view.part.stages.size(); ++s)
    for (const DeviceId device : view.part.stages[s].devices) stages_on[device].push_back(s);
  std::set<std::pair<std::size_t, std::size_t>> reported;
  for (const auto& [device, stages] : stages_on) {
    if (stages.size() < 2) continue;
    std::map<LayerId, std::size_t> holder;
    for (const std::size_t s : stages)
      for (const auto& chunk : view.part.stages[s].chunks)
        for (const LayerId layer : chunk) {
          const auto [known, is_new] = holder.emplace(layer, s);
          if (!is_new && known->second != s && reported.emplace(known->second, s).second)
            problems.push_back(fmt::format("device {} holds layer {} twice, in {} and in {}",
                                           view.cluster.devices[index(device)].name, view.layer_name(layer),
                                           view.stage_name(known->second), view.stage_name(s)));
        }
  }
}

void check_unused(const PartView& view, Problems& problems) {
  if (view.part.pipelines.empty()) return;
  std::set<StageId> used;
  for (const Pipeline& pipeline : view.part.pipelines) used.insert(pipeline.stages.begin(), pipeline.stages.end());
  for (std::size_t s = 0; s < view.part.stages.size(); ++s)
    if (!used.contains(id_at<StageId>(s))) problems.push_back(fmt::format("{}: in no pipeline", view.stage_name(s)));
}

}  // namespace

void check_pipelines(const PartView& view, Problems& problems) {
  for (std::size_t p = 0; p < view.part.pipelines.size(); ++p) {
    if (check_coverage(view, p, problems)) check_order(view, p, problems);
    check_batch(view, p, problems);
  }
  check_batch_sum(view, problems);
  check_holders(view, problems);
  check_unused(view, problems);
}

}  // namespace trainyard::plan_check
