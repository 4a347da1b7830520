// A UNet of convolutions and transformer blocks, as the Stable Diffusion models have it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

constexpr double kTaps = 9;              ///< positions that a convolution's output reads: 3 x 3
constexpr double kShrinks = 4;           ///< positions of a level, of one of the next
constexpr double kTimeWidth = 4;         ///< width of the vector of time, of the first level's channels

/// A convolution as an implicit product: a row for each output position, whose inner side is what its window sees. `read`: elements of
/// the input an output position, each of which several windows see.
Operator convolution(std::string name, std::string group, double taps, double from, double to, double read, const OperatorContext& context) {
  Operator op = product(std::move(name), std::move(group), taps * from, to, true, context);
  op.cut = op.saved_cut = TensorCut::column;
  op.saved = per_token(element_bytes(context) * read);
  if (taps > 1) op.forward_bytes = op.backward_bytes = per_token(element_bytes(context) * (read + to));
  return op;
}

class UnetBuilder {
 public:
  UnetBuilder(const Architecture& a, const OperatorContext& context)
      : unet_(*a.unet), context_(context), e_(element_bytes(context)), time_(kTimeWidth * unet_.channels.front()) {
    context_.software.dropout = false;
    module_.name = "model";
    module_.family = a.family;
    module_.hidden = unet_.channels.front();
  }

  Module build() {
    input();
    down();
    residual_block("middle", width_, width_);
    attend(transformers(levels() - 1));
    finish({});
    residual_block("middle", width_, width_);
    finish({});
    up();
    output();
    return std::move(module_);
  }

 private:
  [[nodiscard]] std::size_t levels() const { return unet_.channels.size(); }
  /// Of the middle those of the last level, which may have none itself (Stable Diffusion 1 and 2): then one.
  [[nodiscard]] double transformers(std::size_t level) const { return std::max(1.0, unet_.transformers[level]); }
  void add(Operator op) { layer_.operators.push_back(std::move(op)); }

  /// Ends the layer being written. Layers that are alike share a type.
  void finish(const std::vector<LayerId>& inputs, const std::string& name = "") {
    double tokens = context_.sequence_length;
    for (std::size_t i = 0; i < level_; ++i) tokens /= kShrinks;
    layer_.samples = {1, tokens, width_, false};
    auto type = std::ranges::find(module_.types, layer_);
    if (type == module_.types.end()) type = module_.types.insert(type, layer_);
    module_.layers.push_back({name.empty() ? fmt::format("{}", numbered_++) : name, id_at<LayerTypeId>(std::size_t(type - module_.types.begin())), inputs, {}});
    layer_ = {};
  }
  [[nodiscard]] LayerId last() const { return id_at<LayerId>(module_.layers.size() - 1); }

  /// The vectors of time and of further conditions pass two products each, once a sample.
  void input() {
    width_ = unet_.channels.front();
    layer_.name = "embedding";
    add(convolution("latent_in", "embedding", kTaps, unet_.latent, width_, unet_.latent, context_));
    Operator& op = layer_.operators.back();
    op.backward_flops.per_token = op.forward_flops.per_token;  // latents have no gradients
    Operator conditions = memory_bound("conditioning", "embedding", {}, width_, context_);
    const bool further = unet_.conditions > 0;
    const double weights = (width_ + time_) * time_ + (further ? (unet_.conditions + time_) * time_ : 0);
    conditions.parameters = weights + (further ? 4 : 2) * time_;
    conditions.forward_flops.fixed = Flops(2 * weights);
    conditions.backward_flops.fixed = Flops(4 * weights);
    conditions.forward_bytes.fixed = Bytes(e_ * conditions.parameters);
    conditions.backward_bytes.fixed = Bytes(2 * e_ * conditions.parameters);
    add(std::move(conditions));
    finish({}, "embedding");
    kept_ = {{last(), width_}};
  }

  void down() {
    for (level_ = 0; level_ < levels(); ++level_) {
      for (int i = 0; i < int(unet_.layers); ++i) {
        block("down", unet_.channels[level_], {});
        kept_.emplace_back(last(), width_);
      }
      if (level_ + 1 < levels()) shrink();
    }
    level_ = levels() - 1;
  }

  /// A convolution at every second position.
  void shrink() {
    ++level_;
    layer_.name = fmt::format("shrink {:.0f}", width_);
    add(convolution("shrink", "convolution", kTaps, width_, width_, kShrinks * width_, context_));
    finish({});
    --level_;
    kept_.emplace_back(last(), width_);
  }

  /// Each block reads one output of the way down beside that of the block before.
  void up() {
    for (level_ = levels(); level_-- > 0;) {
      for (int i = 0; i <= int(unet_.layers); ++i) {
        const auto [layer, width] = kept_.back();
        kept_.pop_back();
        const LayerId before = last();
        join(width);
        block("up", unet_.channels[level_], {before, layer});
      }
      if (level_ > 0) grow();
    }
    level_ = 0;
  }

