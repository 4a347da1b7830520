#include "workloads/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "sim/config/text_file.hpp"
#include "sim/config/view.hpp"
#include "workloads/catalogue.hpp"
#include "workloads/data_section.hpp"
#include "workloads/low_rank.hpp"
#include "workloads/model_config.hpp"
#include "workloads/model_section.hpp"
#include "workloads/operators.hpp"
#include "workloads/profile_section.hpp"
#include "workloads/recommendation.hpp"
#include "workloads/routing_section.hpp"
#include "workloads/traces/trace_section.hpp"

namespace trainyard {
namespace {

constexpr const char* kDefaultSoftware = "megatron-core-2024";
constexpr const char* kDefaultPrecision = "bf16";

Schema model_schema() {
  std::vector<SchemaField> fields = architecture_fields();
  fields.insert(fields.begin(), schema::optional("config", schema::text("config.json, or Meta's params.json")));
  fields.push_back(schema::optional("dlrm", recommendation_schema()));
  return schema::one_of(
      {schema::text("catalogue name"), schema::object(std::move(fields), "a file, or the sizes written out")},
      "the model");
}

Schema software_schema() {
  std::vector<SchemaField> fields = software_switch_fields();
  std::vector<std::string> presets;
  for (const Software& software : software_presets()) presets.push_back(software.name);
  fields.insert(fields.begin(), schema::required("preset", schema::choice(presets, "preset to start from")));
  return schema::one_of(
      {schema::text("preset"), schema::object(std::move(fields), "a preset and what differs from it")},
      "what the training software fuses and overlaps");
}

Schema method_schema() {
  return schema::one_of({schema::choice({"backprop", "zeroth_order", "lora"}, "by name"),
                         schema::object({schema::required("lora", low_rank_schema())}, "a method with its options")},
                        "how weights are trained");
}

Schema convergence_schema() {
  return schema::object(
      {schema::required("steps", schema::number(above(0, 1e12), "steps to the target with a large batch")),
       schema::optional("critical_batch", schema::number(between(0, 1e12), "sequences"), "0"),
       schema::optional("multiplier", schema::number(above(0, 1e6), "factor on the steps"), "1")},
      "steps to the target: multiplier x steps x (1 + critical_batch / global_batch)");
}

/// One section being read; every mistake is collected.
class WorkloadBuilder {
 public:
  WorkloadBuilder(const ConfigValue& section, const std::string& directory, Diagnostics& diagnostics)
      : section_(section), directory_(directory), diagnostics_(diagnostics) {}

  Workload build() {
    refuse_methods();
    refuse_trace_keys();
    simple_values();
    const ProfileTable profile = section_["profile"] ? profile_table() : ProfileTable{};
    software();
    if (section_["profile"] && !section_["model"]) return measured(profile);
    if (is_recommendation()) return recommendation();
    const std::optional<Architecture> architecture = model();
    if (architecture && positions_suffice(*architecture)) passes(*architecture);
    if (section_["profile"] && profile.columns.empty() && diagnostics_.empty())
      diagnostics_.add(section_["profile"].place(), "the files hold no measured size");
    if (section_["profile"] && !result_.modules.empty()) measure_model(result_.modules.front(), profile, diagnostics_);
    if (section_["data"] && !result_.modules.empty()) read_data(section_["data"], directory_, result_, diagnostics_, joined_frames(architecture));
    return std::move(result_);
  }

  std::optional<Architecture> model() {
    const View value = section_["model"];
    if (!value) {
      diagnostics_.add(section_.place(), "`model` is missing");
      return std::nullopt;
    }
    if (value.is_scalar()) return catalogue_model(value);
    if (value["config"]) return config_model(value);
    result_.model = "written out";
    if (value["unet"] && value.size() > 1) {
      diagnostics_.add(value.place(), "`unet` stands alone");
      return std::nullopt;
    }
    return read_architecture(value, diagnostics_);
  }

 private:
  void not_simulated(const SourcePlace& place, std::string_view what) {
    diagnostics_.add(place, fmt::format("{} is not simulated yet", what));
  }

  void refuse_methods() {
    const View method = section_["method"];
    if (method && method.is_scalar() && method.text() == "zeroth_order") not_simulated(method.place(), "method " + method.text());
  }

