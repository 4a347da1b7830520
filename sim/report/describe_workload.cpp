#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/report/describe.hpp"
#include "sim/report/numbers.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// "1 embedding, 40 decoder, 1 head": layers by type, in order of first appearance.
std::string layers_text(const Module& module) {
  std::vector<std::size_t> counts(module.types.size(), 0);
  std::vector<std::size_t> order;
  for (const Layer& layer : module.layers)
    if (counts[index(layer.type)]++ == 0) order.push_back(index(layer.type));
  std::string text;
  for (const std::size_t type : order)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[type], module.types[type].name);
  return text;
}

bool only_measured(const Module& module) {
  return std::ranges::any_of(module.types, [](const LayerType& type) { return type.only_measured(); });
}

/// "V100-SXM2-32GB at tensor 1, micro-batches of 16, 32": what the first measured layer has, which stands for all.
std::string measured_text(const Module& module) {
  const auto measured = std::ranges::find_if(module.types, [](const LayerType& type) { return type.profile.has_value(); });
  if (measured == module.types.end()) return "";
  std::string text;
  for (const MeasuredCurve& curve : measured->profile->curves) {
    std::string samples;
    for (const MeasuredPoint& point : curve.points) samples += fmt::format("{}{}", samples.empty() ? "" : ", ", point.samples);
    text += fmt::format("  measured on {} at tensor {}, micro-batches of {}{}\n", curve.device, curve.tensor, samples,
                        curve.rule.empty() ? "" : ": " + curve.rule);
  }
  return text;
}

/// One line a layer, of the first curve's smallest micro-batch.
std::string measured_layers_text(const Module& module) {
  std::string text;
  for (const Layer& layer : module.layers) {
    const LayerProfile& profile = *module.types[index(layer.type)].profile;
    const MeasuredPoint& point = profile.curves.front().points.front();
    text += fmt::format("    {}: forward {}, backward {} of {} samples; a sample keeps {} and sends {}; {} parameters\n", layer.name,
                        to_text(point.forward), to_text(point.backward), point.samples, to_text(point.saved * (1 / point.samples)),
                        to_text(profile.output), count_in_words(profile.whole_parameters()));
  }
  return text;
}

std::string module_text(const Module& module) {
  if (only_measured(module))
    return fmt::format("  module {}: {} parameters; {} measured layers\n", module.name, count_in_words(parameter_count(module)),
                       module.layers.size()) + measured_text(module) + measured_layers_text(module);
  const double all = parameter_count(module), trained = trained_parameter_count(module);
  const std::string share = trained < all ? fmt::format(" ({} trained)", count_in_words(trained)) : "";
  return fmt::format("  module {}: {} parameters{}; {}; hidden {}, vocabulary {}\n", module.name, count_in_words(all), share,
                     layers_text(module), whole(module.hidden), whole(module.vocabulary)) + measured_text(module);
}

/// Samples of different length: how many tokens, and how much of what is computed they are.
std::string batch_text(const Workload& workload) {
  const std::vector<SampleSize>& batch = workload.data.batch;
  if (batch.empty()) return "";
  const auto [least, most] = std::ranges::minmax(batch, {}, &SampleSize::tokens);
  const double tokens = tokens_per_step(workload);
  return fmt::format("  a batch: {} samples of {} to {} tokens, {} on average ({})\n", whole(double(batch.size())), whole(least.tokens), whole(most.tokens),
                     whole(tokens / double(batch.size())), workload.data.batch_text);
}

std::string work_text(const Workload& workload) {
  const double tokens = tokens_per_step(workload);
  const std::string amount = tokens > 0 ? whole(tokens) + " tokens" : whole(workload.global_batch) + " samples";
  if (!knows_flops(workload)) return fmt::format("  a step: {}; the profile gives no FLOPs\n", amount);
  const Flops step = model_flops_per_step(workload);
  std::string text =
      fmt::format("  a step: {}, {} (forward and backward, without recompute)", amount, to_text(step));
  if (tokens > 0) text += fmt::format("; {} a token", to_text(Flops(step.value / tokens)));
  return text + "\n" + batch_text(workload);
}

