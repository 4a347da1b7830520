// Models that are more than a decoder: encoders of images, Mamba-2 layers, embedding tables.
#include <catch2/catch.hpp>

#include "tests/workloads/layers.hpp"
#include "workloads/recommendation.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

struct Outcome {
  Workload workload;
  std::string error;
};

Outcome read(const std::string& yaml) {
  Diagnostics diagnostics;
  Outcome outcome;
  const ConfigValue section = read_yaml_text(yaml, "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics))
    outcome.workload = build_workload(section, ".", diagnostics);
  const std::string text = diagnostics.text();
  outcome.error = text.substr(0, text.find('\n'));
  return outcome;
}

const LayerType& type_of(const Workload& workload, const std::string& layer) {
  const Module& module = workload.modules.front();
  for (const Layer& each : module.layers)
    if (each.name == layer) return module.types[index(each.type)];
  FAIL("no layer " << layer);
  return module.types.front();
}

const std::string kLlava = "{model: llava-1.5-7b, sequence_length: 2048, global_batch: 8";

const std::string kTables =
    "{dense: 13, bottom: [8, 4], top: [16, 1], tables: [{count: 2, rows: 1000, dim: 4, pooling: 3}, {rows: 10, dim: 8, "
    "pooling: 6}]";

}  // namespace

TEST_CASE("an encoder of images stands before the language model, and sees the images of a sample") {
  const Workload workload = read(kLlava + ", data: {images: 2}}").workload;
  const Module& module = workload.modules.front();
  REQUIRE(module.layers.size() == 1 + 24 + 1 + 1 + 32 + 1);
  CHECK(module.layers[1].name == "vision_0");
  CHECK(module.layers[26].name == "embedding");
  CHECK(type_of(workload, "vision_0").samples == LayerSamples{2, 576, 1024, false});
  CHECK(type_of(workload, "projector").samples == LayerSamples{2, 576, 4096, false});
  CHECK_FALSE(find_operator(type_of(workload, "vision_0"), "attention").attention.causal);
  CHECK(type_of(workload, "0").samples == LayerSamples{});
  // 24 layers of 12.6 M and the rest of ViT-L/14 (303.5 M), the projector's 4096 x (1024 + 1) + 4096 x (4096 + 1), and
  // the decoder.
  CHECK(parameter_count(module) == 303507456.0 + 20979712 + 6738415616.0 + (32128 - 32000) * 2 * 4096);
}

TEST_CASE("patches join into fewer tokens before the projector") {
  const Workload workload = read("{model: qwen2.5-vl-7b, sequence_length: 2048, global_batch: 8}").workload;
  CHECK(type_of(workload, "projector").samples == LayerSamples{1, 256, 3584, false});
  CHECK(find_operator(type_of(workload, "projector"), "project_up").gemm_k == 4 * 1280);
  CHECK(find_operator(type_of(workload, "projector"), "projector_norm").parameters == 4 * 1280);
}

TEST_CASE("a frozen encoder runs forward only, a frozen language model passes gradients on") {
  const Workload all = read(kLlava + "}").workload, frozen = read(kLlava + ", frozen: [vision, language]}").workload;
  CHECK(trained_parameter_count(frozen.modules.front()) == 20979712);
  CHECK(type_of(frozen, "vision_3").samples.forward_only);
  CHECK_FALSE(type_of(frozen, "projector").samples.forward_only);
  CHECK_FALSE(type_of(frozen, "0").samples.forward_only);
  // Two thirds of the encoder's FLOPs are its backward pass.
  double encoder = 0;
  for (const char* layer : {"vision_embedding", "vision_0"})
    for (const Operator& op : type_of(all, layer).operators)
      encoder += op.backward_flops.of(576).value * (std::string(layer) == "vision_0" ? 24 : 1);
  const Workload vision = read(kLlava + ", frozen: [vision]}").workload;
  CHECK(model_flops_per_step(all).value - model_flops_per_step(vision).value == Approx(8 * encoder).epsilon(1e-9));
}