  /// A trace is read elsewhere (traces/trace_section.hpp).
  void refuse_trace_keys() {
    for (const SchemaField& field : trace_fields())
      if (section_[field.name]) diagnostics_.add(section_[field.name].place(), field.name == "trace" ? "a trace cannot be trained beside others" : "is of a trace, and there is no `trace`");
  }

  double required_count(const char* key) {
    const View value = section_[key];
    if (!value) diagnostics_.add(section_.place(), fmt::format("`{}` is missing", key));
    return static_cast<double>(value.integer_or(1));
  }

  void simple_values() {
    const bool has_tokens = (section_["model"] || section_["sequence_length"] || !section_["profile"]) && !is_recommendation();
    result_.data.sequence_length = has_tokens ? required_count("sequence_length") : 0;
    result_.global_batch = required_count("global_batch");
    const std::string precision = section_["precision"].text_or(kDefaultPrecision);
    result_.precision = data_type_from(precision).value();
    if (result_.precision == DataType::fp8 || result_.precision == DataType::fp4) {
      result_.product_type = result_.precision;
      result_.precision = DataType::bf16;
    }
    read_saved_precision();
    result_.optimizer = section_["optimizer"].text_or("adam");
    if (result_.optimizer != "adam") not_simulated(section_["optimizer"].place(), "optimizer " + result_.optimizer);
    if (const View convergence = section_["convergence"])
      result_.convergence = {{convergence["steps"].number(), convergence["critical_batch"].number_or(0),
                              convergence["multiplier"].number_or(1)}};
  }

  void read_saved_precision() {
    const View value = section_["saved_precision"];
    if (!value) return;
    if (!result_.product_type) return diagnostics_.add(value.place(), "goes with a precision of fp8 or fp4");
    saved_type_ = data_type_from(value.text());
  }

  void software() {
    const View value = section_["software"];
    const View preset = value && value.is_map() ? value["preset"] : value;
    const std::string name = preset.text_or(kDefaultSoftware);
    const std::optional<Software> found = find_software(name);
    if (!found) {
      std::vector<std::string> known;
      for (const Software& software : software_presets()) known.push_back(software.name);
      diagnostics_.add(preset.place(), unknown_name("software preset", name, known));
      return;
    }
    result_.software = value && value.is_map() ? with_switches(*found, value.value()) : *found;
    gradient_types(value);
  }

  /// A 16-bit gradient type of a preset holds for training in that type: in any other precision such software keeps
  /// fp32 (Megatron-LM 2.x forces it for bf16). Asked for by name, the contradiction is a mistake.
  void gradient_types(const View& value) {
    const bool is_map = value && value.is_map();
    const auto settle = [&](const char* key, DataType& type) {
      if (type == DataType::fp32 || type == result_.precision) return;
      if (is_map && value[key])
        diagnostics_.add(value[key].place(), fmt::format("gradients in {} do not go with precision {}", name(type),
                                                         name(result_.precision)));
      type = DataType::fp32;
    };
    settle("gradient_type", result_.software.gradient_type);
    settle("gradient_reduce_type", result_.software.gradient_reduce_type);
  }

  std::optional<Architecture> catalogue_model(const View& value) {
    result_.model = value.text();
    if (const CatalogueModel* found = find_model(result_.model)) return found->architecture;
    std::vector<std::string> known;
    for (const CatalogueRecommendation& model : catalogue_recommendations()) known.push_back(model.name);
    for (const CatalogueModel& model : catalogue_models()) {
      known.push_back(model.name);
      known.insert(known.end(), model.aliases.begin(), model.aliases.end());
    }
    diagnostics_.add(value.place(), unknown_name("model", result_.model, known));
    return std::nullopt;
  }

  std::optional<Architecture> config_model(const View& value) {
    const View config = value["config"];
    result_.model = config.text();
    if (value.size() > 1) {
      diagnostics_.add(value.place(), "a model is a file (`config`) or written out, not both");
      return std::nullopt;
    }
    const std::string path = (std::filesystem::path(directory_) / config.text()).lexically_normal().string();
    const TextFile file = read_text_file(path);
    if (file.error.empty()) return read_model_config(file.text, path, diagnostics_);
    diagnostics_.add(config.place(), fmt::format("{}: {}", path, file.error));
    return std::nullopt;
  }

