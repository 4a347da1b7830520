// DeepSpeed: the launch of a Megatron-DeepSpeed program and its JSON configuration. Names:
// deepspeedai/Megatron-DeepSpeed megatron/arguments.py and DeepSpeed's "Configuration JSON" page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/scenario/launch/frameworks.hpp"
#include "sim/scenario/launch/megatron.hpp"
#include "sim/scenario/launch/megatron_experts.hpp"

namespace trainyard::launch {
namespace {

using enum Takes;
constexpr const char* kConfigFile = "ds_config.json";
const std::vector<Spelling> kTruth{{"true", "true"}, {"false", "false"}};

std::vector<Argument> configuration() {
  const std::vector<Spelling> places{{"none", "device"}, {"cpu", "host"}, {"nvme", "storage"}};
  return {{"train_batch_size", "workload.global_batch"},
          {"train_micro_batch_size_per_gpu", "plan.micro_batch"},
          {"gradient_accumulation_steps", "raw.accumulation", count, "", {}, true},
          {"fp16.enabled", "raw.fp16", word, "false", kTruth},
          {"bf16.enabled", "raw.bf16", word, "false", kTruth},
          {"gradient_clipping", "raw.clip", number, "0.0"},
          {"zero_optimization.stage", "plan.zero", count, "0"},
          {"zero_optimization.overlap_comm", "software.overlap_gradient_reduce", word, "", kTruth},
          {"zero_optimization.offload_optimizer.device", "plan.home.optimizer", word, "device", places},
          {"zero_optimization.offload_param.device", "plan.home.weights", word, "device", places}};
}

std::vector<Argument> own_arguments() {
  return {{"--num-key-value-heads", "raw.query_groups"},
          {"--use-rotary-position-embeddings", "model.positions", nothing, "learned", {{"", "rotary"}}},
          {"--normalization", "model.norm", word, "layer", {{"layernorm", "layer"}, {"rmsnorm", "rms"}}},
          {"--ds-sequence-parallel-size", "plan.context", count, "1"},
          {"--zero-stage", "plan.zero", count, "", {}, true},
          {"--cpu-optimizer", "plan.home.optimizer", nothing, "", {{"", "host"}}, true},
          {"--checkpoint-activations", "raw.recompute", nothing, "", {{"", "full"}}, true},
          {"--checkpoint-num-layers", "raw.recompute_layers", count, "", {}, true},
          {"--use-flash-attn-v2", "software.attention", nothing, "fused_softmax", {{"", "flash_2"}}},
          {"--use-flash-attn-triton", "software.attention", nothing, "", {{"", "flash_triton"}}},
          {"--use-flash-attn", "software.attention", nothing, "", {{"", "flash_1"}}},
          {"--no-masked-softmax-fusion", "software.attention", nothing, "", {{"", "unfused"}}},
          {"--deepspeed_config", "raw.config", word, "", {}, true}};
}

/// Megatron's arguments that DeepSpeed's programs lack or that its configuration says.
bool is_replaced(const Argument& argument) {
  static const std::set<std::string_view> names{"--group-query-attention",
                                                "--num-query-groups",
                                                "--position-embedding-type",
                                                "--use-rotary-position-embeddings",
                                                "--normalization",
                                                "--qk-layernorm",
                                                "--add-qkv-bias",
                                                "--fp8-format",
                                                "--fp4-format",
                                                "--clip-grad",
                                                "--context-parallel-size",
                                                "--cp-comm-type",
                                                "--num-layers-per-virtual-pipeline-stage",
                                                "--num-virtual-stages-per-pipeline-rank",
                                                "--decoder-first-pipeline-num-layers",
                                                "--decoder-last-pipeline-num-layers",
                                                "--account-for-embedding-in-pipeline-split",
                                                "--account-for-loss-in-pipeline-split",
                                                "--use-tp-pp-dp-mapping",
                                                "--use-distributed-optimizer",
                                                "--optimizer-cpu-offload",
                                                "--overlap-grad-reduce",
                                                "--overlap-param-gather",
                                                "--grad-reduce-in-bf16",
                                                "--attention-backend",
                                                "--use-flash-attn",
                                                "--transformer-impl",
                                                "--cross-entropy-loss-fusion",
                                                "--no-rope-fusion",
                                                "--enable-cuda-graph",
                                                "--external-cuda-graph",
                                                "--no-overlap-p2p-communication",
                                                "--no-async-tensor-model-parallel-allreduce",
                                                "--recompute-modules"};
  return names.contains(argument.name);
}

std::vector<Remark> remarks() {
  using enum Effect;
  return {
      {"--checkpoint-in-cpu", refused, "checkpoints on the host are not read: write `home` in the Plan"},
      {"--deepspeed", none, ""},
      {"--deepspeed-activation-checkpointing", none, ""},
      {"--no-pipeline-parallel", none, ""},
      {"--deepspeed_mpi", none, ""},
      {"--clip-grad", not_simulated, "gradient_clipping of the configuration holds"},
      {"--num-layers-per-virtual-pipeline-stage", refused, "DeepSpeed's pipeline has no chunks"},
      {"--use-distributed-optimizer", refused, "zero_optimization.stage says it"},
      {"--no-async-tensor-model-parallel-allreduce", not_simulated,
       "collectives of the tensor axis stand between products"},
      {"--curriculum-*", refused, "curricula change the sequence length; not read"},
      {"--random-ltd", refused, "dropped tokens are not simulated"},
      {"--mos", refused, "mixtures of students are not read"},
      {"--kd*", refused, "distillation is not simulated"},
      {"--ds-sequence-parallel-fpdt*", refused, "sequences in pieces on the host are not simulated"},
      {"--use-*uri", none, ""},
      {"steps_per_print", none, ""},
      {"wall_clock_breakdown", none, ""},
      {"dump_state", none, ""},
      {"prescale_gradients", none, ""},
      {"zero_allow_untested_optimizer", none, ""},
      {"zero_force_ds_cpu_optimizer", none, ""},
      {"fp16.*", none, ""},
      {"tensorboard.*", none, ""},
      {"wandb.*", none, ""},
      {"csv_monitor.*", none, ""},
      {"flops_profiler.*", none, ""},
      {"comms_logger.*", none, ""},
      {"checkpoint.*", none, ""},
      {"optimizer.params.*", none, ""},
      {"scheduler.*", none, ""},
      {"optimizer.type", not_simulated, "the optimizer is Adam"},
      {"bf16.*", not_simulated, "gradients are kept in fp32"},
      {"communication_data_type", not_simulated, "gradients travel in the type they are kept in"},
      {"data_types.*", not_simulated, "gradients are kept in fp16, with bf16 weights in fp32"},
      {"zero_optimization.*bucket_size", not_simulated, "buckets are the software's"},
      {"zero_optimization.contiguous_gradients", none, ""},
      {"zero_optimization.round_robin_gradients", none, ""},
      {"zero_optimization.reduce_scatter", none, ""},
      {"zero_optimization.allgather_partitions", none, ""},
      {"zero_optimization.offload_*.*", not_simulated, "copies to the host have the links' rates"},
      {"zero_optimization.stage3_*", not_simulated, "weights are gathered layer by layer"},
      {"zero_optimization.sub_group_size", not_simulated, "weights are gathered layer by layer"},
      {"zero_optimization.zero_hpz_partition_size", refused, "a second partition of the weights is not simulated"},
      {"zero_optimization.zero_quantized_*", refused, "quantised collectives are not read: write `wire` in the Plan"},
      {"zero_optimization.mics_*", refused, "MiCS is not read: write `shard` in the Plan"},
      {"activation_checkpointing.cpu_checkpointing", refused,
       "checkpoints on the host are not read: write `home` in the Plan"},
      {"activation_checkpointing.*", not_simulated, "the program's arguments say what is recomputed"},
      {"amp.*", refused, "apex is not read"},
      {"sparse_attention.*", refused, "sparse attention is not simulated"},
      {"compression_training.*", refused, "compression is not simulated"},
      {"data_efficiency.*", refused, "data efficiency is not simulated"},
      {"curriculum_learning.*", refused, "curricula change the sequence length; not read"},
      {"autotuning.*", none, ""},
      {"--num-experts", refused, "mixtures of experts are not read"},
      {"--moe-*", refused, "mixtures of experts are not read"},
      {"--expert-*", refused, "mixtures of experts are not read"},
      {"--multi-latent-attention", refused, "latent attention is not read"},
      {"--mtp-*", refused, "multi-token prediction is not read"}};
}

/// Megatron-DeepSpeed's own experts have other arguments.
bool is_of_experts(const Argument& argument) {
  static const std::vector<Argument> all = expert_arguments();
  return std::ranges::find(all, argument.name, &Argument::name) != all.end();
}

const ArgumentTable& deepspeed_table() {
  static const ArgumentTable table = [] {
    ArgumentTable built{"Megatron-DeepSpeed", {}, remarks()};
    std::ranges::copy_if(megatron_table().arguments, std::back_inserter(built.arguments),
                         [](const Argument& it) { return !is_replaced(it) && !is_of_experts(it); });
    for (Argument& argument : built.arguments)
      if (argument.name == "--recompute-method") argument.absent = "uniform";
    std::ranges::copy(own_arguments(), std::back_inserter(built.arguments));
    std::ranges::copy(configuration(), std::back_inserter(built.arguments));
    std::ranges::copy(megatron_table().remarks, std::back_inserter(built.remarks));
    return built;
  }();
  return table;
}

void flatten(const ConfigValue& map, const std::string& prefix, std::vector<Given>& into) {
  for (std::size_t i = 0; i < map.items.size(); ++i) {
    const ConfigValue& value = map.items[i];
    const std::string name = prefix + map.keys[i].first;
    if (value.kind == ConfigValue::Kind::map) {
      flatten(value, name + ".", into);
      continue;
    }
    SourcePlace place = map.keys[i].second, value_place = value.place;
    place.path.clear();
    value_place.path.clear();
    into.push_back({name, {{value.scalar, value_place, ""}}, place});
  }
}

std::vector<Given> given_in_json(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  std::vector<Given> given;
  const ConfigValue root = read_yaml_text(text, name, diagnostics);  // JSON is YAML, and this reader knows places
  if (root.kind == ConfigValue::Kind::map)
    flatten(root, "", given);
  else if (diagnostics.empty())
    diagnostics.add(root.place, "expected a JSON object");
  return given;
}

/// The configuration that `--deepspeed_config` names: a here-document of the script, or a file beside it.
std::vector<Given> configuration_of(const std::vector<Given>& given, const LaunchScript& script,
                                    const std::string& file, Diagnostics& diagnostics) {
  for (const Given& argument : given) {
    if (argument.name != "--deepspeed_config" || argument.values.empty() || !argument.values[0].unknown.empty())
      continue;
    const std::string& name = argument.values[0].text;
    const auto document = script.documents.find(name);
    const std::string path = (std::filesystem::path(file).parent_path() / name).string();
    return document != script.documents.end() ? given_in_json(document->second, name, diagnostics)
                                              : given_in_json(text_of(path), path, diagnostics);
  }
  return {};
}

void read_deepspeed(const std::string& text, const std::string& file, Reading& into, Diagnostics& diagnostics) {
  if (file.ends_with(".json"))
    return read_arguments(deepspeed_table(), given_in_json(text, file, diagnostics), into, diagnostics);
  const LaunchScript script = read_launch_script(text, file, diagnostics);
  if (!diagnostics.empty()) return;
  read_launcher(script, into, diagnostics);
  std::vector<Given> all = given_arguments(script.arguments, diagnostics);
  const std::vector<Given> config = configuration_of(all, script, file, diagnostics);
  all.insert(all.end(), config.begin(), config.end());
  read_arguments(deepspeed_table(), all, into, diagnostics);
}

/// The global batch where only the accumulation is said, as DeepSpeed works it out.
void accumulate(Reading& r, Diagnostics& diagnostics) {
  Settings& s = r.settings;
  const std::int64_t replica =
      std::max<std::int64_t>(1, s.count("plan.tensor", 1) * s.count("plan.pipeline", 1) * s.count("plan.context", 1));
  const std::int64_t ranks = s.count("job.nodes", 1) * s.count("job.gpus_per_node", 1) / replica;
  const std::int64_t batch = s.count("raw.accumulation", 1) * s.count("plan.micro_batch", 1) * ranks;
  if (!s.has("raw.accumulation") || s.get("raw.accumulation") == "auto") return;
  if (!s.has("workload.global_batch")) return s.set("workload.global_batch", batch);
  if (s.count("workload.global_batch", 1) != batch)
    diagnostics.add(r.place("raw.accumulation"), fmt::format("train_batch_size {} is not gradient_accumulation_steps "
                                                             "{} x train_micro_batch_size_per_gpu {} x {} data ranks",
                                                             s.get("workload.global_batch"), s.get("raw.accumulation"),
                                                             s.get("plan.micro_batch"), ranks));
}

void deepspeed_to_settings(Reading& r, Diagnostics& diagnostics) {
  Settings& s = r.settings;
  if (s.has("raw.query_groups") && s.get("raw.query_groups") != s.get("model.heads"))
    s.set("raw.group_query", "true");
  else
    s.drop("raw.query_groups");
  if (!s.is("raw.recompute", "full")) s.drop("raw.recompute_method");
  s.set("raw.transformer", "local");
  accumulate(r, diagnostics);
  if (s.count("plan.zero", 0) > 3) diagnostics.add(r.place("plan.zero"), "zero_optimization.stage: 0 to 3");
  if (s.count("plan.zero", 0) > 1 && s.count("plan.pipeline", 1) > 1)
    diagnostics.add(r.place("plan.zero"), "DeepSpeed's pipeline goes with zero_optimization.stage 0 or 1");
  if (!s.has("software.overlap_gradient_reduce"))  // DeepSpeed's default
    s.set("software.overlap_gradient_reduce", s.is("plan.zero", "3") ? "true" : "false");
  s.set("plan.context_kind", "ulysses");
  megatron_to_settings(r, diagnostics);
  for (const char* key : {"software.cached_gradient_dummies", "software.overlap_tensor"}) s.set(key, "false");
}

std::string deepspeed_from_settings(Settings& s) {
  if (!s.is("plan.schedule", "1f1b")) return fmt::format("schedule {}", s.get("plan.schedule"));
  if (s.count("plan.chunks", 1) > 1) return "several `chunks` in a stage";
  if (s.has("plan.layers")) return fmt::format("stages of {} layers", s.get("plan.layers"));
  const std::int64_t zero = s.count("plan.zero", 0);
  if (zero > 1 && s.count("plan.pipeline", 1) > 1) return fmt::format("zero {} with a pipeline", zero);
  if (s.count("plan.shard", 1) > 1) return "a `shard` axis (`zero` over the data axis is what its stages mean)";
  if (s.count("plan.context", 1) == 1) s.set("plan.context_kind", "ulysses");
  if (!s.is("plan.context_kind", "ulysses")) return fmt::format("context_kind {}", s.get("plan.context_kind"));
  if (s.is("plan.regather", "false")) return "regather: false";
  for (const char* key : {"plan.context_kind", "plan.regather", "software.overlap_tensor"}) s.drop(key);
  s.set("plan.zero", zero);
  const std::string low = s.get("workload.precision");
  if (low == "fp8" || low == "fp4") return "precision " + low;
  const bool clips = s.is("software.gradient_clipping", "true");
  // Gradients stand in fp16 with fp16 weights, else in fp32: the same switches as Megatron-LM without its reductions in
  // 16 bits.
  std::string why = [&] {
    Settings zero_free = s;
    zero_free.set("plan.zero", std::int64_t{0});
    const std::string answer = megatron_from_settings(zero_free);
    zero_free.set("plan.zero", zero);
    s = zero_free;
    return answer;
  }();
  s.set("raw.clip", clips ? "1.0" : "0.0");
  if (s.is("raw.recompute", "")) s.drop("raw.recompute_method");
  return why;
}

std::string write_deepspeed(const Settings& s, const std::vector<std::pair<std::string, std::string>>& arguments) {
  nlohmann::ordered_json config;
  std::vector<std::pair<std::string, std::string>> flags;
  for (const auto& [name, value] : arguments) {
    if (name.starts_with("--")) {
      flags.emplace_back(name, value);
      continue;
    }
    std::string pointer = "/" + name;
    std::ranges::replace(pointer, '.', '/');
    const bool text = !nlohmann::ordered_json::accept(value);
    config[nlohmann::ordered_json::json_pointer(pointer)] =
        text ? nlohmann::ordered_json(value) : nlohmann::ordered_json::parse(value);
  }
  flags.emplace_back("--deepspeed", "");
  flags.emplace_back("--deepspeed_config", kConfigFile);
  const std::string launcher =
      fmt::format("deepspeed --num_gpus {} --num_nodes {}", s.count("job.gpus_per_node", 1), s.count("job.nodes", 1));
  return fmt::format("cat > {} <<'END'\n{}\nEND\n", kConfigFile, config.dump(2)) +
         launch_line(launcher, "pretrain_gpt.py", flags);
}

}  // namespace

const Framework& deepspeed() {
  static const Framework framework{"deepspeed",    "DeepSpeed",           "deepspeed-2022",        deepspeed_table,
                                   read_deepspeed, deepspeed_to_settings, deepspeed_from_settings, write_deepspeed};
  return framework;
}

}  // namespace trainyard::launch