TEST_CASE("samples with different numbers of images") {
  const Workload workload = read(kLlava + ", data: {images: [0, 4]}}").workload;
  CHECK(type_of(workload, "vision_0").samples.sequences == 2);
  REQUIRE(workload.data.batch.size() == 8);
  CHECK(workload.data.batch[0].images == 0);
  CHECK(workload.data.batch[1].images == 2);
  CHECK(tokens_per_step(workload) == 8 * 2048);
}

TEST_CASE("an encoder joins the frames of a video, two in a patch") {
  // 1,024 patches of a picture, 4 of which make a token: 32 pictures of 64 frames are 8,192 tokens.
  const std::string qwen = "{model: qwen2.5-vl-7b, sequence_length: 8192, global_batch: 4, data: ";
  const Workload video = read(qwen + "{frames: 64}}").workload;
  CHECK(type_of(video, "vision_0").samples == LayerSamples{32, 1024, 1280, false});
  CHECK(type_of(video, "projector").samples == LayerSamples{32, 256, 3584, false});
  // The same work as of so many images.
  CHECK(video.modules == read(qwen + "{images: 32}}").workload.modules);
  CHECK(type_of(read(qwen + "{frames: 7, images: 2}}").workload, "vision_0").samples.sequences == 4 + 2);
  // An encoder that joins none sees each frame.
  CHECK(type_of(read("{model: llava-1.5-7b, sequence_length: 4096, global_batch: 4, data: {frames: 7}}").workload, "vision_0").samples.sequences == 7);
}

TEST_CASE("samples with videos of different length") {
  const Workload workload = read("{model: qwen3-vl-8b, sequence_length: 8192, global_batch: 4, data: {frames: [0, 16, 63]}}").workload;
  // 0, 8, 32 and 0 pictures: 10 on average.
  CHECK(type_of(workload, "vision_0").samples.sequences == 10);
  REQUIRE(workload.data.batch.size() == 4);
  CHECK(workload.data.batch[1].images == Approx(0.8));
  CHECK(workload.data.batch[2].images == Approx(3.2));
  CHECK(workload.data.batch[3].images == 0);
  CHECK(workload.data.batch_text == "10 images, or 2 joined frames, on average");
}

TEST_CASE("mistakes around videos") {
  CHECK(read("{model: llama-2-7b, sequence_length: 2048, global_batch: 8, data: {frames: 2}}").error ==
        "w.yaml:1:76: data.frames: frames need a model with an encoder of images");
  CHECK(read("{model: qwen2-audio-7b, sequence_length: 2048, global_batch: 8, data: {frames: 2}}").error ==
        "w.yaml:1:80: data.frames: frames need a model with an encoder of images");
  CHECK(read("{model: qwen2-vl-7b, sequence_length: 4096, global_batch: 8, data: {frames: [8, 64]}}").error ==
        "w.yaml:1:77: data.frames: a sample of 64 frames has 8192 tokens of pictures, more than sequence_length 4096");
  CHECK(read("{model: qwen2-vl-7b, sequence_length: 4096, global_batch: 8, data: {frames: [0]}}").error == "w.yaml:1:77: data.frames: no sample has an image");
}

TEST_CASE("mistakes around images") {
  CHECK(read("{model: llama-2-7b, sequence_length: 2048, global_batch: 8, data: {images: 2}}").error ==
        "w.yaml:1:76: data.images: images need a model with an encoder of images");
  CHECK(read("{model: llama-2-7b, sequence_length: 2048, global_batch: 8, frozen: [vision]}").error ==
        "w.yaml:1:69: frozen: frozen parts need a model with an encoder of images");
  CHECK(read(kLlava + ", frozen: [vision, language, projector]}").error ==
        "w.yaml:1:71: frozen: nothing is left to train");
  CHECK(read(kLlava + ", data: {images: [0]}}").error == "w.yaml:1:78: data.images: no sample has an image");
  CHECK(read(kLlava + ", data: {batching: varying}}").error == "w.yaml:1:69: data: data says `lengths`, `images` or `frames`");
}

