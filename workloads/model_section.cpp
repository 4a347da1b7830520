#include "workloads/model_section.hpp"

#include <fmt/format.h>

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
};

Biases biases_from(const std::string& word) {
  if (word == "none") return Biases::none;
  if (word == "qkv") return Biases::qkv;
  return word == "attention" ? Biases::attention : Biases::all;
}

Architecture taken_from(const View& model) {
  Architecture result = family_defaults(model["family"].text_or("gpt"));
  for (const SizeKey& size : kSizes) result.*size.member = static_cast<double>(model[size.name].integer_or(0));
  for (const FlagKey& flag : kFlags) result.*flag.member = model[flag.name].boolean_or(result.*flag.member);
  if (const View positions = model["positions"])
    result.positions = positions.text() == "rotary" ? Positions::rotary : Positions::learned;
  if (const View norm = model["norm"]) result.norm = norm.text() == "rms" ? Norm::rms : Norm::layer;
  if (const View biases = model["biases"]) result.biases = biases_from(biases.text());
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
  fields.push_back(schema::optional("positions", schema::choice({"learned", "rotary"}, "how positions enter")));
  fields.push_back(schema::optional("norm", schema::choice({"layer", "rms"}, "LayerNorm or RMSNorm")));
  fields.push_back(
      schema::optional("biases", schema::choice({"none", "qkv", "attention", "all"}, "linear layers with a bias")));
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
