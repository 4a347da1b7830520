// AMP (arXiv:2210.07297): real trials of Megatron-DeepSpeed on V100 and T4 instances, no recomputation, fp32 gradient
// reduction. Its script (DachengLi1/AMP, examples/ds_pretrain_gpt2_pipe.sh) asks for none of Megatron 1.1.5's fusions, all of which are
// off by default.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// Ranks: tensor fastest, then data, then pipeline. A pipeline has 30 entries: conversion, embedding and transposition
// before the 24 layers, transposition, final norm and head behind them.
constexpr int kBefore = 3, kLayers = 24;

std::string cluster_of(const CsvRow& row) {
  const std::string v100 = "{{name: v100, instance: aws.p3.8xlarge, count: {}}}";
  const std::string t4 = "{{name: t4, instance: aws.g4dn.12xlarge, count: {}}}";
  if (row.is("gpu_mix", "12xV100-16 + 4xT4"))
    return fmt::format("{{nodes: [{}, {}]}}", fmt::format(fmt::runtime(v100), 3), fmt::format(fmt::runtime(t4), 1));
  if (row.is("gpu_mix", "16xT4")) return fmt::format("{{nodes: [{}]}}", fmt::format(fmt::runtime(t4), 4));
  if (row.is("gpu_mix", "16xV100-16")) return fmt::format("{{nodes: [{}]}}", fmt::format(fmt::runtime(v100), 4));
  throw Unmapped(fmt::format("no cluster known for {:?}", row["gpu_mix"]));
}

/// Decoder layers of each stage from the entries of each.
std::vector<int> stage_layers(const std::string& entries) {
  std::vector<int> layers;
  int begin = 0;
  for (std::size_t at = 0; at <= entries.size();) {
    const std::size_t end = std::min(entries.find(';', at), entries.size());
    const int next = begin + std::atoi(entries.substr(at, end - at).c_str());
    const auto inside = [](int entry) { return std::clamp(entry - kBefore, 0, kLayers); };
    layers.push_back(inside(next) - inside(begin));
    begin = next;
    at = end + 1;
  }
  return layers;
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = row["gpu_mix"];
  into.model = row.has("model", "GPT-2") ? "gpt2 24 x 1024" : "TransGAN";
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s");
  refuse_other_workloads(row["model"]);
  if (!row.is("status", "ok"))
    throw Unmapped("the run failed: out of memory or timed out, the table does not say which");
  TrainingRun run;
  run.gpus = into.gpus;
  run.site.gpus_per_node = 4;
  run.layers = kLayers;
  run.model = "{layers: 24, hidden: 1024, heads: 16, vocabulary: 52256, max_positions: 1024}";
  run.sequence_length = 1024;
  run.global_batch = row.count("gbs");
  run.precision = "fp16";
  run.software =
      "{preset: deepspeed-2022, attention: unfused, fused_activation: false, pipeline_scatter_gather: false, "
      "distributed_optimizer: false, gradient_reduce_type: fp32}";
  run.tensor = row.count("tp");
  run.pipeline = row.count("pp");
  run.micro_batch = row.count("mbs");
  run.stage_layers = stage_layers(row["layers_per_stage"]);
  set_run(into, run);
  into.cluster = cluster_of(row);
}

}  // namespace

Source amp_source() { return {"amp", {"gpu_mix", "n_microbatches", "layers_per_stage", "amp_predicted_s"}, map}; }

}  // namespace trainyard
