// torchtitan: TOML files and `--section.key` flags, and what they mean together. Source of the rules:
// pytorch/torchtitan torchtitan/config/job_config.py (commit 000204a).
#include "sim/scenario/launch/torchtitan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "sim/scenario/launch/frameworks.hpp"
#include "sim/scenario/launch/scenario_settings.hpp"
#include "workloads/catalogue.hpp"

namespace trainyard::launch {
namespace {

std::string truth(bool value) { return value ? "true" : "false"; }

std::string value_text(const toml::node& node) {
  if (const auto* list = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *list) items.push_back(value_text(item));
    return fmt::format("{}", fmt::join(items, ","));
  }
  if (const auto text = node.value<std::string>()) return *text;
  if (const auto* flag = node.as_boolean()) return truth(flag->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return "";
}

void flatten(const toml::table& table, const std::string& prefix, const std::shared_ptr<const SourceFile>& file,
             std::vector<Given>& into) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, name + ".", file, into);
      continue;
    }
    const auto& at = key.source().begin;
    const SourcePlace place{file, static_cast<int>(at.line), static_cast<int>(at.column), ""};
    into.push_back({name, {{value_text(node), place, ""}}, place});
  }
}

std::shared_ptr<const SourceFile> lines_of(const std::string& text, const std::string& name) {
  auto file = std::make_shared<SourceFile>(SourceFile{name, {}});
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) file->lines.push_back(line);
  return file;
}

std::vector<Given> given_in_toml(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  std::vector<Given> given;
  const auto file = lines_of(text, name);
  try {
    flatten(toml::parse(text), "", file, given);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    diagnostics.add({file, static_cast<int>(at.line), static_cast<int>(at.column), ""},
                    std::string(error.description()));
  }
  std::ranges::stable_sort(given, {}, [](const Given& it) { return it.place.line; });
  return given;
}

/// `--parallelism.tensor-parallel-degree 4` as the key of the file; a flag alone is true.
std::vector<Given> given_as_flags(const LaunchScript& script, Diagnostics& diagnostics) {
  std::vector<Given> given = given_arguments(script.arguments, diagnostics);
  for (Given& argument : given) {
    argument.name = argument.name.substr(2);
    std::ranges::replace(argument.name, '-', '_');
    if (argument.values.empty()) argument.values.push_back({"true", argument.place, ""});
  }
  return given;
}

void read_torchtitan(const std::string& text, const std::string& file, Reading& into, Diagnostics& diagnostics) {
  if (file.ends_with(".toml"))
    return read_arguments(torchtitan_table(), given_in_toml(text, file, diagnostics), into, diagnostics);
  const LaunchScript script = read_launch_script(text, file, diagnostics);
  if (!diagnostics.empty()) return;
  read_launcher(script, into, diagnostics);
  std::vector<Given> all, flags = given_as_flags(script, diagnostics);
  for (const Given& flag : flags)
    if (flag.name == "job.config_file") {
      if (!flag.values[0].unknown.empty()) return diagnostics.add(flag.values[0].place, flag.values[0].unknown);
      const std::string path = (std::filesystem::path(file).parent_path() / flag.values[0].text).string();
      all = given_in_toml(text_of(path), path, diagnostics);
    }
  all.insert(all.end(), flags.begin(), flags.end());
  read_arguments(torchtitan_table(), all, into, diagnostics);
}

class Interpretation {
 public:
  Interpretation(Reading& reading, Diagnostics& diagnostics)
      : r_(reading), s_(reading.settings), diagnostics_(diagnostics) {}

  void run() {
    model();
    precision();
    shards();
    experts();
    pipeline();
    batches();
    recompute();
    s_.set("plan.sequence_parallel", truth(s_.count("plan.tensor", 1) > 1));
    s_.set("software.gradient_clipping", truth(std::stod(s_.get("raw.max_norm")) > 0));
    for (const std::string& key : s_.keys("raw.")) s_.drop("raw." + key);
  }

 private:
  void mistake(std::string_view key, std::string message) { diagnostics_.add(r_.place(key), std::move(message)); }

  void model() {
    const bool latent = s_.is("raw.name", "deepseek_v3");
    const char* flavors = latent ? "16B, 236B or 671B" : "8B, 70B or 405B";
    if (!s_.has("workload.model")) return mistake("workload.model", fmt::format("model.flavor is missing: {}", flavors));
    if (latent != s_.get("workload.model").starts_with("deepseek"))
      mistake("workload.model", fmt::format("model.flavor of {}: {}", s_.get("raw.name"), flavors));
  }

  void precision() {
    s_.set("workload.precision", s_.get("raw.precision"));
    const std::string converters = s_.get("raw.converters");
    if (converters == "float8")
      s_.set("workload.precision", "fp8");
    else if (!converters.empty())
      mistake("raw.converters", fmt::format("model.converters: \"{}\" is not simulated, float8 is", converters));
  }