using Switch = std::pair<const char*, bool>;

}  // namespace

std::string one_line(const Workload& workload) {
  if (workload.global_batch == 0) return workload.model;   // of a trace that could not be replayed
  const double tokens = workload.data.sequence_length;
  const std::string up_to = workload.data.batch.empty() ? "" : "up to ";
  const std::string sequence = tokens > 0 ? fmt::format(" · sequence {}{}", up_to, whole(tokens)) : "";
  const std::string method = workload.method == "backprop" ? "" : " · " + workload.method;
  return fmt::format("{}{} · global batch {} · {}{}", workload.model, sequence, whole(workload.global_batch), name(workload.compute_type()),
                     method);
}

std::string switches_text(const Software& software) {
  const std::vector<Switch> switches{{"fused_norm", software.fused_norm},
                                     {"fused_rope", software.fused_rope},
                                     {"fused_activation", software.fused_activation},
                                     {"dropout", software.dropout},
                                     {"sequence_parallel", software.sequence_parallel},
                                     {"pipeline_scatter_gather", software.pipeline_scatter_gather},
                                     {"overlap_pipeline", software.overlap_pipeline},
                                     {"overlap_gradient_reduce", software.overlap_gradient_reduce},
                                     {"overlap_weight_gather", software.overlap_weight_gather},
                                     {"overlap_tensor", software.overlap_tensor},
                                     {"distributed_optimizer", software.distributed_optimizer},
                                     {"gradient_clipping", software.gradient_clipping},
                                     {"cuda_graphs", software.cuda_graphs},
                                     {"eager_host", software.eager_host},
                                     {"cached_gradient_dummies", software.cached_gradient_dummies},
                                     {"gathers_logits", software.gathers_logits},
                                     {"keeps_gathered_input", software.keeps_gathered_input},
                                     {"copies_gathers", software.copies_gathers},
                                     {"splits_tensor_products", software.splits_tensor_products},
                                     {"fused_gradient_accumulation", software.fused_gradient_accumulation},
                                     {"selective_keeps_products", software.selective_keeps_products},
                                     {"keeps_gradient_copies", software.keeps_gradient_copies},
                                     {"narrow_weights", software.narrow_weights},
                                     {"copies_scores", software.copies_scores},
                                     {"copies_attention_output", software.copies_attention_output},
                                     {"flattens_gradients", software.flattens_gradients},
                                     {"whole_in_pipeline", software.whole_in_pipeline},
                                     {"accumulates_whole", software.accumulates_whole},
                                     {"shards_over_context", software.shards_over_context}};
  std::string on, off;
  for (const auto& [key, value] : switches) (value ? on : off) += std::string(" ") + key;
  std::string again;
  for (const RecomputedPart part : software.selective) again += fmt::format("{}{}", again.empty() ? "" : ", ", name(part));
  return fmt::format("    on: {}\n    off:{}\n    selective recompute: {}\n", on.empty() ? "-" : on.substr(1), off.empty() ? " -" : off, again);
}

std::string description(const Workload& workload) {
  std::string text;
  for (const Module& module : workload.modules) text += module_text(module);
  text += work_text(workload);
  const std::string products = workload.product_type ? fmt::format(" (products in {})", name(*workload.product_type)) : "";
  text += fmt::format("  precision {}{}, optimizer {}\n", name(workload.precision), products, workload.optimizer);
  const Software& software = workload.software;
  text += fmt::format("  software {}: attention {}, loss {}, gradients kept in {} and reduced in {}\n", software.name,
                      name(software.attention), name(software.loss), name(software.gradient_type),
                      name(software.gradient_reduce_type));
  return text + switches_text(software);
}

}  // namespace trainyard