TEST_CASE("a hybrid model has one branch a layer") {
  const Workload workload = read("{model: nemotron-h-8b, sequence_length: 4096, global_batch: 8}").workload;
  CHECK(type_of(workload, "0").name == "mamba");
  CHECK(type_of(workload, "1").name == "mlp");
  CHECK(type_of(workload, "7").name == "attention");
  // in 4096 x (2 x 8192 + 2 x 8 x 128 + 128), convolution (8192 + 2048) x 5, A, D, bias of dt 3 x 128, norms 8192 +
  // 4096, out 8192 x 4096.
  double parameters = 0;
  for (const Operator& op : type_of(workload, "0").operators) parameters += op.parameters;
  CHECK(parameters == 4096.0 * 18560 + 10240.0 * 5 + 384 + 8192 + 4096 + 8192.0 * 4096);
  CHECK(find_operator(type_of(workload, "0"), "scan").forward_flops.per_token.value == 7.0 * 8192 * 128);
}

TEST_CASE("experts are a branch of their own in a pattern") {
  const Workload workload = read("{model: nemotron-3-nano-30b-a3b, sequence_length: 4096, global_batch: 8}").workload;
  CHECK(type_of(workload, "1").name == "experts");
  // norm 2688, router 2688 x 128 + 128, 128 experts of 2 x 2688 x 1856, shared 2 x 2688 x 3712.
  double parameters = 0;
  for (const Operator& op : type_of(workload, "1").operators) parameters += op.parameters;
  CHECK(parameters == 2688 + 2688.0 * 128 + 128 + 128 * 2 * 2688.0 * 1856 + 2 * 2688.0 * 3712);
}

TEST_CASE("a pattern that contradicts the model") {
  const std::string model =
      "{model: {family: llama, layers: 3, hidden: 64, heads: 4, ffn: 128, vocabulary: 128, pattern: \"";
  CHECK(read(model + "*-\"}, sequence_length: 64, global_batch: 8}").error ==
        "w.yaml:1:94: model.pattern: pattern names 2 layers, not 3");
  CHECK(read(model + "*-x\"}, sequence_length: 64, global_batch: 8}").error ==
        "w.yaml:1:94: model.pattern: pattern holds letters other than M, *, - and E");
  CHECK(read(model + "*-E\"}, sequence_length: 64, global_batch: 8}").error ==
        "w.yaml:1:94: model.pattern: the letter E of a pattern and experts go together");
  CHECK(
      read(model + "M*-\"}, sequence_length: 64, global_batch: 8}").error.find("mamba_heads must be a whole number") !=
      std::string::npos);
}

TEST_CASE("a recommendation model: tables are read by pooling, and pooled rows go on") {
  const Workload workload = read("{model: {dlrm: " + kTables + "}}, global_batch: 64, precision: bf16}").workload;
  CHECK(tokens_per_step(workload) == 0);
  const Operator& look_up = find_operator(type_of(workload, "tables"), "look_up");
  // Rows 2 x 1000 x 4 + 10 x 8; a sample reads 2 x 3 x 4 + 6 x 8 elements of 4 bytes and writes 2 x 4 + 8 of 2 bytes.
  CHECK(look_up.parameters == 8080);
  CHECK(look_up.row_state_bytes == 4 * 2010);
  CHECK(look_up.forward_bytes.per_token == Bytes(72 * 4 + 16 * 2));
  CHECK(look_up.items == 3);
  CHECK(find_operator(type_of(workload, "tables"), "pooled").output.per_token == Bytes(16 * 2));
  CHECK(find_operator(type_of(workload, "tables"), "indices").output.per_token == Bytes(12 * 8));
  // Bottom: 13 x 8 + 8 and 8 x 4 + 4. Behind it 4 + 4 x 3 / 2 elements, the products of all pairs of four vectors.
  CHECK(find_operator(type_of(workload, "top"), "top_0").gemm_k == 10);
  CHECK(parameter_count(workload.modules.front()) == 8080 + 112 + 36 + 10 * 16 + 16 + 16 + 1);
  CHECK(workload.data.item_load.front() == std::vector<double>{12.0 / 72, 12.0 / 72, 48.0 / 72});
}