  void shards() {
    const std::int64_t world = s_.count("job.nodes", 1) * s_.count("job.gpus_per_node", 0);
    const std::int64_t others = s_.count("plan.data", 1) * s_.count("plan.tensor", 1) * s_.count("plan.pipeline", 1) *
                                s_.count("plan.context", 1);
    std::int64_t shard = s_.count("raw.shard", -1);
    if (shard == -1) shard = others > 0 && world % others == 0 ? std::max<std::int64_t>(1, world / others) : 1;
    if (shard < 1) return mistake("raw.shard", "parallelism.data_parallel_shard_degree: -1 or at least 1");
    s_.set("plan.shard", shard);
    s_.set("plan.zero", shard > 1 ? "3" : "0");
    const std::string reshard = s_.get("raw.reshard");
    if (shard > 1)
      s_.set("plan.regather",
             truth(reshard == "always" || (reshard == "default" && s_.count("plan.pipeline", 1) == 1)));
    if (s_.is("raw.offload", "true"))
      for (const char* state : {"weights", "gradients", "optimizer"})
        s_.set(fmt::format("plan.home.{}", state), "host");
  }

  /// Experts are whole, over neighbouring ranks of data, context and tensor axes, or cut as the rest.
  void experts() {
    const std::int64_t ranks = s_.count("raw.expert", 1), slices = s_.count("raw.expert_tensor", 1), tensor = s_.count("plan.tensor", 1);
    if (ranks > 1 && !s_.is("raw.name", "deepseek_v3")) return mistake("raw.expert", "parallelism.expert_parallel_degree: the model has no experts");
    if (ranks < 1 || (slices != 1 && slices != tensor))
      return mistake(ranks < 1 ? "raw.expert" : "raw.expert_tensor", "parallelism.expert_tensor_parallel_degree: 1 or the tensor axis; expert_parallel_degree: at least 1");
    if (ranks == 1) return;
    s_.set("plan.expert", ranks);
    s_.set("plan.expert_tensor", slices);
  }

  void pipeline() {
    const std::int64_t stages = s_.count("plan.pipeline", 1), each = s_.count("raw.layers_per_stage", 0);
    const CatalogueModel* model = find_model(s_.get("workload.model"));
    if (stages == 1 || model == nullptr) return;
    const auto layers = static_cast<std::int64_t>(model->architecture.layers);
    if (each == 0 && s_.is("plan.schedule", "interleaved")) s_.set("plan.chunks", 2);
    if (each > 0 && layers % (stages * each) == 0) s_.set("plan.chunks", layers / stages / each);
    if (each > 0 && layers % (stages * each) != 0)
      mistake("raw.layers_per_stage",
              fmt::format("{} layers do not divide over {} stages in parts of {}", layers, stages, each));
    r_.notes.push_back(
        "parallelism.pipeline_parallel_degree: stages get equal numbers of layers; torchtitan counts embedding and "
        "head in its split");
  }

  void batches() {
    const std::int64_t local = s_.count("raw.local_batch", 1), piece = s_.count("raw.micro_batch", 1),
                       global = s_.count("raw.global_batch", -1);
    const std::int64_t ranks = s_.count("plan.data", 1) * s_.count("plan.shard", 1);
    const bool deep = s_.count("plan.pipeline", 1) > 1;
    s_.set("plan.micro_batch", deep ? piece : local);
    s_.set("workload.global_batch", global == -1 ? local * ranks : global);
    if (deep && (piece < 1 || local % piece != 0))
      mistake(
          "raw.micro_batch",
          fmt::format("training.local_batch_size {} is no multiple of parallelism.pipeline_parallel_microbatch_size {}",
                      local, piece));
    if (deep && global != -1 && global != local * ranks)
      mistake("raw.global_batch", fmt::format("training.global_batch_size {} with training.local_batch_size {} on {} "
                                              "ranks runs the pipeline several times a step, which is not simulated",
                                              global, local, ranks));
  }

  void recompute() {
    const std::string mode = s_.get("raw.recompute");
    s_.set("plan.recompute", mode);
    if (mode != "selective") return;
    if (s_.is("raw.recompute_option", "1")) return s_.set("plan.recompute", "full");
    const std::string said = r_.places.contains("raw.recompute") ? "" : " (the default)";
    mistake("raw.recompute",
            fmt::format("activation_checkpoint.mode: selective{} by \"{}\" is not simulated; none and full are", said,
                        s_.get("raw.recompute_option")));
  }

  Reading& r_;
  Settings& s_;
  Diagnostics& diagnostics_;
};

void torchtitan_to_settings(Reading& reading, Diagnostics& diagnostics) { Interpretation(reading, diagnostics).run(); }

bool same_model(const Settings& s, const Settings& other) {
  return s.keys("model.") == other.keys("model.") && std::ranges::all_of(s.keys("model."), [&](const std::string& key) {
           return s.get("model." + key) == other.get("model." + key);
         });
}

