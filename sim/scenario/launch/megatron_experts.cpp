// Mixtures of experts, latent attention and prediction layers as Megatron-LM's arguments, and what they mean together. Source of names,
// defaults and rules: NVIDIA/Megatron-LM megatron/training/arguments.py (commit 000c4ac), megatron/core/models/gpt/gpt_layer_specs.py.
#include "sim/scenario/launch/megatron_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace trainyard::launch {
namespace {

using enum Takes;

/// Layers from `dense` on, of which one in `every` has experts.
struct Frequency {
  std::int64_t dense = 0, every = 1;
};

/// Of ones where layers have experts; every 0: no such frequency.
Frequency frequency_of(const std::vector<int>& layers) {
  const auto count = std::int64_t(layers.size());
  for (Frequency found; found.dense < count; ++found.dense)
    for (found.every = 1; found.every <= count - found.dense; ++found.every) {
      bool fits = true;
      for (std::int64_t i = 0; i < count; ++i)
        fits = fits && (layers[std::size_t(i)] == 1) == (i >= found.dense && (i - found.dense + 1) % found.every == 0);
      if (fits) return found;
    }
  return {0, 0};
}

/// Reads sums and products of lists.
class ListExpression {
 public:
  explicit ListExpression(const std::string& text) {
    for (const char c : text)
      if (!std::isspace(static_cast<unsigned char>(c)) && c != '\'' && c != '"') text_ += c;
  }

  std::vector<int> read() {
    std::vector<int> list = sum();
    return good_ && at_ == text_.size() ? list : std::vector<int>{};
  }

 private:
  static constexpr std::size_t kMostLayers = 10'000;

  bool takes(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::size_t number() {
    std::size_t value = 0, digits = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) && value < kMostLayers; ++at_, ++digits)
      value = value * 10 + std::size_t(text_[at_] - '0');
    good_ = good_ && digits > 0;
    return value;
  }

  std::vector<int> sum() {
    std::vector<int> list = product();
    while (good_ && takes('+'))
      for (const int one : product()) list.push_back(one);
    return list;
  }