  /// Each position becomes four, and a convolution.
  void grow() {
    --level_;
    layer_.name = fmt::format("grow {:.0f}", width_);
    const double moved = 2 * width_ * (1 + 1 / kShrinks);
    add(memory_bound("grow", "convolution", {moved, moved}, width_, context_));
    add(convolution("grown", "convolution", kTaps, width_, width_, width_, context_));
    finish({});
    ++level_;
  }

  void join(double width) {
    width_ += width;
    add(memory_bound("join", "convolution", {4 * width_, 4 * width_}, width_, context_));
  }

  void block(const char* way, double to, const std::vector<LayerId>& inputs) {
    residual_block(way, width_, to);
    if (unet_.transformers[level_] > 0) attend(unet_.transformers[level_]);
    finish(inputs);
  }

  /// Norm, SiLU and convolution, twice; between them the vector of time is added. The way around is a product where the width changes.
  void residual_block(const char* way, double from, double to) {
    layer_.name = fmt::format("{} {:.0f} to {:.0f}", way, from, to);
    group_norm("norm_1", from, true);
    add(convolution("convolution_1", "convolution", kTaps, from, to, from, context_));
    Operator time = memory_bound("time", "convolution", {4 * to, 2 * to}, to, context_);
    time.parameters = time_ * to + to;
    time.forward_flops.fixed = Flops(2 * time_ * to);
    time.backward_flops.fixed = Flops(4 * time_ * to);
    add(std::move(time));
    group_norm("norm_2", to, true);
    add(convolution("convolution_2", "convolution", kTaps, to, to, to, context_));
    if (from != to) {
      add(convolution("around", "convolution", 1, from, to, 0, context_));  // the first norm keeps its input
    }
    add(memory_bound("residual", "convolution", {6 * to, 6 * to}, to, context_));
    width_ = to;
  }

  /// Over groups of channels and all positions: reads twice and writes; backward reads gradient and input twice and writes. With fused
  /// activations SiLU is part of it and nothing is kept between.
  void group_norm(const char* name, double width, bool activates) {
    Operator norm = memory_bound(name, "norm", {6 * width, 10 * width}, width, context_);
    norm.saved = per_token(e_ * width);
    norm.parameters = 2 * width;
    add(std::move(norm));
    if (!activates || context_.software.fused_activation) return;
    Operator activation = memory_bound("silu", "convolution", {4 * width, 6 * width}, width, context_);
    activation.saved = per_token(e_ * width);
    add(std::move(activation));
  }

  /// Transformer blocks between two products, and a way around all of it.
  void attend(double blocks) {
    layer_.name += fmt::format(", {:.0f} transformer{}", blocks, blocks > 1 ? "s" : "");
    group_norm("transformer_norm", width_, false);
    add(convolution("transformer_in", "attention", 1, width_, width_, width_, context_));
    const std::vector<Operator> one = transformer();
    for (int i = 0; i < int(blocks); ++i) layer_.operators.insert(layer_.operators.end(), one.begin(), one.end());
    add(convolution("transformer_out", "attention", 1, width_, width_, width_, context_));
    add(memory_bound("transformer_residual", "attention", {6 * width_, 6 * width_}, width_, context_));
  }

  /// Attention to all positions, to the text, and a gated MLP of 4 x the width; Q, K and V have no biases.
  [[nodiscard]] std::vector<Operator> transformer() const {
    Architecture a;
    a.hidden = width_;
    a.heads = unet_.heads[level_];
    a.gated = true;
    a.positions = Positions::none;
    a.ffn = 4 * width_;
    complete(a);
    OperatorContext context = context_;
    for (std::size_t i = 0; i < level_; ++i) context.sequence_length /= kShrinks;
    LayerType layer = decoder_layer(a, context);
    for (Operator& op : layer.operators) {
      if (op.core_attention) op.attention.causal = false;
      if (op.name == "qkv") op.parameters -= 3 * width_;
    }
    add_cross_attention(a, {unet_.text_tokens, unet_.text_width, false}, context, layer);
    return std::move(layer.operators);
  }

  void output() {
    layer_.name = "head";
    group_norm("final_norm", width_, true);
    add(convolution("latent_out", "head", kTaps, width_, unet_.latent, width_, context_));
    add(memory_bound("loss", "loss", {4 * unet_.latent, 4 * unet_.latent}, unet_.latent, context_));
    width_ = unet_.latent;
    finish({}, "head");
  }

  const Unet& unet_;
  OperatorContext context_;
  double e_, time_, width_ = 0;
  std::size_t level_ = 0;
  int numbered_ = 0;
  LayerType layer_;
  std::vector<std::pair<LayerId, double>> kept_;   ///< outputs that the way up reads, and their widths
  Module module_;
};

}  // namespace

Module unet_module(const Architecture& architecture, const OperatorContext& context) { return UnetBuilder(architecture, context).build(); }

}  // namespace trainyard