  /// Frames of a video that a patch joins; 0 without an encoder of images.
  static double joined_frames(const std::optional<Architecture>& a) { return a && a->vision && !a->vision->audio ? a->vision->frames : 0; }

  bool positions_suffice(const Architecture& a) {
    const double q = result_.data.sequence_length;
    if (a.unet) return levels_divide(*a.unet);
    if (a.positions != Positions::learned || q <= a.max_positions) return true;
    diagnostics_.add(
        section_["sequence_length"] ? section_["sequence_length"].place() : section_.place(),
        fmt::format("{:.0f} tokens, but {} has learned positions for {:.0f}", q, result_.model, a.max_positions));
    return false;
  }

  /// Each level of a UNet halves both sides of the latent image.
  bool levels_divide(const Unet& unet) {
    const double positions = std::pow(4, double(unet.channels.size()) - 1);
    if (std::fmod(result_.data.sequence_length, positions) != 0)
      diagnostics_.add(section_["sequence_length"].place(), fmt::format("{:.0f} positions of the latent image (its width x height) do not divide by {:.0f}, as {} levels of a UNet need",
                                                                        result_.data.sequence_length, positions, unet.channels.size()));
    for (const char* key : {"data", "profile"})
      if (section_[key]) diagnostics_.add(section_[key].place(), fmt::format("a UNet has no `{}`: its samples are images of one size", key));
    if (const View method = section_["method"]; method && !(method.is_scalar() && method.text() == "backprop")) not_simulated(method.place(), "a method beside a UNet");
    return diagnostics_.empty();
  }

  bool is_recommendation() const {
    const View model = section_["model"];
    return model && (model.is_map() ? bool(model["dlrm"]) : find_recommendation(model.text()) != nullptr);
  }

  /// Of a model whose samples have no tokens.
  Workload recommendation() {
    const View model = section_["model"];
    const CatalogueRecommendation* named = model.is_map() ? nullptr : find_recommendation(model.text());
    result_.model = named ? named->name : "dlrm";
    for (const char* key : {"sequence_length", "data", "profile", "routing"})
      if (section_[key]) diagnostics_.add(section_[key].place(), fmt::format("a recommendation model has no `{}`", key));
    if (!named && model.size() > 1) diagnostics_.add(section_["model"].place(), "`dlrm` stands alone");
    if (section_["method"] && result_.method != "backprop") not_simulated(section_["method"].place(), "a method beside dlrm");
    build_recommendation(named ? View(named->model) : model["dlrm"], {result_.precision, result_.software, 0, result_.product_type}, result_, diagnostics_);
    add_pass();
    return std::move(result_);
  }

  /// A profile that knows everything of its layers.
  Workload measured(const ProfileTable& table) {
    if (const View profile = section_["profile"]; profile_needs_model(profile)) {
      diagnostics_.add(profile.place(), fmt::format("format {} gives times only: `model` is missing", profile["format"].text()));
      return {};
    }
    result_.model = table.name;
    result_.modules = {measured_module(table, result_.precision, diagnostics_)};
    add_pass();
    if (section_["data"]) read_data(section_["data"], directory_, result_, diagnostics_);
    return std::move(result_);
  }

  /// What the profile says of the workload holds where the section says nothing.
  ProfileTable profile_table() {
    const View profile = section_["profile"];
    ProfileTable table = read_profile_section(profile, {directory_, result_.data.sequence_length}, diagnostics_);
    if (profile.is_scalar() && !table.precision) return table;  // the file cannot be read
    if (!table.precision && !section_["precision"])
      diagnostics_.add(profile.place(), "`precision` is missing: the profile does not say in which type it was measured");
    if (table.precision && !section_["precision"]) result_.precision = *table.precision;
    if (table.precision && *table.precision != result_.compute_type())
      diagnostics_.add(section_["precision"].place(),
                       fmt::format("the profile was measured in {}, not {}", name(*table.precision), name(result_.compute_type())));
    if (table.sequence_length && !section_["sequence_length"]) result_.data.sequence_length = *table.sequence_length;
    if (table.sequence_length && *table.sequence_length != result_.data.sequence_length)
      diagnostics_.add(section_["sequence_length"].place(), fmt::format("the profile was measured at sequences of {:.0f}, not {:.0f}",
                                                                        *table.sequence_length, result_.data.sequence_length));
    return table;
  }