TEST_CASE("pieces of a table's rows pool what they hold, and their partial sums travel") {
  const Workload workload = read("{model: {dlrm: {dense: 2, bottom: [8], top: [1], interaction: cat, tables: [{rows: 1000, dim: 8, pooling: 6, columns: 2, row_pieces: 3}]}}, "
                                 "global_batch: 64, precision: bf16}").workload;
  const Operator& look_up = find_operator(type_of(workload, "tables"), "look_up");
  CHECK(look_up.items == 6);
  // Read 6 x 8 elements of 4 bytes, three partial sums of 8 of 2 bytes; behind them one row of 8 beside 8 of the bottom.
  CHECK(look_up.forward_bytes.per_token == Bytes(48 * 4 + 3 * 8 * 2));
  CHECK(find_operator(type_of(workload, "tables"), "pooled").output.per_token == Bytes(3 * 8 * 2));
  CHECK(find_operator(type_of(workload, "top"), "top_0").gemm_k == 16);
}

TEST_CASE("recommendation models of the catalogue have their published sizes") {
  for (const CatalogueRecommendation& model : catalogue_recommendations()) {
    INFO(model.name);
    const double counted = parameter_count(recommendation_module(model));
    CHECK(std::abs(counted - model.published_parameters) <= std::max(0.005 * model.published_parameters, model.rounding / 2));
  }
  const Workload workload = read("{model: dlrm-dcnv2, global_batch: 65536}").workload;
  // 26 rows and the bottom's output of 128: cross layers of 3,456 x 512 x 3,456.
  CHECK(find_operator(type_of(workload, "interaction"), "cross_down_2").gemm_k == 3456);
  CHECK(find_operator(type_of(workload, "interaction"), "cross_up_2").gemm_k == 512);
}

TEST_CASE("an encoder of sounds") {
  const Workload workload = read("{model: qwen2-audio-7b, sequence_length: 2048, global_batch: 8, data: {images: 2}, frozen: [audio]}").workload;
  const LayerType& layer = type_of(workload, "audio_31");
  CHECK(layer.samples.sequences == 2);
  CHECK(layer.samples.tokens == 1500);
  CHECK(layer.samples.forward_only);
  CHECK(type_of(workload, "projector").samples.tokens == 750);
}

TEST_CASE("models that cannot be described are refused by name") {
  CHECK(read("{model: {family: llama, layers: 3, hidden: 64, heads: 4, ffn: 128, vocabulary: 128, vision: {layers: 1, hidden: 64, heads: 4, ffn: 128, "
             "patch: 16, tokens: 16}, audio: {layers: 1, hidden: 64, heads: 4, ffn: 128, patch: 16, tokens: 16}}, sequence_length: 64, global_batch: 8}")
            .error.find("a model has one encoder: `vision` or `audio`") != std::string::npos);
}

TEST_CASE("mistakes around recommendation models") {
  CHECK(read("{model: {dlrm: " + kTables + "}}, global_batch: 64, sequence_length: 5}")
            .error.find("a recommendation model has no `sequence_length`") != std::string::npos);
  CHECK(
      read("{model: {dlrm: {dense: 1, bottom: [1], top: [1], tables: [{rows: 5, dim: 5}]}}, global_batch: 64}").error ==
      "w.yaml:1:58: model.dlrm.tables: 1 pieces of tables: from 2 to 65536");
}

}  // namespace trainyard
