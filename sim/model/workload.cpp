#include "sim/model/workload.hpp"

#include <algorithm>
#include <cctype>

namespace trainyard {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool knows_flops(const LayerType& type) {
  return !type.only_measured() || (type.profile->forward_flops && type.profile->backward_flops);
}

/// Forward and backward of one sample.
Flops flops_of(const LayerType& type, double tokens) {
  if (type.only_measured()) return type.profile->forward_flops.value_or(Flops(0)) + type.profile->backward_flops.value_or(Flops(0));
  Flops sum{};
  for (const Operator& op : type.operators)
    sum += op.forward_flops.of(tokens) + (type.samples.forward_only ? Flops(0) : op.backward_flops.of(tokens));
  return sum;
}

/// The samples of a step, as equal sequences.
EqualSequences whole_batch(const Workload& workload) {
  const Data& data = workload.data;
  if (data.batch.empty()) return {workload.global_batch, data.sequence_length, workload.global_batch};
  double tokens = 0, squares = 0, images = 0;
  for (const SampleSize& sample : data.batch) {
    tokens += sample.tokens;
    squares += sample.squares;
    images += sample.images;
  }
  return {tokens * tokens / squares, squares / tokens, images};
}

/// Of one of these sequences.
Flops flops_of(const LayerType& type, const EqualSequences& batch) {
  const LayerSamples& own = type.samples;
  if (own.tokens > 0) return flops_of(type, own.tokens) * (own.sequences * batch.samples / batch.count);
  return flops_of(type, batch.tokens);
}

}  // namespace

std::vector<bool> Module::counted_layers() const {
  std::vector<bool> counted;
  for (const Layer& layer : layers) counted.push_back(is_number(layer.name));
  if (std::ranges::find(counted, true) == counted.end()) counted.assign(layers.size(), true);
  return counted;
}

namespace {

double count(const Module& module, bool only_trained) {
  double sum = 0;
  for (const Layer& layer : module.layers) {
    const LayerType& type = module.types[index(layer.type)];
    if (type.only_measured()) sum += type.profile->whole_parameters();
    for (const Operator& op : type.operators) {
      const bool shared_table = !layer.tied_to.empty() && op.cut == TensorCut::vocabulary;
      if (!shared_table && (op.trainable || !only_trained)) sum += op.parameters;
    }
  }
  return sum;
}

}  // namespace

double active_parameter_count(const Module& module) {
  double idle = 0;
  for (const Layer& layer : module.layers)
    for (const Operator& op : module.types[index(layer.type)].operators)
      if (op.items > 1) idle += op.parameters * (1 - op.items_per_token / op.items);
  return parameter_count(module) - idle;
}

double parameter_count(const Module& module) { return count(module, false); }
double trained_parameter_count(const Module& module) { return count(module, true); }

Flops model_flops_per_step(const Workload& workload) {
  const EqualSequences batch = whole_batch(workload);
  Flops each{};
  for (const Pass& pass : workload.passes) {
    const Module& module = workload.modules[index(pass.module)];
    for (const Layer& layer : module.layers) each += pass.sequences_per_sample * flops_of(module.types[index(layer.type)], batch);
  }
  return each * batch.count;
}

bool knows_flops(const Workload& workload) {
  return std::ranges::all_of(workload.modules, [](const Module& module) {
    return std::ranges::all_of(module.types, [](const LayerType& type) { return knows_flops(type); });
  });
}

EqualSequences equal_sequences(const Data& data, const std::vector<int>& samples) {
  double rows = 0, squares = 0, longest = 0, images = 0;
  for (const int i : samples) {
    const SampleSize& sample = data.batch.at(std::size_t(i));
    rows += sample.rows;
    squares += sample.squares;
    longest = std::max(longest, sample.rows);
    images += sample.images;
  }
  return data.padded ? EqualSequences{double(samples.size()), longest, images} : EqualSequences{rows * rows / squares, squares / rows, images};
}

double tokens_per_step(const Workload& workload) {
  if (workload.data.batch.empty()) return workload.global_batch * workload.data.sequence_length;
  double tokens = 0;
  for (const SampleSize& sample : workload.data.batch) tokens += sample.tokens;
  return tokens;
}

}  // namespace trainyard
