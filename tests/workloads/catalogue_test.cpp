// The catalogue files: published parameter counts, and presets that hold words only.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "tests/workloads/layers.hpp"
#include "workloads/recommendation.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
std::string_view workloads_software();
namespace {

TEST_CASE("Each model has the published count of parameters, to 0.5 % or to the last digit printed") {
  for (const CatalogueModel& model : catalogue_models()) {
    INFO(model.name);
    const double counted = parameter_count(build_module(model.architecture, {}));
    CHECK(std::abs(counted - model.published_parameters) <=
          std::max(0.005 * model.published_parameters, model.rounding / 2));
    CHECK_FALSE(model.source.empty());
  }
}

// Some papers count the embedding's table among what a token meets and some do not.
TEST_CASE("Each mixture of experts has the published count of active parameters, to 0.5 % or to the last digit printed") {
  int published = 0;
  for (const CatalogueModel& model : catalogue_models()) {
    CHECK((model.architecture.experts > 0 && !model.architecture.vision) == (model.published_active > 0));
    if (model.published_active == 0) continue;
    INFO(model.name);
    const double counted = active_parameter_count(build_module(model.architecture, {}));
    const double table = model.architecture.tied ? 0 : padded_vocabulary(model.architecture) * model.architecture.hidden;
    // The last digits of Qwen3-30B (3.35) and DeepSeek-V2-Lite (2.45) are cut off, not rounded.
    const bool cut_off = model.name == "qwen3-30b-a3b" || model.name == "deepseek-v2-lite";
    const double slack = std::max(0.005 * model.published_active, model.active_rounding / (cut_off ? 1.0 : 2.0));
    const double nearest = std::min(std::abs(counted - model.published_active), std::abs(counted - table - model.published_active));
    CHECK(nearest <= slack);
    ++published;
  }
  CHECK(published == 17);
}

TEST_CASE("Exact counts of mixtures of experts") {
  const auto count = [](const char* name) { return parameter_count(build_module(find_model(name)->architecture, {})); };
  CHECK(count("mixtral-8x7b") == 46702792704.0);
  CHECK(count("qwen3-30b-a3b") == 30532122624.0);
  CHECK(count("qwen3-235b-a22b") == 235093634560.0);
  CHECK(count("gpt-oss-120b") == Approx(116.83e9).epsilon(1e-4));
  CHECK(count("gpt-oss-20b") == Approx(20.91e9).epsilon(1e-3));
}

TEST_CASE("Exact counts of released weights") {
  const auto count = [](const char* name) { return parameter_count(build_module(find_model(name)->architecture, {})); };
  CHECK(count("llama-2-7b") == 6738415616.0);
  CHECK(count("llama-2-13b") == 13015864320.0);
  CHECK(count("llama-2-70b") == 68976648192.0);
  CHECK(count("llama-3-8b") == 8030261248.0);
  CHECK(count("llama-3-70b") == 70553706496.0);
  CHECK(count("llama-3-405b") == 405853388800.0);
  CHECK(count("gpt2-xl") == 1557611200.0 + (50304 - 50257) * 1600);
  CHECK(count("gpt-neox-20b") == 20554567680.0);
  CHECK(count("bloom-176b") == 176247271424.0);
  CHECK(count("bloom-560m") == 559214592.0);
  CHECK(count("mistral-7b") == 7241732096.0);
  CHECK(count("gemma-2-2b") == 2614341888.0);
  CHECK(count("gemma-3-1b") == 999885952.0);
  CHECK(count("qwen2-72b") == 72706203648.0);
  CHECK(count("llama-65b") == 65285660672.0);
}

// As the pages of the models on Hugging Face count the parameters of their weight files, recalled.
TEST_CASE("Exact counts on model pages, where the vocabulary needs no padding") {
  const std::pair<const char*, double> published[] = {
      {"llama-33b", 32528943616.0},     {"qwen2-0.5b", 494032768.0},    {"qwen2-1.5b", 1543714304.0},
      {"qwen2.5-3b", 3085938688.0},     {"qwen2-7b", 7615616512.0},     {"qwen2.5-14b", 14770033664.0},
      {"qwen2.5-32b", 32763876352.0},   {"qwen3-0.6b", 596049920.0},    {"qwen3-1.7b", 1720574976.0},
      {"qwen3-4b", 4022468096.0},       {"qwen3-8b", 8190735360.0},     {"qwen3-14b", 14768307200.0},
      {"qwen3-32b", 32762123264.0},     {"gemma-2-9b", 9241705984.0},   {"gemma-2-27b", 27227128320.0},
      {"phi-4", 14659507200.0},         {"llama-3.2-1b", 1235814400.0}, {"llama-3.2-3b", 3212749824.0},
      {"mistral-nemo-12b", 12247782400.0}};
  for (const auto& [name, parameters] : published) {
    INFO(name);
    CHECK(parameter_count(build_module(find_model(name)->architecture, {})) == parameters);
  }
}

TEST_CASE("The catalogue lists every model once, with a summary") {
  std::set<std::string> names;
  for (const ModelEntry& entry : model_catalogue()) names.insert(entry.name);
  CHECK(names.size() == catalogue_models().size() + catalogue_recommendations().size());
  CHECK(find_model("no-such-model") == nullptr);
  const auto entries = model_catalogue();
  const auto llama =
      std::find_if(entries.begin(), entries.end(), [](const ModelEntry& e) { return e.name == "llama-3-8b"; });
  CHECK(llama->summary == "32 layers, hidden 4,096, 32 heads (8 for K and V), vocabulary 128,256, 8.03 B parameters");
}

TEST_CASE("A software preset holds words and booleans, no number but the year in its name") {
  Diagnostics diagnostics;
  const ConfigValue root = read_yaml_text(std::string(workloads_software()), "software.yaml", diagnostics);
  REQUIRE(diagnostics.empty());
  for (const ConfigValue& preset : root.items)
    for (std::size_t i = 0; i < preset.items.size(); ++i) {
      if (preset.keys[i].first == "source") continue;
      const ConfigValue& value = preset.items[i];
      for (const ConfigValue& word : value.kind == ConfigValue::Kind::list ? value.items : std::vector<ConfigValue>{value})
        CHECK(std::isalpha(static_cast<unsigned char>(word.scalar.at(0))));
    }
}

TEST_CASE("The presets of 2021 and 2024 differ where the eras do") {
  const Software then = find_software("megatron-2021").value(), now = find_software("megatron-core-2024").value();
  CHECK(then.attention == AttentionKernel::fused_softmax);
  CHECK(now.attention == AttentionKernel::flash_2);
  CHECK(then.dropout);
  CHECK_FALSE(then.sequence_parallel);
  CHECK_FALSE(then.distributed_optimizer);
  CHECK(then.gradient_type == DataType::fp16);
  CHECK(now.gradient_type == DataType::fp32);
  CHECK(now.distributed_optimizer);
  CHECK(now.cached_gradient_dummies);
}

TEST_CASE("Every era has its preset, no two alike, each with a source") {
  const std::vector<Software> all = software_presets();
  for (const char* name : {"megatron-2021", "megatron-2022", "megatron-core-2024", "megatron-bridge-2026", "nemo-2024",
                           "llm-foundry-2023", "torchtitan-2024", "deepspeed-2022", "alephalpha-2024"})
    CHECK(find_software(name).has_value());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK_FALSE(all[i].source.empty());
    for (std::size_t j = 0; j < i; ++j) {
      Software other = all[j];
      other.name = all[i].name;
      other.source = all[i].source;
      CHECK_FALSE(other == all[i]);
    }
  }
}

TEST_CASE("Aliases find their model, and no name stands twice") {
  CHECK(find_model("llama-3.1-8b") == find_model("llama-3-8b"));
  CHECK(find_model("qwen2.5-72b") == find_model("qwen2-72b"));
  std::multiset<std::string> names;
  for (const CatalogueModel& model : catalogue_models()) {
    names.insert(model.name);
    names.insert(model.aliases.begin(), model.aliases.end());
  }
  for (const std::string& name : names) CHECK(names.count(name) == 1);
}

TEST_CASE("The catalogue text holds both files") {
  const std::string text = workload_catalogue_text();
  CHECK(text.find("gpt3-175b:") != std::string::npos);
  CHECK(text.find("megatron-2021:") != std::string::npos);
}

}  // namespace
}  // namespace trainyard