  void passes(const Architecture& a) {
    const OperatorContext context{result_.precision, result_.software, result_.data.sequence_length, result_.product_type, saved_type_};
    result_.modules = {build_module(a, context)};
    method(context);
    if (const View frozen = section_["frozen"]) freeze(frozen, a, context);
    if (const View routing = section_["routing"]) read_routing(routing, directory_, result_, diagnostics_);
    add_pass();
  }

  /// Parts that are not trained: an encoder with nothing trained before it runs forward only.
  void freeze(const View& frozen, const Architecture& a, const OperatorContext& context) {
    if (!a.vision) return diagnostics_.add(frozen.place(), "frozen parts need a model with an encoder of images");
    if (result_.method != "backprop") return not_simulated(frozen.place(), "frozen with method lora");
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < frozen.size(); ++i) parts.push_back(frozen.at(i).text());
    const auto has = [&](const char* part) { return std::ranges::find(parts, part) != parts.end(); };
    for (LayerType& type : result_.modules.front().types) {
      const bool projects = type.name == "projector", sees = type.samples.width > 0 && !projects;
      if (!(projects ? has("projector") : sees ? has("vision") || has("audio") : has("language"))) continue;
      type = frozen_layer(type, context);
      type.samples.forward_only = (has("vision") || has("audio")) && (sees || projects);
    }
    if (parts.size() == 3) diagnostics_.add(frozen.place(), "nothing is left to train");
  }

  void add_pass() {
    Pass pass;
    pass.name = "train";
    pass.tokens_per_iteration = result_.data.sequence_length;
    result_.passes = {pass};
  }

  void method(const OperatorContext& context) {
    const View value = section_["method"];
    if (!value || (value.is_scalar() && value.text() != "lora")) return;
    const LowRankAdapters adapters = read_low_rank(value.is_map() ? value["lora"] : View(), diagnostics_);
    for (Module& module : result_.modules) module = with_adapters(std::move(module), adapters, context);
    result_.method = describe(adapters);
  }

  View section_;
  const std::string& directory_;
  Diagnostics& diagnostics_;
  std::optional<DataType> saved_type_;
  Workload result_;
};

}  // namespace

Schema workload_schema() {
  std::vector<SchemaField> fields{
      schema::optional("model", model_schema()),
      schema::optional("profile", profile_section_schema()),
      schema::optional("sequence_length", schema::integer(between(1, 1 << 24), "tokens of a sequence")),
      schema::optional("global_batch", schema::integer(between(1, 1 << 28), "sequences a step")),
      schema::optional("precision",
                       schema::choice({"fp16", "bf16", "fp32", "tf32", "fp8", "fp4"}, "type of weights and activations; tf32: fp32 with products on tensor cores; fp8 and fp4: of the layers' products, with bf16 weights and activations"),
                       kDefaultPrecision),
      schema::optional("saved_precision", schema::choice({"fp8"}, "type in which inputs of activations are kept for the backward pass, where narrower than they are, and attention's output once in 12 bits (DeepSeek-V3, arXiv 2412.19437 §3.3.3); inputs of fp8 products are kept in fp8 anyway")),
      schema::optional("optimizer", schema::choice({"adam", "sgd", "adafactor", "lion", "muon"}, "the optimizer"),
                       "adam"),
      schema::optional("software", software_schema(), kDefaultSoftware),
      schema::optional("method", method_schema(), "backprop"),
      schema::optional("convergence", convergence_schema()),
      schema::optional("routing", routing_schema(), "uniform"),
      schema::optional("data", data_schema()),
      schema::optional("frozen", schema::list(schema::choice({"vision", "audio", "projector", "language"}, "part"), between(1, 3), "parts of a model with images that are not trained"))};
  for (SchemaField& field : trace_fields()) fields.push_back(std::move(field));
  return schema::object(std::move(fields), "what is trained: model, data and training software");
}

Workload build_workload(const ConfigValue& section, const std::string& directory, Diagnostics& diagnostics) {
  return WorkloadBuilder(section, directory, diagnostics).build();
}

std::optional<Architecture> build_architecture(const ConfigValue& section, const std::string& directory,
                                               Diagnostics& diagnostics) {
  return WorkloadBuilder(section, directory, diagnostics).model();
}

}  // namespace trainyard
