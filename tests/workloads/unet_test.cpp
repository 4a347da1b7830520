// UNets of convolutions: counts, FLOPs by hand, what each level sees, and what the way up reads.
#include <catch2/catch.hpp>

#include "sim/model/convolution.hpp"
#include "tests/workloads/layers.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

Module unet(const std::string& name, double positions) {
  return build_module(find_model(name)->architecture, context_of("torchtitan-2024", positions));
}

const LayerType& type_of(const Module& module, std::size_t layer) { return module.types[index(module.layers[layer].type)]; }

/// Multiply-adds of one image, forward; `scores`: with the products of attention, which are no layer's.
double multiply_adds(const Module& module, bool scores) {
  double flops = 0;
  for (const Layer& layer : module.layers) {
    const LayerType& type = module.types[index(layer.type)];
    for (const Operator& op : type.operators)
      if (scores || !(op.core_attention || op.name == "cross_attention")) flops += op.forward_flops.of(type.samples.tokens).value;
  }
  return flops / 2;
}

std::string refused(const std::string& yaml) {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text(yaml, "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics)) (void)build_workload(section, ".", diagnostics);
  return diagnostics.text().substr(0, diagnostics.text().find('\n'));
}

/// The same by hand. A residual block of n positions, from a to b channels: 9 a b n + 9 b b n, a b n around it, and the vector of time.
struct ByHand {
  std::vector<double> channels, transformers;
  double text_width, conditions, positions;

  [[nodiscard]] double block(double a, double b, double n) const {
    return 9 * a * b * n + 9 * b * b * n + (a == b ? 0 : a * b * n) + 4 * channels[0] * b;
  }
  /// Each of `depth`: Q, K, V, output; Q and output of the attention to 77 tokens, whose K and V; 8 c wide up and 4 c down; scores.
  [[nodiscard]] double attention(double c, double depth, double n) const {
    return depth * (n * c * c * (4 + 2 + 12) + 77 * text_width * 2 * c + 2 * n * n * c + 2 * n * 77 * c) + 2 * n * c * c;
  }
  [[nodiscard]] double all() const {
    const double t = 4 * channels[0];
    double sum = channels[0] * t + t * t + (conditions > 0 ? conditions * t + t * t : 0) + 2 * 9 * 4 * channels[0] * positions;
    double n = positions, width = channels[0];
    std::vector<double> kept{width};
    for (std::size_t level = 0; level < channels.size(); ++level) {
      for (int i = 0; i < 2; ++i) {
        sum += block(width, channels[level], n);
        width = channels[level];
        if (transformers[level] > 0) sum += attention(width, transformers[level], n);
        kept.push_back(width);
      }
      if (level + 1 == channels.size()) break;
      n /= 4;
      sum += 9 * width * width * n;
      kept.push_back(width);
    }
    sum += 2 * block(width, width, n) + attention(width, std::max(1.0, transformers.back()), n);
    for (std::size_t level = channels.size(); level-- > 0;) {
      for (int i = 0; i < 3; ++i) {
        sum += block(width + kept.back(), channels[level], n);
        kept.pop_back();
        width = channels[level];
        if (transformers[level] > 0) sum += attention(width, transformers[level], n);
      }
      if (level == 0) break;
      n *= 4;
      sum += 9 * width * width * n;
    }
    return sum;
  }
};

}  // namespace

TEST_CASE("UNets have exactly the parameters of the released weights") {
  CHECK(parameter_count(unet("sdxl", 16384)) == 2567463684.0);
  CHECK(parameter_count(unet("stable-diffusion-1.5", 4096)) == 859520964.0);
  CHECK(parameter_count(unet("stable-diffusion-2.1", 4096)) == 865910724.0);
}

TEST_CASE("FLOPs of a UNet by hand, and as published") {
  CHECK(multiply_adds(unet("sdxl", 16384), true) == Approx(ByHand{{320, 640, 1280}, {0, 2, 10}, 2048, 2816, 16384}.all()).epsilon(1e-12));
  CHECK(multiply_adds(unet("stable-diffusion-2.1", 4096), true) ==
        Approx(ByHand{{320, 640, 1280, 1280}, {1, 1, 1, 0}, 1024, 0, 4096}.all()).epsilon(1e-12));
  // Kim et al., BK-SDM (arXiv 2305.15798), recalled: 339 G of Stable Diffusion 1.4 at 64 x 64, by a counter that sees layers only.
  CHECK(multiply_adds(unet("stable-diffusion-1.5", 4096), false) == Approx(339e9).epsilon(0.002));
  CHECK(multiply_adds(unet("sdxl", 16384), false) == Approx(2.99e12).epsilon(0.002));
}

