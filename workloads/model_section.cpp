#include "workloads/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    {"query_latent", &Architecture::query_latent, 1e6, "latent attention: width between the two products of Q"},
    {"key_value_latent", &Architecture::key_value_latent, 1e6, "latent attention: width between the two products of K and V"},
    {"rope_size", &Architecture::rope_size, 1e5, "latent attention: part of head_size that carries positions"},
    {"value_size", &Architecture::value_size, 1e5, "width of a head of V; default: head_size"},
    {"window", &Architecture::window, 1e8, "tokens that a local layer attends to; default: all"},
    {"global_every", &Architecture::global_every, 1e4, "of so many layers the last one attends to everything"},
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
    {"attention_sinks", &Architecture::attention_sinks, "a learned score a head (GPT-OSS)"},
    {"embedding_norm", &Architecture::embedding_norm, "the embedding is normalised (BLOOM)"},
};

/// The words of a choice, in the order of its enumerators.
using Words = std::vector<std::string>;
const Words kPositions{"learned", "learned_to_length", "rotary", "alibi"};
const Words kNorms{"layer", "layer_no_bias", "rms"};
const Words kBiases{"none", "qkv", "attention", "all"};
const Words kBlocks{"sequential", "parallel", "parallel_two_norms"};

template <class Enum>
void take(const View& word, const Words& words, Enum& into) {
  if (word) into = static_cast<Enum>(std::find(words.begin(), words.end(), word.text()) - words.begin());
}

Architecture taken_from(const View& model) {
  Architecture result = family_defaults(model["family"].text_or("gpt"));
  for (const SizeKey& size : kSizes) result.*size.member = static_cast<double>(model[size.name].integer_or(static_cast<std::int64_t>(result.*size.member)));
  for (const FlagKey& flag : kFlags) result.*flag.member = model[flag.name].boolean_or(result.*flag.member);
  take(model["positions"], kPositions, result.positions);
  take(model["norm"], kNorms, result.norm);
  take(model["biases"], kBiases, result.biases);
  take(model["block"], kBlocks, result.block);
  return result;
}

bool has_all_required(const View& model, bool gated, Diagnostics& diagnostics) {
  std::vector<std::string> missing;
  for (const char* key : {"layers", "hidden", "heads", "vocabulary"})
    if (!model[key]) missing.emplace_back(key);
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
  fields.push_back(schema::optional("positions", schema::choice(kPositions, "how positions enter")));
  fields.push_back(schema::optional("norm", schema::choice(kNorms, "LayerNorm, LayerNorm without bias, or RMSNorm")));
  fields.push_back(schema::optional("biases", schema::choice(kBiases, "linear layers with a bias")));
  fields.push_back(
      schema::optional("block", schema::choice(kBlocks, "attention and MLP in turn or on the same input")));
  return fields;
}

std::optional<Architecture> read_architecture(const View& model, Diagnostics& diagnostics) {
  Architecture result = taken_from(model);
  if (!has_all_required(model, result.gated, diagnostics)) return std::nullopt;
  complete(result);
  const std::vector<ArchitectureProblem> found = problems(result);
  for (const ArchitectureProblem& problem : found)
    diagnostics.add(model[problem.key] ? model[problem.key].place() : model.place(), problem.message);
  if (!found.empty()) return std::nullopt;
  return result;
}

}  // namespace trainyard
