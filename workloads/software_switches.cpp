// The switches of the training software as keys of a map.
#include "sim/config/view.hpp"
#include "workloads/catalogue.hpp"

namespace trainyard {
namespace {

struct Switch {
  const char* name;
  bool Software::*member;
  const char* help;
};
constexpr Switch kSwitches[] = {
    {"fused_norm", &Software::fused_norm, "RMSNorm is one kernel"},
    {"fused_rope", &Software::fused_rope, "rotary positions are one kernel"},
    {"fused_activation", &Software::fused_activation, "the MLP's activation, bias and dropout are fused"},
    {"dropout", &Software::dropout, "dropout is on, and its masks are kept"},
    {"sequence_parallel", &Software::sequence_parallel,
     "norms and residuals are cut along the sequence where tensor > 1"},
    {"pipeline_scatter_gather", &Software::pipeline_scatter_gather,
     "a stage sends its share of the tensor and gathers"},
    {"overlap_pipeline", &Software::overlap_pipeline, "a stage computes while its last output is sent"},
    {"overlap_gradient_reduce", &Software::overlap_gradient_reduce, "gradients are reduced beside the backward pass"},
    {"overlap_weight_gather", &Software::overlap_weight_gather, "weights are gathered beside the next forward pass"},
    {"overlap_tensor", &Software::overlap_tensor, "tensor-parallel collectives of the backward pass run beside products"},
    {"splits_tensor_products", &Software::splits_tensor_products,
     "products run in as many parts as the tensor axis has, each beside the exchange of the next part"},
    {"overlap_expert", &Software::overlap_expert,
     "all-to-alls of one micro-batch run beside the products of another, where passes are paired"},
    {"overlap_shared_experts", &Software::overlap_shared_experts, "all-to-alls run beside the shared experts' products"},
    {"deduplicates_dispatch", &Software::deduplicates_dispatch,
     "a token goes once to each node of its experts, whose devices pass it on"},
    {"narrow_dispatch", &Software::narrow_dispatch, "tokens travel to their experts in the products' type"},
    {"fused_permute", &Software::fused_permute, "the exchange's own kernel sorts tokens by expert"},
    {"fused_experts", &Software::fused_experts, "one kernel for the products of experts, with their activation and casts"},
    {"distributed_optimizer", &Software::distributed_optimizer, "the optimizer's state is cut over the data axis"},
    {"gradient_clipping", &Software::gradient_clipping, "a global norm joins all devices before the update"},
    {"cuda_graphs", &Software::cuda_graphs, "kernels are launched as recorded graphs, without the host's time"},
    {"eager_host", &Software::eager_host, "the host issues kernel by kernel: a layer takes at least its host time"},
    {"cached_gradient_dummies", &Software::cached_gradient_dummies, "weight-gradient placeholders stay allocated"},
    {"gathers_logits", &Software::gathers_logits, "the loss gathers whole rows of logits over the tensor axis"},
    {"fused_gradient_accumulation", &Software::fused_gradient_accumulation,
     "weight-gradient products add to the gradients of earlier micro-batches themselves"},
    {"selective_keeps_products", &Software::selective_keeps_products,
     "selective recompute keeps every second product's output and does the rest again, as PyTorch's does"},
    {"keeps_gradient_copies", &Software::keeps_gradient_copies,
     "fp32 gradients stand beside those of the products' type: the optimizer's part, or all where they add up in fp32"},
    {"narrow_weights", &Software::narrow_weights, "weights of fp8 and fp4 products are kept in that type alone"},
    {"keeps_gathered_input", &Software::keeps_gathered_input,
     "sequence parallelism keeps gathered inputs of products instead of gathering them again"},
    {"copies_gathers", &Software::copies_gathers,
     "gathers and scatters along the sequence copy all of it into order, as the sequence is not the outermost axis"},
    {"copies_scores", &Software::copies_scores, "written attention scores are kept with a mask and a copy, as their dropout does; as `dropout` where not given"},
    {"copies_attention_output", &Software::copies_attention_output, "attention's output is kept in two orders"},
    {"flattens_gradients", &Software::flattens_gradients, "gradients are copied into a flat buffer for their reduction"},
    {"whole_in_pipeline", &Software::whole_in_pipeline,
     "zero 3 in a pipeline: weights are gathered once a step, gradients add up whole until the last micro-batch"},
    {"accumulates_whole", &Software::accumulates_whole, "zero 3 without a pipeline: the same"},
    {"shards_over_context", &Software::shards_over_context, "memory with zero 3: context ranks hold parts of the states too"},
};

const std::vector<std::string> kAttention{"unfused", "fused_softmax", "flash_1", "flash_triton", "flash_2", "cudnn"};
const std::vector<std::string> kLoss{"eager", "vocab_parallel", "vocab_parallel_fused", "fused_in_place"};
const std::vector<std::string> kScalings{"delayed", "tensorwise", "rowwise"};
const std::vector<std::string> kRecomputed{"attention", "norms", "expert_activation", "latent", "mlp"};
const std::vector<std::string> kGradientTypes{"fp32", "fp16", "bf16"};

}  // namespace

std::vector<SchemaField> software_switch_fields() {
  std::vector<SchemaField> fields{
      schema::optional("attention", schema::choice(kAttention, "kernel that computes attention")),
      schema::optional("loss", schema::choice(kLoss, "how the loss handles the logits"))};
  for (const Switch& it : kSwitches) fields.push_back(schema::optional(it.name, schema::boolean(it.help)));
  fields.push_back(schema::optional("operand_scaling", schema::choice(kScalings, "how operands of fp8 and fp4 products get their scales")));
  fields.push_back(schema::optional(
      "selective", schema::list(schema::choice(kRecomputed, "a part of a layer"), between(1, 5), "what `recompute: selective` does again")));
  fields.push_back(schema::optional("gradient_type", schema::choice(kGradientTypes, "type of the gradients kept")));
  fields.push_back(
      schema::optional("gradient_reduce_type", schema::choice(kGradientTypes, "type of the gradients on the wire")));
  return fields;
}

Software with_switches(Software software, const ConfigValue& map) {
  const View view(map);
  if (const View kernel = view["attention"]) software.attention = attention_kernel_from(kernel.text()).value();
  if (const View kernel = view["loss"]) software.loss = loss_kernel_from(kernel.text()).value();
  for (const Switch& it : kSwitches) software.*it.member = view[it.name].boolean_or(software.*it.member);
  if (const View scaling = view["operand_scaling"]) software.operand_scaling = operand_scaling_from(scaling.text()).value();
  if (const View parts = view["selective"]) {
    software.selective.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) software.selective.push_back(recomputed_part_from(parts.at(i).text()).value());
  }
  if (view["dropout"] && !view["copies_scores"]) software.copies_scores = software.dropout;  // in both places, unless it says otherwise
  if (const View type = view["gradient_type"]) software.gradient_type = data_type_from(type.text()).value();
  if (const View type = view["gradient_reduce_type"])
    software.gradient_reduce_type = data_type_from(type.text()).value();
  return software;
}

}  // namespace trainyard