/// The flavor whose sizes these are; false where there is none.
bool say_flavor(Settings& s) {
  for (const char* name : {"llama-3-8b", "llama-3-70b", "llama-3-405b", "deepseek-v2-lite", "deepseek-v2", "deepseek-v3"}) {
    Settings flavor;
    add_model(find_model(name)->architecture, flavor);
    if (!same_model(s, flavor)) continue;
    for (const std::string& key : s.keys("model.")) s.drop("model." + key);
    s.set("workload.model", name);
    s.set("raw.name", std::string_view(name).starts_with("deepseek") ? "deepseek_v3" : "llama3");
    return true;
  }
  return false;
}

std::string say_shards(Settings& s) {
  const std::int64_t shard = s.count("plan.shard", 1), zero = s.count("plan.zero", 0);
  const std::int64_t replicas = s.count("plan.data", 1);
  if (shard > 1 ? zero != 3 : zero != 0 && replicas > 1) return fmt::format("zero {} with `shard` {}", zero, shard);
  s.set("raw.shard", shard);
  s.set("raw.reshard", s.is("plan.regather", "false") ? "never" : "always");
  if (!s.has("plan.regather") || s.is("plan.regather", truth(s.count("plan.pipeline", 1) == 1)))
    s.set("raw.reshard", "default");
  for (const char* key : {"plan.shard", "plan.zero", "plan.regather"}) s.drop(key);
  const std::vector<std::string> homes = s.keys("plan.home.");
  const bool all = homes.size() == 3 && std::ranges::all_of(homes, [&](const std::string& state) {
                     return s.is("plan.home." + state, "host") && state != "activations" && state != "kv";
                   });
  if (all)
    for (const std::string& state : homes) s.drop("plan.home." + state);
  s.set("raw.offload", truth(all));
  return "";
}

void say_experts(Settings& s) {
  s.set("raw.expert", s.count("plan.expert", 1));
  s.set("raw.expert_tensor", s.count("plan.expert_tensor", 1));
  for (const char* key : {"plan.expert", "plan.expert_tensor"}) s.drop(key);
}

std::string say_batches(Settings& s, std::int64_t ranks) {
  const std::int64_t global = s.count("workload.global_batch", 1), piece = s.count("plan.micro_batch", 1);
  const bool deep = s.count("plan.pipeline", 1) > 1;
  const std::int64_t local = deep ? global / ranks : piece;
  s.set("raw.local_batch", local);
  if (deep) s.set("raw.micro_batch", piece);
  if (global != local * ranks) s.set("raw.global_batch", global);
  s.drop("workload.global_batch");
  s.drop("plan.micro_batch");
  return "";
}

std::string torchtitan_from_settings(Settings& s) {
  if (s.has("plan.layers")) return fmt::format("stages of {} layers", s.get("plan.layers"));
  const std::int64_t ranks = s.count("plan.data", 1) * s.count("plan.shard", 1), layers = s.count("model.layers", 1);
  if (!say_flavor(s)) return "a model other than Llama 3 8B, 70B or 405B and DeepSeek-V2 and V3";
  if (const std::string why = say_shards(s); !why.empty()) return why;
  say_experts(s);
  if (s.is("plan.sequence_parallel", "true") != (s.count("plan.tensor", 1) > 1))
    return "a tensor axis without sequence parallelism";
  s.drop("plan.sequence_parallel");
  const std::string precision = s.get("workload.precision");
  s.set("raw.precision", precision == "fp8" ? "bf16" : precision);
  if (precision == "fp8") s.set("raw.converters", "float8");
  if (precision == "fp16" || precision == "fp4") return fmt::format("precision {}", precision);
  s.drop("workload.precision");
  if (const std::int64_t chunks = s.count("plan.chunks", 1); chunks > 1)
    s.set("raw.layers_per_stage", layers / chunks / s.count("plan.pipeline", 1));
  s.drop("plan.chunks");
  const std::string recompute = s.get("plan.recompute");
  if (recompute != "none" && recompute != "full") return fmt::format("recompute {}", recompute);
  s.set("raw.recompute", recompute);
  s.drop("plan.recompute");
  if (s.count("plan.context", 1) == 1) s.drop("plan.context_kind");
  s.set("raw.max_norm", s.is("software.gradient_clipping", "true") ? "1.0" : "0.0");
  s.drop("software.gradient_clipping");
  return say_batches(s, ranks);
}

std::string write_torchtitan(const Settings& settings,
                             const std::vector<std::pair<std::string, std::string>>& arguments) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const auto& [name, value] : arguments) flags.emplace_back("--" + name, value);
  return launch_line(torchrun(settings), "-m torchtitan.train", flags);
}

}  // namespace

const Framework& torchtitan() {
  static const Framework framework{"torchtitan",    "torchtitan",           "torchtitan-2024",        torchtitan_table,
                                   read_torchtitan, torchtitan_to_settings, torchtitan_from_settings, write_torchtitan};
  return framework;
}

}  // namespace trainyard::launch