TEST_CASE("each level of a UNet sees a quarter of the positions of the one before") {
  const Module module = unet("sdxl", 16384);
  REQUIRE(module.layers.size() == 1 + (2 + 1 + 2 + 1 + 2) + 2 + (3 + 1 + 3 + 1 + 3) + 1);
  CHECK(type_of(module, 0).samples == LayerSamples{1, 16384, 320, false});
  CHECK(type_of(module, 3).samples == LayerSamples{1, 4096, 320, false});  // the convolution at every second position
  CHECK(type_of(module, 8).samples == LayerSamples{1, 1024, 1280, false});
  CHECK(type_of(module, 14).samples == LayerSamples{1, 4096, 1280, false});  // the first that grows
  CHECK(type_of(module, 22).samples == LayerSamples{1, 16384, 4, false});
  CHECK(find_operator(type_of(module, 8), "attention").attention.heads == 20);
  CHECK_FALSE(find_operator(type_of(module, 8), "attention").attention.causal);
}

TEST_CASE("blocks on the way up read the way down, the last first") {
  const Module module = unet("sdxl", 16384);
  CHECK(module.layers[11].inputs == std::vector<LayerId>{id_at<LayerId>(10), id_at<LayerId>(8)});
  CHECK(module.layers[13].inputs == std::vector<LayerId>{id_at<LayerId>(12), id_at<LayerId>(6)});
  CHECK(module.layers[21].inputs == std::vector<LayerId>{id_at<LayerId>(20), id_at<LayerId>(0)});
  CHECK(find_operator(type_of(module, 13), "convolution_1").gemm_k == 9 * (1280 + 640));
}

TEST_CASE("a convolution keeps its input once and moves no windows") {
  const Module module = unet("sdxl", 16384);
  const Operator& op = find_operator(type_of(module, 1), "convolution_1");
  CHECK(is_convolution(op));
  CHECK(op.gemm_k == 9 * 320);
  CHECK(op.saved.per_token == Bytes(2 * 320));
  CHECK(op.forward_bytes.per_token == Bytes(2 * (320 + 320)));
  const Operator& shrink = find_operator(type_of(module, 3), "shrink");
  CHECK(shrink.saved.per_token == Bytes(2 * 4 * 320));
  CHECK_FALSE(is_convolution(find_operator(type_of(module, 4), "around")));
}

TEST_CASE("mistakes around UNets") {
  CHECK(refused("{model: sdxl, sequence_length: 4100, global_batch: 8}") ==
        "w.yaml:1:32: sequence_length: 4100 positions of the latent image (its width x height) do not divide by 16, as 3 levels of a UNet need");
  CHECK(refused("{model: sdxl, sequence_length: 4096, global_batch: 8, data: {images: 2}}") ==
        "w.yaml:1:61: data: a UNet has no `data`: its samples are images of one size");
  CHECK(refused("{model: sdxl, sequence_length: 4096, global_batch: 8, method: lora}") ==
        "w.yaml:1:63: method: a method beside a UNet is not simulated yet");
  const std::string unet = "unet: {channels: [32, 64], transformers: [0, 1], heads: [4, 5], text_tokens: 77, text_width: 64}";
  CHECK(refused("{sequence_length: 4096, global_batch: 8, model: {" + unet + "}}") == "w.yaml:1:106: model.unet.heads: 5 heads do not divide 64 channels");
  CHECK(refused("{sequence_length: 4096, global_batch: 8, model: {layers: 3, " + unet + "}}") == "w.yaml:1:49: model: `unet` stands alone");
  CHECK(refused("{sequence_length: 4096, global_batch: 8, model: {unet: {channels: [32], transformers: [0, 1], heads: [4], text_tokens: 77, text_width: 64}}}") ==
        "w.yaml:1:56: model.unet: 1 levels of channels, but 2 of transformers and 1 of heads");
}

}  // namespace trainyard
