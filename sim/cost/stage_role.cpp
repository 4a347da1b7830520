// What a role says of its layers, its cell's members and its micro-batches.
#include <algorithm>
#include <numeric>

#include "sim/cost/measured_layer.hpp"
#include "sim/cost/placement.hpp"

namespace trainyard {

bool LayerHome::leaves_device() const {
  return weights.place != Place::device || gradients.place != Place::device || optimizer.place != Place::device ||
         activations.place != Place::device;
}

LayerHome StageRole::home(LayerId layer) const {
  const auto at = std::ranges::find(layers, layer) - layers.begin();
  return homes.empty() ? LayerHome{} : homes[std::size_t(at)];
}

bool StageRole::leaves_device() const { return std::ranges::any_of(homes, &LayerHome::leaves_device); }

DataType StageRole::gradient_type(const Software& software) const {
  const auto own = wire.types.find(State::gradients);
  return own == wire.types.end() ? software.gradient_reduce_type : own->second;
}

bool StageRole::stays_whole(const Software& software) const {
  return zero == 3 && (stages > 1 ? software.whole_in_pipeline : software.accumulates_whole && micro_batches > 1) && !leaves_device();
}

StageRole StageRole::in(int micro_batch) const {
  StageRole own = *this;
  if (sizes.empty()) return own;
  const EqualSequences& size = sizes[std::size_t(micro_batch)];
  own.cut.sequences = size.count / cut.context;
  own.cut.tokens = size.tokens;
  own.own_samples = size.samples / cut.context;
  if (!exchanged_in.empty()) own.exchanged = exchanged_in[std::size_t(micro_batch)];
  return own;
}

StageRole StageRole::in_largest() const {
  const auto rows = [](const EqualSequences& size) { return size.count * size.tokens; };
  return in(int(std::ranges::max_element(sizes, {}, rows) - sizes.begin()));
}

double StageRole::output_elements(const LayerType& layer, double hidden) const {
  const LayerSamples& own = layer.samples;
  const double rows = own.tokens > 0 ? own_samples * own.sequences * own.tokens : cut.sequences * cut.tokens;
  return rows * (own.width > 0 ? own.width : hidden);
}

double StageRole::crossing_elements(const Module& module, LayerId last) const {
  const auto elements = [&](LayerId layer) { return output_elements(module.types[index(module.layers[index(layer)].type)], module.hidden); };
  double sum = 0;
  for (const LayerId layer : layers_read_behind(module, last)) sum += elements(layer);
  return std::max(sum, elements(last));
}

LayerCut StageRole::plain_cut(std::size_t i) const {
  LayerCut own = cut;
  if (!recompute.empty()) own.recompute = recompute[i].kind;
  if (!seen.empty() && seen[i].tokens > 0) {
    own.sequences = own_samples * seen[i].sequences;
    own.tokens = seen[i].tokens;
  }
  return own;
}

LayerCut StageRole::cut_of(std::size_t i) const {
  const LayerCut own = plain_cut(i);
  if (loads.empty() || loads[i].empty()) return own;
  return cut_of(i, int(std::ranges::max_element(loads[i]) - loads[i].begin()));
}

LayerCut StageRole::cut_of(std::size_t i, int expert_rank) const {
  LayerCut own = plain_cut(i);
  if (loads.empty() || loads[i].empty()) return own;
  own.experts.items = items[expert_rank];
  own.experts.load = loads[i][expert_rank] * exchanged.mean;
  const double kept = std::accumulate(loads[i].begin(), loads[i].end(), 0.0) / double(loads[i].size());  // of the tokens sent
  own.experts.peak = std::max(std::ranges::max(loads[i]) * exchanged.mean, kept * exchanged.most);
  own.experts.most_held = std::ranges::max(items) * double(items.size()) / std::accumulate(items.begin(), items.end(), 0.0);
  return own;
}

LayerCut StageRole::cut_on(std::size_t member) const {
  LayerCut own = cut;
  if (!parts.empty()) own.part = parts[member % parts.size()];
  return own;
}

LayerCut StageRole::cut_of(std::size_t i, const Cell& cell, std::size_t member) const {
  return cell.seats.empty() ? cut_of(i) : cut_of(i, cell.seats[member].rank);
}

LayerCut StageRole::slowest_cut(std::size_t i, const Cell& cell) const {
  if (cell.seats.empty() || loads[i].empty()) return cut_of(i);
  const auto load = [&](const ExpertSeat& seat) { return loads[i][seat.rank]; };
  return cut_of(i, std::ranges::max_element(cell.seats, {}, load)->rank);
}

std::size_t StageRole::first_of(int chunk) const {
  std::size_t first = 0;
  for (int c = 0; c < chunk; ++c) first += chunks[c].size();
  return first;
}

std::vector<Recompute> StageRole::recompute_of(int chunk) const {
  std::vector<Recompute> own;
  for (std::size_t i = 0; i < chunks[chunk].size(); ++i)
    own.push_back(recompute.empty() ? Recompute{cut.recompute, 1} : recompute[first_of(chunk) + i]);
  return own;
}

}  // namespace trainyard
