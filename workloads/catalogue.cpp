#include "workloads/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/config/view.hpp"
#include "sim/units/error.hpp"
#include "workloads/model_section.hpp"
#include "workloads/operators.hpp"
#include "workloads/recommendation.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {

std::string_view workloads_models();    // the text of models.yaml, made by trainyard_embed
std::string_view workloads_recommendation();  // the text of recommendation.yaml
std::string_view workloads_software();  // the text of software.yaml

namespace {

ConfigValue read_catalogue(std::string_view text, const char* file, const Schema& schema) {
  Diagnostics diagnostics;
  ConfigValue root = read_yaml_text(std::string(text), file, diagnostics);
  if (diagnostics.empty()) check(root, schema, diagnostics);
  require(diagnostics.empty(), diagnostics.text());
  return root;
}

Schema models_schema() {
  std::vector<SchemaField> fields = architecture_fields();
  fields.push_back(schema::optional("aliases", schema::list(schema::text("other name"), between(1, 9), "other names")));
  fields.push_back(schema::required("parameters", schema::number(above(0, 1e15), "published count")));
  fields.push_back(schema::required("rounding", schema::number(above(0, 1e15), "unit of its last digit")));
  fields.push_back(schema::optional("active", schema::number(above(0, 1e15), "published count of those that one token meets")));
  fields.push_back(schema::optional("active_rounding", schema::number(above(0, 1e15), "unit of its last digit")));
  fields.push_back(schema::required("source", schema::text("where the sizes were read")));
  return schema::mapping("model", schema::object(std::move(fields), "a model"), "models by name");
}

CatalogueModel read_model(const std::string& name, const View& entry, const Architecture& architecture) {
  CatalogueModel model{name,         entry["source"].text(),       {},
                       architecture, entry["parameters"].number(), entry["rounding"].number(), entry["active"].number_or(0),
                       entry["active_rounding"].number_or(0)};
  for (std::size_t i = 0; i < entry["aliases"].size(); ++i) model.aliases.push_back(entry["aliases"].at(i).text());
  return model;
}

/// A name that stands twice among names and aliases would hide an entry.
void refuse_repeated_names(const std::vector<CatalogueModel>& models) {
  std::set<std::string> seen;
  for (const CatalogueModel& model : models) {
    require(seen.insert(model.name).second, "models.yaml: the name " + model.name + " is taken already");
    for (const std::string& alias : model.aliases)
      require(seen.insert(alias).second, "models.yaml: the name " + alias + " is taken already");
  }
}

std::vector<CatalogueModel> read_models() {
  const ConfigValue root = read_catalogue(workloads_models(), "models.yaml", models_schema());
  std::vector<CatalogueModel> result;
  Diagnostics diagnostics;
  for (const std::string& name : View(root).keys()) {
    const View entry = View(root)[name];
    const std::optional<Architecture> architecture = read_architecture(entry, diagnostics);
    require(architecture.has_value(), diagnostics.text());
    result.push_back(read_model(name, entry, *architecture));
  }
  refuse_repeated_names(result);
  return result;
}

std::vector<Software> read_software() {
  std::vector<SchemaField> fields = software_switch_fields();
  for (SchemaField& field : fields) field.required = true;
  fields.push_back(schema::required("source", schema::text("where the switches were read")));
  const Schema schema = schema::mapping("preset", schema::object(std::move(fields), "a preset"), "presets by name");
  const ConfigValue root = read_catalogue(workloads_software(), "software.yaml", schema);
  std::vector<Software> result;
  for (const std::string& name : View(root).keys()) {
    Software software = with_switches({}, View(root)[name].value());
    software.name = name;
    software.source = View(root)[name]["source"].text();
    result.push_back(std::move(software));
  }
  return result;
}

std::vector<CatalogueRecommendation> read_recommendations() {
  const Schema entry = schema::object({schema::required("dlrm", recommendation_schema()),
                                       schema::required("parameters", schema::number(above(0, 1e15), "published count")),
                                       schema::required("rounding", schema::number(above(0, 1e15), "unit of its last digit")),
                                       schema::required("source", schema::text("where the sizes were read"))},
                                      "a model");
  const ConfigValue root = read_catalogue(workloads_recommendation(), "recommendation.yaml", schema::mapping("model", entry, "models by name"));
  std::vector<CatalogueRecommendation> result;
  for (const std::string& name : View(root).keys()) {
    const View model = View(root)[name];
    result.push_back({name, model["source"].text(), model["parameters"].number(), model["rounding"].number(), model["dlrm"].value()});
  }
  return result;
}

}  // namespace

const std::vector<CatalogueRecommendation>& catalogue_recommendations() {
  static const std::vector<CatalogueRecommendation> models = read_recommendations();
  return models;
}

const CatalogueRecommendation* find_recommendation(const std::string& name) {
  const auto& all = catalogue_recommendations();
  const auto found = std::ranges::find(all, name, &CatalogueRecommendation::name);
  return found == all.end() ? nullptr : &*found;
}

const std::vector<CatalogueModel>& catalogue_models() {
  static const std::vector<CatalogueModel> models = read_models();
  return models;
}

const CatalogueModel* find_model(const std::string& name) {
  const auto& all = catalogue_models();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CatalogueModel& model) {
    return model.name == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end();
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<ModelEntry> model_catalogue() {
  std::vector<ModelEntry> result;
  for (const CatalogueModel& model : catalogue_models()) {
    const double parameters = parameter_count(build_module(model.architecture, {}));
    result.push_back({model.name, model.aliases,
                      fmt::format("{}, {} parameters", describe(model.architecture), parameters_text(parameters)),
                      details_text(model.architecture), model.source, parameters});
  }
  for (const CatalogueRecommendation& model : catalogue_recommendations()) {
    const double parameters = parameter_count(recommendation_module(model));
    result.push_back({model.name, {}, fmt::format("recommendation, {} parameters", parameters_text(parameters)), "embedding tables and MLPs\n",
                      model.source, parameters});
  }
  return result;
}

std::vector<Software> software_presets() {
  static const std::vector<Software> presets = read_software();
  return presets;
}

std::optional<Software> find_software(const std::string& name) {
  for (const Software& software : software_presets())
    if (software.name == name) return software;
  return std::nullopt;
}

std::string workload_catalogue_text() { return fmt::format("{}{}", workloads_models(), workloads_recommendation()) + std::string(workloads_software()); }

}  // namespace trainyard