  std::vector<int> product() {
    std::vector<int> list = piece();
    while (good_ && takes('*')) {
      const std::size_t times = number();
      std::vector<int> repeated;
      good_ = good_ && list.size() * times <= kMostLayers;
      for (std::size_t i = 0; good_ && i < times; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
      list = std::move(repeated);
    }
    return list;
  }

  std::vector<int> piece() {
    std::vector<int> list;
    if (takes('(')) {
      list = sum();
      good_ = good_ && takes(')');
      return list;
    }
    good_ = good_ && takes('[');
    while (good_ && !takes(']')) {
      if (!list.empty()) good_ = good_ && takes(',');
      const std::size_t one = number();
      good_ = good_ && one <= 1;
      list.push_back(int(one));
    }
    return list;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool good_ = true;
};

/// Nodes that a layer's experts lie on; all on one where the launcher does not say how many GPUs a node has.
std::int64_t nodes_of_experts(const Settings& s, std::int64_t devices) {
  const std::int64_t gpus = s.count("job.gpus_per_node", devices);
  return (devices + gpus - 1) / gpus;
}

class Experts {
 public:
  Experts(Reading& reading, Diagnostics& diagnostics) : r_(reading), s_(reading.settings), diagnostics_(diagnostics) {}

  void run() {
    latent_attention();
    if (s_.has("model.experts")) {
      s_.set("model.experts_per_token", s_.count("raw.topk", 2));
      layers();
      layout();
      dispatch();
      routing();
    } else {
      without_experts();
    }
  }

 private:
  void mistake(std::string_view key, std::string message) { diagnostics_.add(r_.place(key), std::move(message)); }

  void without_experts() {
    for (const char* key : {"raw.topk", "model.expert_ffn", "model.shared_ffn", "raw.frequency", "raw.expert", "raw.expert_tensor", "raw.capacity"})
      if (const auto said = r_.said_by.find(key); said != r_.said_by.end())
        r_.notes.push_back(fmt::format("{}: without --num-experts it has no effect", said->second));
    for (const char* key : {"model.expert_ffn", "model.shared_ffn", "model.router_bias", "software.overlap_expert", "software.overlap_shared_experts"})
      s_.drop(key);
  }

  void latent_attention() {
    const bool latent = is_on(s_, "raw.latent");
    for (const auto& [raw, key, usual] : {std::tuple("raw.query_rank", "model.query_latent", 0), {"raw.key_value_rank", "model.key_value_latent", 32},
                                          {"raw.rope_size", "model.rope_size", 64}, {"raw.value_size", "model.value_size", 128}})
      if (latent && s_.count(raw, usual) > 0) s_.set(key, s_.count(raw, usual));
    if (!latent) return;
    s_.set("model.head_size", s_.count("raw.query_size", 128) + s_.count("raw.rope_size", 64));
    s_.drop("model.kv_heads");
    s_.set("model.qk_norm", "false");  // its norms are those of the latent vectors
  }

  void layers() {
    const std::string text = s_.get("raw.frequency");
    const std::int64_t count = s_.count("model.layers", 0);
    std::vector<int> layers = ones_and_zeros(text);
    const bool number = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) && text.size() < 5;
    if (number && std::stoll(text) > 0)
      for (std::int64_t i = 0; i < count; ++i) layers.push_back(i % std::stoll(text) == 0 ? 1 : 0);
    if (layers.empty()) return mistake("raw.frequency", fmt::format("--moe-layer-freq: expected a number or a list such as ([0]*3+[1]*58), got \"{}\"", text));
    if (std::int64_t(layers.size()) != count)
      return mistake("raw.frequency", fmt::format("--moe-layer-freq says {} layers, --num-layers {}", layers.size(), count));
    const Frequency found = frequency_of(layers);
    if (found.every == 0)
      return mistake("raw.frequency", "--moe-layer-freq: only dense layers at the beginning, or the last of every n layers with experts, are simulated");
    if (found.dense > 0) s_.set("model.dense_layers", found.dense);
    if (found.every > 1) s_.set("model.expert_every", found.every);
  }

  /// Experts are cut over as many devices as the rest unless told otherwise.
  void layout() {
    const std::int64_t tensor = s_.count("plan.tensor", 1), ranks = s_.count("raw.expert", 1), slices = s_.count("raw.expert_tensor", tensor);
    if (ranks < 1 || slices < 1) return mistake(ranks < 1 ? "raw.expert" : "raw.expert_tensor", "ranks of experts: at least 1");
    if (ranks == 1 && slices == tensor) return;
    if (ranks == 1 && slices == 1)
      return mistake("raw.expert_tensor", "--expert-tensor-parallel-size 1 with --expert-model-parallel-size 1 beside a tensor axis is not simulated");
    s_.set("plan.expert", ranks);
    s_.set("plan.expert_tensor", slices);
  }

  void dispatch() {
    const std::string dispatcher = s_.get("raw.dispatcher");
    if (is_on(s_, "raw.sends_once") && dispatcher != "flex") mistake("raw.sends_once", "--moe-enable-deepep needs --moe-token-dispatcher-type flex");
    mark(s_, "software.deduplicates_dispatch", dispatcher == "flex");
    if (dispatcher == "allgather" && s_.count("plan.expert", 1) > 1)
      r_.notes.push_back("--moe-token-dispatcher-type allgather: tokens are exchanged all-to-all");
  }

  void routing() {
    if (s_.has("raw.capacity")) s_.set("workload.routing.capacity", s_.get("raw.capacity"));
    if (is_on(s_, "raw.padded")) s_.set("workload.routing.padded", "true");
    if (s_.has("raw.groups") != s_.has("raw.group_topk"))
      return mistake(s_.has("raw.groups") ? "raw.groups" : "raw.group_topk", "--moe-router-num-groups and --moe-router-group-topk need each other");
    if (!s_.has("raw.groups")) return;
    const std::int64_t nodes = nodes_of_experts(s_, s_.count("raw.expert", 1) * s_.count("raw.expert_tensor", s_.count("plan.tensor", 1)));
    if (s_.count("raw.groups", 1) == nodes)
      s_.set("workload.routing.nodes", s_.count("raw.group_topk", 1));
    else
      r_.notes.push_back(fmt::format("--moe-router-num-groups {}: experts lie on {} nodes; the experts of a token may lie on any", s_.count("raw.groups", 1), nodes));
  }

  Reading& r_;
  Settings& s_;
  Diagnostics& diagnostics_;
};

std::string frequency_text(std::int64_t layers, std::int64_t dense, std::int64_t every) {
  std::string text = dense > 0 ? fmt::format("[0]*{}", dense) : "";
  if (!text.empty()) text += "+";
  if (every == 1) return fmt::format("\"({}[1]*{})\"", text, layers - dense);
  return fmt::format("\"({}([0]*{}+[1])*{})\"", text, every - 1, (layers - dense) / every);
}

void say_latent_attention(Settings& s) {
  const bool latent = s.has("model.key_value_latent");
  mark(s, "raw.latent", latent);
  if (!latent) return;
  s.set("raw.query_size", s.count("model.head_size", 0) - s.count("model.rope_size", 0));
  for (const auto& [raw, key] : {std::pair("raw.query_rank", "model.query_latent"), {"raw.key_value_rank", "model.key_value_latent"},
                                 {"raw.rope_size", "model.rope_size"}, {"raw.value_size", "model.value_size"}})
    if (s.has(key)) s.set(raw, s.get(key));
  for (const char* key : {"query_latent", "key_value_latent", "rope_size", "value_size", "head_size", "kv_heads"}) s.drop(fmt::format("model.{}", key));
}

void say_layout(Settings& s) {
  const std::int64_t ranks = s.count("plan.expert", 1), slices = s.count("plan.expert_tensor", 1), tensor = s.count("plan.tensor", 1);
  s.drop("plan.expert");
  s.drop("plan.expert_tensor");
  s.set("raw.expert", ranks);
  if ((ranks > 1 || slices > 1) && slices != tensor) s.set("raw.expert_tensor", slices);
  if (s.has("workload.routing.nodes")) {
    s.set("raw.groups", nodes_of_experts(s, ranks * slices));
    s.set("raw.group_topk", s.get("workload.routing.nodes"));
    s.drop("workload.routing.nodes");
  }
  const bool once = is_on(s, "software.deduplicates_dispatch");
  s.set("raw.dispatcher", once ? "flex" : ranks > 1 ? "alltoall" : "allgather");
  mark(s, "raw.sends_once", once);
  s.drop("software.deduplicates_dispatch");
}

}  // namespace

