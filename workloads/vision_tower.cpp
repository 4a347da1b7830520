// An encoder of images or sounds before a language model.
#include <fmt/format.h>

#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

class VisionBuilder {
 public:
  VisionBuilder(const Architecture& language, const OperatorContext& context, Module& module)
      : tower_(*language.vision), language_(language), context_(context), module_(module) {
    encoder_.hidden = encoder_.embedding_size = tower_.hidden;
    encoder_.heads = encoder_.kv_heads = tower_.heads;
    encoder_.head_size = encoder_.value_size = tower_.hidden / tower_.heads;
    encoder_.ffn = tower_.ffn;
    encoder_.gated = tower_.gated;
    encoder_.norm = tower_.norm;
    encoder_.biases = tower_.biases;
    encoder_.positions = tower_.positions > 0 ? Positions::learned : Positions::rotary;
    context_.sequence_length = tower_.tokens;
  }

  void build() {
    const std::string kind = tower_.audio ? "audio" : "vision";
    add(kind + "_embedding", type_of(kind + " embedding", patches(), tower_.tokens, tower_.hidden));
    const LayerTypeId encoder = type_of(kind, encoder_layer(), tower_.tokens, tower_.hidden);
    for (int i = 0; i < int(tower_.layers); ++i) add(fmt::format("{}_{}", kind, i), encoder);
    add("projector", type_of("projector", projector(), tower_.tokens / tower_.merge, language_.hidden));
  }

 private:
  LayerTypeId type_of(std::string name, std::vector<Operator> operators, double tokens, double width) {
    module_.types.push_back({std::move(name), std::move(operators), {}, {1, tokens, width, false}});
    return id_at<LayerTypeId>(module_.types.size() - 1);
  }

  void add(std::string name, LayerTypeId type) { module_.layers.push_back({std::move(name), type, {}, {}}); }

  /// The product of each patch, learned positions, and the norms at both ends, which cost little.
  std::vector<Operator> patches() const {
    std::vector<Operator> operators{
        product("patches", "vision", tower_.patch, tower_.hidden, tower_.patch_bias, context_)};
    operators[0].backward_flops.per_token = operators[0].forward_flops.per_token;  // images have no gradients
    if (tower_.positions > 0) {
      operators.push_back(
          memory_bound("vision_positions", "vision", {6 * tower_.hidden, 6 * tower_.hidden}, tower_.hidden, context_));
      operators.back().parameters = tower_.positions * tower_.hidden;
    }
    operators.back().parameters += tower_.extra;
    for (int i = 0; tower_.end_norm && i < 2; ++i) operators.push_back(norm("vision_norm", encoder_, context_));
    return operators;
  }

  /// Patches attend to all of their image. A norm over the whole width of Q and K, and scales of the branches, are
  /// counted and cost nothing.
  std::vector<Operator> encoder_layer() const {
    LayerType layer = decoder_layer(encoder_, context_);
    for (Operator& op : layer.operators) {
      if (op.core_attention) op.attention.causal = false;
      if (op.name == "attention_norm")
        op.parameters += (tower_.qk_norm ? 2 * tower_.hidden : 0) + (tower_.layer_scales ? 2 * tower_.hidden : 0);
    }
    return std::move(layer.operators);
  }

  std::vector<Operator> projector() const {
    const double from = tower_.hidden * tower_.merge;
    std::vector<Operator> operators;
    for (int i = 0; i < int(tower_.projectors); ++i) {
      if (tower_.project_norm) {
        Architecture joined = encoder_;
        joined.hidden = from;
        operators.push_back(norm("projector_norm", joined, context_));
        // The first normalises each patch, before they are joined.
        if (i == 0 && tower_.projectors > 1) operators.back().parameters /= tower_.merge;
      }
      if (tower_.project == 0) {
        operators.push_back(product("project", "projector", from, language_.hidden, true, context_));
        continue;
      }
      operators.push_back(product("project_up", "projector", from, tower_.project, true, context_));
      operators.push_back(memory_bound("project_activation", "projector", {4 * tower_.project, 6 * tower_.project},
                                       tower_.project, context_));
      operators.back().saved = per_token(element_bytes(context_) * tower_.project);
      operators.push_back(product("project_down", "projector", tower_.project, language_.hidden, true, context_));
    }
    return operators;
  }

  const VisionTower& tower_;
  const Architecture& language_;
  OperatorContext context_;
  Module& module_;
  Architecture encoder_;
};

}  // namespace

void add_vision(const Architecture& architecture, const OperatorContext& context, Module& module) {
  VisionBuilder(architecture, context, module).build();
}

}  // namespace trainyard
