// A transformer as operators.
#pragma once

#include "sim/model/workload.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// What the operators depend on besides the architecture.
struct OperatorContext {
  DataType precision = DataType::bf16;
  Software software;
  double sequence_length = 0;  ///< tokens; only the shape of unfused attention's products depends on it
  std::optional<DataType> product_type{};  ///< of the decoder's products, where not `precision`, in which the logits stay
  std::optional<DataType> saved_type{};    ///< in which inputs of activations are kept, where not `precision`
};

/// Layers: embedding, 0 .. L-1, head. Amounts are whole, of one sequence. A product has 2 m n k FLOPs forward and twice
/// that backward; attention counts in full, 4 H q² forward and 8 H q² backward, whatever a kernel computes again.
/// Sources: Korthikanti et al. 2022 (arXiv:2205.05198) §4 for what is kept, Narayanan et al. 2021 (arXiv:2104.04473)
/// for FLOPs.
[[nodiscard]] Module build_module(const Architecture& architecture, const OperatorContext& context);

/// The three kinds of layer.
[[nodiscard]] LayerType embedding_layer(const Architecture& architecture, const OperatorContext& context);
/// `sparse`: with experts instead of one MLP.
[[nodiscard]] LayerType decoder_layer(const Architecture& architecture, const OperatorContext& context, bool sparse = false);
/// Half a decoder layer, for models whose layers are one branch each.
[[nodiscard]] LayerType attention_layer(const Architecture& architecture, const OperatorContext& context);
[[nodiscard]] LayerType mlp_layer(const Architecture& architecture, const OperatorContext& context, bool sparse = false);
/// A Mamba-2 layer. FLOPs of its scan: 7 x width x state a token forward, as Megatron-LM counts them (training.py), and twice that backward.
/// Source: Dao and Gu, arXiv 2405.21060 §6 (the scan by chunks), §7 (the block).
[[nodiscard]] LayerType mamba_layer(const Architecture& architecture, const OperatorContext& context);
/// A block of a diffusion transformer, by its letter (Architecture::pattern), and what stands before and behind all of them. Tokens of image
/// and text attend to all; scale, shift and gate of each branch come from the vector of time and prompt, which each block multiplies.
/// Sources: Esser et al., arXiv 2403.03206 §4 (D, E); FLUX.1 (S: black-forest-labs/flux, model.py); Wan, arXiv 2503.20314 §4 (X).
[[nodiscard]] LayerType diffusion_layer(const Architecture& architecture, const OperatorContext& context, char kind);
[[nodiscard]] LayerType diffusion_input(const Architecture& architecture, const OperatorContext& context);
[[nodiscard]] LayerType diffusion_output(const Architecture& architecture, const OperatorContext& context);
/// What a block beside its own tokens attends to: queries and output of `text_tokens` others, `text_width` wide.
struct CrossAttention {
  double text_tokens = 0, text_width = 0;
  bool normalised = true;      ///< norms of Q and K, biases of Q, K and V
};
/// Put before the MLP of `layer`. Keys and values of the text are timed by their bytes.
void add_cross_attention(const Architecture& architecture, const CrossAttention& cross, const OperatorContext& context, LayerType& layer);
/// A UNet: layers `embedding`, blocks by number, `head`; `sequence_length` is the positions of the latent image. A layer sees the positions of
/// its level. Convolutions are implicit products (as cuDNN's tensor-core kernels compute them); `forward_bytes` are then what they move.
/// Sources: Rombach et al., arXiv 2112.10752; Podell et al., arXiv 2307.01952 §2.1; huggingface/diffusers, unet_2d_condition.py, resnet.py.
[[nodiscard]] Module unet_module(const Architecture& architecture, const OperatorContext& context);
/// The layers of an encoder of images: patches, transformer layers, projector; an image a sample until `data` says otherwise. Types and
/// layers are appended.
void add_vision(const Architecture& architecture, const OperatorContext& context, Module& module);
[[nodiscard]] LayerType head_layer(const Architecture& architecture, const OperatorContext& context);

}  // namespace trainyard
