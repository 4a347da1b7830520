#include "workloads/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace trainyard {
namespace {

struct SizeKey {
  const char* name;
  double Architecture::*member;
  double highest;
  const char* help;
};
constexpr SizeKey kSizes[] = {
    {"layers", &Architecture::layers, 1e4, "decoder layers"},
    {"hidden", &Architecture::hidden, 1e7, "width of a token between layers"},
    {"heads", &Architecture::heads, 1e5, "attention heads"},
    {"kv_heads", &Architecture::kv_heads, 1e5, "heads of K and V (grouped-query attention); default: heads"},
    {"head_size", &Architecture::head_size, 1e5, "width of a head; default: hidden / heads"},
    {"ffn", &Architecture::ffn, 1e7, "width of the MLP; default of a plain MLP: 4 x hidden"},
    {"vocabulary", &Architecture::vocabulary, 1e8, "tokens; stored padded to a multiple of 128"},
    {"max_positions", &Architecture::max_positions, 1e8, "rows of the table of learned positions"},
    {"embedding_size", &Architecture::embedding_size, 1e7, "width of the embedding table; default: hidden"},
    {"experts", &Architecture::experts, 1e5, "MLPs of a layer among which each token takes experts_per_token"},
    {"experts_per_token", &Architecture::experts_per_token, 1e5, "experts that a token takes"},
    {"expert_ffn", &Architecture::expert_ffn, 1e7, "width of an expert; default: ffn"},
    {"shared_ffn", &Architecture::shared_ffn, 1e7, "width of the experts that every token takes, together"},
    {"dense_layers", &Architecture::dense_layers, 1e4, "leading layers without experts"},
    {"expert_every", &Architecture::expert_every, 1e4, "of so many of the others the last one has experts; default: 1"},
    {"prediction_layers", &Architecture::prediction_layers, 100, "modules behind the last layer that predict further tokens (multi-token prediction)"},
    {"query_latent", &Architecture::query_latent, 1e6, "latent attention: width between the two products of Q"},
    {"key_value_latent", &Architecture::key_value_latent, 1e6, "latent attention: width between the two products of K and V"},
    {"rope_size", &Architecture::rope_size, 1e5, "latent attention: part of head_size that carries positions"},
    {"value_size", &Architecture::value_size, 1e5, "width of a head of V; default: head_size"},
    {"window", &Architecture::window, 1e8, "tokens that a local layer attends to; default: all"},
    {"global_every", &Architecture::global_every, 1e4, "of so many layers the last one attends to everything"},
    {"mamba_heads", &Architecture::mamba_heads, 1e5, "heads of a Mamba-2 layer"},
    {"mamba_head_size", &Architecture::mamba_head_size, 1e5, "width of such a head"},
    {"state_size", &Architecture::state_size, 1e5, "state of each of its channels"},
    {"mamba_groups", &Architecture::mamba_groups, 1e5, "groups of heads that share B and C"},
    {"conv_size", &Architecture::conv_size, 1e3, "tokens that its convolution sees"},
    {"scan_chunk", &Architecture::scan_chunk, 1e5, "tokens between two states that its scan writes"},
    {"latent", &Architecture::latent, 1e6, "diffusion: elements of a patch of the latent image; then there is no vocabulary"},
    {"text_tokens", &Architecture::text_tokens, 1e6, "diffusion: tokens of the text"},
    {"text_width", &Architecture::text_width, 1e6, "diffusion: their width as they come"},
    {"conditioning", &Architecture::conditioning, 1e10, "diffusion: parameters of the products that make the vector of time and prompt"},
};

struct VisionSize {
  const char* name;
  double VisionTower::*member;
  const char* help;
};
constexpr VisionSize kVisionSizes[] = {
    {"layers", &VisionTower::layers, "transformer layers"},
    {"hidden", &VisionTower::hidden, "width of a patch between layers"},
    {"heads", &VisionTower::heads, "attention heads"},
    {"ffn", &VisionTower::ffn, "width of the MLP"},
    {"patch", &VisionTower::patch, "elements of a patch of the image"},
    {"tokens", &VisionTower::tokens, "patches of an image"},
    {"positions", &VisionTower::positions, "rows of the table of learned positions; default: rotary"},
    {"extra", &VisionTower::extra, "further parameters: class token, positions of tiles"},
    {"merge", &VisionTower::merge, "patches that become one token of the language model; default: 1"},
    {"frames", &VisionTower::frames, "frames of a video that a patch joins; default: 1"},
    {"project", &VisionTower::project, "width inside the projector; default: one product"},
    {"projectors", &VisionTower::projectors, "default: 1"},
};
struct VisionFlag {
  const char* name;
  bool VisionTower::*member;
  const char* help;
};
constexpr VisionFlag kVisionFlags[] = {
    {"patch_bias", &VisionTower::patch_bias, "the patch embedding adds a bias"},
    {"gated", &VisionTower::gated, "the MLP is gated"},
    {"qk_norm", &VisionTower::qk_norm, "Q and K are normalised over their whole width"},
    {"end_norm", &VisionTower::end_norm, "norms before the first and behind the last layer"},
    {"project_norm", &VisionTower::project_norm, "the projector's input is normalised"},
    {"layer_scales", &VisionTower::layer_scales, "both branches are scaled by learned vectors"},
};

struct FlagKey {
  const char* name;
  bool Architecture::*member;
  const char* help;
};
constexpr FlagKey kFlags[] = {
    {"gated", &Architecture::gated, "the MLP is gated (SwiGLU)"},
    {"tied", &Architecture::tied, "head and embedding share one table"},
    {"qk_norm", &Architecture::qk_norm, "each head of Q and K is normalised"},
    {"post_norms", &Architecture::post_norms, "the outputs of attention and MLP are normalised too (Gemma 2)"},
    {"router_bias", &Architecture::router_bias, "the choice of experts adds a bias"},
    {"expert_biases", &Architecture::expert_biases, "experts add biases"},
    {"shared_gate", &Architecture::shared_gate, "the shared experts' output is scaled by a product of its own (Qwen2-MoE)"},
    {"activation_clamp", &Architecture::activation_clamp, "both halves of a gated activation are clamped first (GPT-OSS)"},
    {"attention_sinks", &Architecture::attention_sinks, "a learned score a head (GPT-OSS)"},
    {"embedding_norm", &Architecture::embedding_norm, "the embedding is normalised (BLOOM)"},
};

/// The words of a choice, in the order of its enumerators.
using Words = std::vector<std::string>;
const Words kPositions{"learned", "learned_to_length", "rotary", "alibi", "none"};
const Words kNorms{"layer", "layer_no_bias", "rms"};
const Words kBiases{"none", "qkv", "attention", "all"};
const Words kBlocks{"sequential", "parallel", "parallel_two_norms"};

template <class Enum>
void take(const View& word, const Words& words, Enum& into) {
  if (word) into = static_cast<Enum>(std::find(words.begin(), words.end(), word.text()) - words.begin());
}

Schema vision_schema(const char* help) {
  std::vector<SchemaField> fields;
  for (const VisionSize& size : kVisionSizes) {
    const bool needed = std::string_view("layers hidden heads ffn patch tokens").find(size.name) != std::string_view::npos;
    const Schema value = schema::integer(between(1, 1e10), size.help);
    fields.push_back(needed ? schema::required(size.name, value) : schema::optional(size.name, value));
  }
  for (const VisionFlag& flag : kVisionFlags) fields.push_back(schema::optional(flag.name, schema::boolean(flag.help), "false"));
  fields.push_back(schema::optional("norm", schema::choice(kNorms, "as of the model"), "layer"));
  fields.push_back(schema::optional("biases", schema::choice(kBiases, "as of the model"), "all"));
  return schema::object(std::move(fields), help);
}

VisionTower vision_from(const View& section) {
  VisionTower tower;
  for (const VisionSize& size : kVisionSizes)
    if (section[size.name]) tower.*size.member = double(section[size.name].integer());
  for (const VisionFlag& flag : kVisionFlags) tower.*flag.member = section[flag.name].boolean_or(false);
  take(section["norm"], kNorms, tower.norm);
  take(section["biases"], kBiases, tower.biases);
  return tower;
}

Architecture taken_from(const View& model) {
  Architecture result = family_defaults(model["family"].text_or("gpt"));
  for (const SizeKey& size : kSizes) result.*size.member = static_cast<double>(model[size.name].integer_or(static_cast<std::int64_t>(result.*size.member)));
  for (const FlagKey& flag : kFlags) result.*flag.member = model[flag.name].boolean_or(result.*flag.member);
  take(model["positions"], kPositions, result.positions);
  take(model["norm"], kNorms, result.norm);
  take(model["biases"], kBiases, result.biases);
  take(model["block"], kBlocks, result.block);
  result.pattern = model["pattern"].text_or("");
  for (const char* kind : {"vision", "audio"})
    if (model[kind]) result.vision = vision_from(model[kind]);
  if (model["audio"]) result.vision->audio = true;
  return result;
}

Schema unet_schema() {
  using namespace schema;
  const auto widths = [](const char* help, double lowest) { return list(integer(between(lowest, 1e5), help), between(1, 8), help); };
  return object({required("channels", widths("of each level, the first of full resolution", 1)),
                 required("transformers", widths("transformer blocks behind each residual block of a level", 0)),
                 required("heads", widths("of the transformer blocks of a level", 1)),
                 optional("layers", integer(between(1, 100), "residual blocks of a level on the way down; one more on the way up"), "2"),
                 optional("latent", integer(between(1, 1e4), "channels of the latent image"), "4"),
                 optional("conditions", integer(between(0, 1e6), "width of the vector of further conditions"), "0"),
                 required("text_tokens", integer(between(1, 1e6), "of the text")), required("text_width", integer(between(1, 1e6), "their width"))},
                "a UNet of convolutions (diffusion); stands alone, and sequence_length is the positions of the latent image");
}

Unet unet_from(const View& section) {
  const auto numbers = [](const View& list) {
    std::vector<double> values;
    for (std::size_t i = 0; i < list.size(); ++i) values.push_back(double(list.at(i).integer()));
    return values;
  };
  return {numbers(section["channels"]), numbers(section["transformers"]), numbers(section["heads"]), double(section["layers"].integer_or(2)),
          double(section["latent"].integer_or(4)), double(section["conditions"].integer_or(0)), double(section["text_tokens"].integer()),
          double(section["text_width"].integer())};
}

/// A model of another kind than a transformer, of which the usual keys say nothing.
std::optional<Architecture> unet_architecture(const View& section, Diagnostics& diagnostics) {
  Architecture result;
  result.unet = unet_from(section);
  const Unet& unet = *result.unet;
  if (unet.transformers.size() != unet.channels.size() || unet.heads.size() != unet.channels.size()) {
    diagnostics.add(section.place(), fmt::format("{} levels of channels, but {} of transformers and {} of heads", unet.channels.size(), unet.transformers.size(), unet.heads.size()));
    return std::nullopt;
  }
  for (std::size_t level = 0; level < unet.channels.size(); ++level)
    if (std::fmod(unet.channels[level], unet.heads[level]) != 0)
      diagnostics.add(section["heads"].place(), fmt::format("{:.0f} heads do not divide {:.0f} channels", unet.heads[level], unet.channels[level]));
  if (!diagnostics.empty()) return std::nullopt;
  result.hidden = unet.channels.front();
  result.latent = unet.latent;
  return result;
}

bool has_all_required(const View& model, bool gated, Diagnostics& diagnostics) {
  std::vector<std::string> missing;
  for (const char* key : {"layers", "hidden", "heads", "vocabulary"})
    if (!model[key] && !(std::string_view(key) == "vocabulary" && model["latent"])) missing.emplace_back(key);
  if (gated && !model["ffn"]) missing.emplace_back("ffn");
  for (const std::string& key : missing)
    diagnostics.add(model.place(), fmt::format("a model that is written out needs `{}`", key));
  return missing.empty();
}

}  // namespace