std::vector<int> ones_and_zeros(const std::string& expression) { return ListExpression(expression).read(); }

std::vector<Argument> expert_arguments() {
  return {{"--num-experts", "model.experts"},
          {"--moe-router-topk", "raw.topk", count, "2"},
          {"--moe-ffn-hidden-size", "model.expert_ffn"},
          {"--moe-shared-expert-intermediate-size", "model.shared_ffn"},
          {"--moe-layer-freq", "raw.frequency", word, "1"},
          {"--moe-router-enable-expert-bias", "model.router_bias", nothing, "false", {{"", "true"}}},
          {"--moe-router-num-groups", "raw.groups"},
          {"--moe-router-group-topk", "raw.group_topk"},
          {"--moe-expert-capacity-factor", "raw.capacity", number},
          {"--moe-pad-expert-input-to-capacity", "raw.padded", nothing, "false", {{"", "true"}}},
          {"--expert-model-parallel-size", "raw.expert", count, "1"},
          {"--expert-tensor-parallel-size", "raw.expert_tensor"},
          {"--moe-token-dispatcher-type",
           "raw.dispatcher",
           word,
           "allgather",
           {{"allgather", "allgather"}, {"alltoall", "alltoall"}, {"flex", "flex"}}},
          {"--moe-enable-deepep", "raw.sends_once", nothing, "false", {{"", "true"}}},
          {"--overlap-moe-expert-parallel-comm", "software.overlap_expert", nothing, "false", {{"", "true"}}},
          {"--moe-shared-expert-overlap", "software.overlap_shared_experts", nothing, "false", {{"", "true"}}},
          {"--multi-latent-attention", "raw.latent", nothing, "false", {{"", "true"}}},
          {"--q-lora-rank", "raw.query_rank"},
          {"--kv-lora-rank", "raw.key_value_rank", count, "32"},
          {"--qk-head-dim", "raw.query_size", count, "128"},
          {"--qk-pos-emb-head-dim", "raw.rope_size", count, "64"},
          {"--v-head-dim", "raw.value_size", count, "128"},
          {"--mtp-num-layers", "model.prediction_layers"}};
}

std::vector<Remark> expert_remarks() {
  using enum Effect;
  return {{"--moe-extended-tp", refused, "no longer an argument of Megatron-LM; use --expert-tensor-parallel-size"},
          {"--moe-layer-recompute", refused, "recompute of experts alone is not read: write `rules` in the Plan"},
          {"--moe-use-upcycling", refused, "a dense model's checkpoint is not converted"},
          {"--moe-grouped-gemm", none, ""},
          {"--moe-use-legacy-grouped-gemm", not_simulated, "grouped products are those of Transformer Engine"},
          {"--moe-permute-fusion", not_simulated, "a permutation is one kernel"},
          {"--moe-router-padding-for-fp8", not_simulated, "experts' tokens are not padded"},
          {"--moe-router-fusion", not_simulated, "the router is one kernel"},
          {"--moe-deepep-num-sms", not_simulated, "exchanges take no multiprocessors from kernels"},
          {"--moe-*", none, ""},
          {"--mtp-loss-scaling-factor", none, ""},
          {"--mscale*", none, ""},
          {"--rotary-scaling-factor", none, ""},
          {"--cache-mla-latents", none, ""}};
}

void experts_to_settings(Reading& reading, Diagnostics& diagnostics) { Experts(reading, diagnostics).run(); }

std::string experts_from_settings(Settings& s) {
  say_latent_attention(s);
  if (!s.has("model.experts")) return "";
  s.set("raw.topk", s.get("model.experts_per_token"));
  const std::int64_t layers = s.count("model.layers", 0), dense = s.count("model.dense_layers", 0), every = s.count("model.expert_every", 1);
  if ((layers - dense) % every != 0) return fmt::format("experts in every {} of {} layers", every, layers - dense);
  s.set("raw.frequency", dense == 0 && every == 1 ? "1" : frequency_text(layers, dense, every));
  if (s.count("model.expert_ffn", 0) == s.count("model.ffn", 0)) s.drop("model.expert_ffn");
  for (const auto& [raw, key] : {std::pair("raw.capacity", "workload.routing.capacity"), {"raw.padded", "workload.routing.padded"}})
    if (s.has(key)) s.set(raw, s.get(key));
  for (const char* key : {"model.experts_per_token", "model.dense_layers", "model.expert_every", "workload.routing.capacity", "workload.routing.padded"}) s.drop(key);
  say_layout(s);
  return "";
}

}  // namespace trainyard::launch
