#include "sim/model/workload.hpp"

namespace trainyard {

namespace {

double count(const Module& module, bool only_trained) {
  double sum = 0;
  for (const Layer& layer : module.layers)
    for (const Operator& op : module.types[index(layer.type)].operators) {
      const bool shared_table = !layer.tied_to.empty() && op.cut == TensorCut::vocabulary;
      if (!shared_table && (op.trainable || !only_trained)) sum += op.parameters;
    }
  return sum;
}

}  // namespace

double parameter_count(const Module& module) { return count(module, false); }
double trained_parameter_count(const Module& module) { return count(module, true); }

Flops model_flops_per_step(const Workload& workload) {
  Flops per_sequence{};
  for (const Pass& pass : workload.passes) {
    const Module& module = workload.modules[index(pass.module)];
    for (const Layer& layer : module.layers)
      for (const Operator& op : module.types[index(layer.type)].operators) {
        const double q = workload.data.sequence_length;
        per_sequence += pass.sequences_per_sample * (op.forward_flops.of(q) + op.backward_flops.of(q));
      }
  }
  return per_sequence * workload.global_batch;
}

double tokens_per_step(const Workload& workload) { return workload.global_batch * workload.data.sequence_length; }

}  // namespace trainyard