std::vector<SchemaField> architecture_fields() {
  std::vector<SchemaField> fields;
  fields.push_back(schema::optional("family", schema::choice({"gpt", "llama"}, "whose defaults hold"), "gpt"));
  for (const SizeKey& size : kSizes)
    fields.push_back(schema::optional(size.name, schema::integer(between(1, size.highest), size.help)));
  for (const FlagKey& flag : kFlags) fields.push_back(schema::optional(flag.name, schema::boolean(flag.help)));
  fields.push_back(schema::optional("pattern", schema::text("a letter a layer: M Mamba-2, * attention, - MLP, E experts, each one branch; with latent D, E, S, X: see workloads/README.md")));
  fields.push_back(schema::optional("vision", vision_schema("an encoder of images and its projector")));
  fields.push_back(schema::optional("audio", vision_schema("the same of sounds, in place of `vision`: a patch is what a frame sees")));
  fields.push_back(schema::optional("unet", unet_schema()));
  fields.push_back(schema::optional("positions", schema::choice(kPositions, "how positions enter")));
  fields.push_back(schema::optional("norm", schema::choice(kNorms, "LayerNorm, LayerNorm without bias, or RMSNorm")));
  fields.push_back(schema::optional("biases", schema::choice(kBiases, "linear layers with a bias")));
  fields.push_back(
      schema::optional("block", schema::choice(kBlocks, "attention and MLP in turn or on the same input")));
  return fields;
}

std::optional<Architecture> read_architecture(const View& model, Diagnostics& diagnostics) {
  if (model["unet"]) return unet_architecture(model["unet"], diagnostics);
  Architecture result = taken_from(model);
  if (!has_all_required(model, result.gated, diagnostics)) return std::nullopt;
  if (model["vision"] && model["audio"]) diagnostics.add(model["audio"].place(), "a model has one encoder: `vision` or `audio`");
  if (model["vision"] && model["audio"]) return std::nullopt;
  complete(result);
  const std::vector<ArchitectureProblem> found = problems(result);
  for (const ArchitectureProblem& problem : found)
    diagnostics.add(model[problem.key] ? model[problem.key].place() : model.place(), problem.message);
  if (!found.empty()) return std::nullopt;
  return result;
}

}  // namespace trainyard
