// Bytes of states and activations against published closed forms.
#include "sim/cost/memory.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/cost/catalogue_fixture.hpp"

using namespace trainyard;

namespace {

std::vector<LayerId> all_layers(const Module& module) {
  std::vector<LayerId> layers;
  for (std::size_t i = 0; i < module.layers.size(); ++i) layers.push_back(id_at<LayerId>(i));
  return layers;
}

LayerCut cut_of(int tensor, bool sequence_parallel, RecomputeKind recompute) {
  LayerCut cut;
  cut.tensor = tensor;
  cut.sequence_parallel = sequence_parallel;
  cut.recompute = recompute;
  cut.sequences = 1;
  cut.tokens = 2048;
  return cut;
}

const LayerId kDecoder = LayerId(1);

Bytes kept_by_a_layer(const LayerCut& cut) {
  const Workload workload = fixture::workload("gpt3-175b", 2048, "megatron-2021");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  return activation_memory(workload.modules[0], std::span(&kDecoder, 1), cut, cluster.type_of(DeviceId(0)), workload)
      .kept;
}

constexpr double kSbh = 2048.0 * 12288;
constexpr double kScores = 5.0 * 96 * 2048 * 2048;

}  // namespace

TEST_CASE("ZeRO-0 holds 16 bytes a parameter in fp16 and ZeRO-1 shards the 12 of the optimizer") {
  const Workload workload = fixture::workload("gpt3-1.3b", 2048, "megatron-2021");
  const Module& module = workload.modules[0];
  const LayerCut cut = cut_of(1, false, RecomputeKind::none);
  const std::vector<LayerId> layers = all_layers(module);
  const double table = module.vocabulary * module.hidden;  // head and embedding share it
  const double parameters = parameters_on_device(module, layers, cut) - table;
  CHECK(parameters == parameter_count(module));
  CHECK(static_memory(module, layers, cut, workload, 8, 0).total().value == Approx(16 * parameters));
  CHECK(static_memory(module, layers, cut, workload, 8, 1).total().value == Approx(5.5 * parameters));
}

TEST_CASE("activations of a layer: Korthikanti et al., Table 2") {
  CHECK(kept_by_a_layer(cut_of(1, false, RecomputeKind::none)).value == Approx(34 * kSbh + kScores));
  CHECK(kept_by_a_layer(cut_of(8, false, RecomputeKind::none)).value == Approx(kSbh * (10 + 24.0 / 8) + kScores / 8));
  CHECK(kept_by_a_layer(cut_of(8, true, RecomputeKind::none)).value == Approx((34 * kSbh + kScores) / 8));
  CHECK(kept_by_a_layer(cut_of(8, true, RecomputeKind::selective)).value == Approx(34 * kSbh / 8));
  CHECK(kept_by_a_layer(cut_of(1, false, RecomputeKind::full)).value == Approx(2 * kSbh));
}

TEST_CASE(
    "a table that head and embedding share counts once on a stage that holds both, and on each stage that holds one") {
  const Workload workload = fixture::workload("gpt3-1.3b", 2048, "megatron-2021");
  const Module& module = workload.modules[0];
  const LayerId ends[] = {LayerId(0), id_at<LayerId>(module.layers.size() - 1)};
  const double table = module.vocabulary * module.hidden, positions = 2048 * module.hidden, norm = 2 * module.hidden;
  const auto held = [&](std::span<const LayerId> layers) {
    return static_memory(module, layers, cut_of(1, false, RecomputeKind::none), workload, 4, 1);
  };
  CHECK(held(ends).weights.value == Approx(2 * (table + positions + norm)));
  CHECK(held(ends).optimizer.value == Approx(12 * (table + positions + norm) / 4));
  CHECK(held(std::span(ends).first(1)).weights.value == Approx(2 * (table + positions)));
  CHECK(held(std::span(ends).last(1)).weights.value == Approx(2 * (table + norm)));
}

TEST_CASE("gradients of written scores stand twice in the backward pass of a layer") {
  const LayerCut cut = cut_of(1, false, RecomputeKind::none);
  const auto backward = [&](const char* attention) {
    Workload workload =
        fixture::workload("gpt3-175b", 2048, fmt::format("{{preset: megatron-2021, attention: {}}}", attention));
    const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
    return activation_memory(workload.modules[0], std::span(&kDecoder, 1), cut, cluster.type_of(DeviceId(0)), workload)
        .backward_peak.value;
  };
  CHECK(backward("flash_2") == Approx(2 * 4 * kSbh + 2 * kSbh));                  // 2 s b 4h, and 2 s b h
  CHECK(backward("fused_softmax") == Approx(4 * 96 * 2048.0 * 2048 + 2 * kSbh));  // 4 a s s b
}

TEST_CASE("a stage's passes hold what its earlier layers keep: the logits come after all others and go before them") {
  const Workload workload = fixture::workload("gpt3-175b", 2048, "megatron-2021");
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const Module& module = workload.modules[0];
  const LayerId last[] = {id_at<LayerId>(module.layers.size() - 2), id_at<LayerId>(module.layers.size() - 1)};
  const ActivationMemory pass =
      activation_memory(module, last, cut_of(1, false, RecomputeKind::full), cluster.type_of(DeviceId(0)), workload);
  const double head = 6 * 2048 * module.vocabulary + 4 * kSbh, layer = 34 * kSbh + kScores;
  CHECK(pass.kept.value == Approx(2 * kSbh + head));
  CHECK(pass.forward_peak.value == Approx(std::max(layer, 2 * kSbh + head)));
  // Of the decoder, rebuilt: its other 32 s b h and scores, gradients of scores and of its input, less the head.
  CHECK(pass.backward_peak.value == Approx(layer - 2 * kSbh + 4 * 96 * 2048.0 * 2048 + 2 * kSbh - head));
}

TEST_CASE(
    "the head's own weight gradient counts where it is more than the logits, unless the product adds it to the kept "
    "one") {
  const auto backward = [](const char* switches) {
    const Workload workload = fixture::workload(
        "gpt3-175b", 2048, fmt::format("{{preset: megatron-core-2024, loss: fused_in_place{}}}", switches));
    const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
    const LayerId head = id_at<LayerId>(workload.modules[0].layers.size() - 1);
    const LayerCut cut = cut_of(1, false, RecomputeKind::none);
    return activation_memory(workload.modules[0], std::span(&head, 1), cut, cluster.type_of(DeviceId(0)), workload)
        .backward_peak.value;
  };
  const Workload workload = fixture::workload("gpt3-175b", 2048, "megatron-core-2024");
  const double v = workload.modules[0].vocabulary, gradients = 4 * kSbh;
  CHECK(backward("") == Approx(2 * 2048 * v + 2 * 12288 * v - 4 * 2048 * v + gradients));
  CHECK(backward(", cached_gradient_dummies: false") == Approx(gradients));
}

TEST_CASE("FSDP in a pipeline that frees nothing before the last micro-batch holds gathered weights and whole fp32 gradients") {
  const Workload workload = fixture::workload("gpt3-1.3b", 2048, "torchtitan-2024", "bf16");
  const LayerCut cut = cut_of(1, false, RecomputeKind::none);
  const double p = parameters_on_device(workload.modules[0], std::span(&kDecoder, 1), cut);
  StaticMemory held = static_memory(workload.modules[0], std::span(&kDecoder, 1), cut, workload, 8, 3);
  CHECK(held.total().value == Approx(16 * p / 8));
  keep_whole(held, workload.modules[0], std::span(&kDecoder, 1), cut, workload);
  CHECK(held.total().value == Approx(12 * p / 8 + 2 * p + 4 * p));  // gradients' parts come when the whole ones go
  CHECK(held.buffers.value == Approx(2 * p));
  LayerCut four = cut;
  four.context = 4;
  CHECK(state_parts(8, four, workload.software) == 32);
  CHECK(state_parts(8, four, Software{}) == 8);
}

TEST_CASE("DeepSpeed copies gradients into one flat buffer of at most 500 million") {
  const auto flat = [](const char* software, const char* precision, std::size_t layers) {
    const Workload workload = fixture::workload("gpt3-175b", 2048, software, precision);
    const std::vector<LayerId> own(layers, kDecoder);
    return flat_gradients(workload.modules[0], own, cut_of(8, false, RecomputeKind::none), workload).value;
  };
  const double matrices = 12.0 * 12288 * 12288 / 8, biases = (3 + 4) * 12288.0 / 8 + 2 * 12288, norms = 4 * 12288;
  CHECK(flat("deepspeed-2022", "fp16", 1) == Approx(2 * (matrices + biases + norms)).epsilon(1e-4));
  CHECK(flat("deepspeed-2022", "tf32", 1) == Approx(4 * (matrices + biases + norms)).epsilon(1e-4));
  CHECK(flat("deepspeed-2022", "fp16", 8) == 2 * 500e6);
  CHECK(flat("megatron-2021", "fp16", 8) == 0);
}

TEST_CASE("gradients of fp32 weights are fp32, whatever mixed precision keeps") {
  const Workload workload = fixture::workload("gpt3-1.3b", 2048, "deepspeed-2022", "tf32");
  const LayerCut cut = cut_of(1, false, RecomputeKind::none);
  const double p = parameters_on_device(workload.modules[0], std::span(&kDecoder, 1), cut);
  CHECK(static_memory(workload.modules[0], std::span(&kDecoder, 1), cut, workload, 8, 0).total().value == Approx(16 * p));
}

TEST_CASE("kept beside: attention's output in a second order, scores with a mask and a copy, a whole input of the head") {
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const auto kept = [&](const std::string& software, LayerId layer, bool sequence_parallel) {
    const Workload workload = fixture::workload("gpt3-175b", 2048, "{preset: megatron-core-2024, " + software + "}", "bf16");
    return activation_memory(workload.modules[0], std::span(&layer, 1), cut_of(8, sequence_parallel, RecomputeKind::none), cluster.type_of(DeviceId(0)), workload).kept.value;
  };
  const double scores = 96.0 / 8 * 2048 * 2048;
  CHECK(kept("copies_attention_output: true", kDecoder, false) - kept("copies_attention_output: false", kDecoder, false) == Approx(2 * kSbh / 8));
  CHECK(kept("attention: unfused, copies_scores: true", kDecoder, false) - kept("attention: unfused", kDecoder, false) == Approx(3 * scores));
  const LayerId head = LayerId(97);
  CHECK(kept("keeps_gathered_input: true", head, true) - kept("keeps_gathered_input: false", head, true) == Approx(2 * kSbh * 7 / 8));
}

TEST_CASE("a logit in the loss: 4 bytes more in fp32 than the logits' own, and an eager one cut over the tensor axis 16 for 14") {
  const Cluster cluster = fixture::one_node("A100-SXM4-80GB");
  const auto kept = [&](const char* loss, const char* precision, int tensor) {
    const Workload workload = fixture::workload("gpt3-175b", 2048, fmt::format("{{preset: megatron-2021, loss: {}}}", loss), precision);
    const LayerId head = LayerId(97);
    const double e = element_size(workload.precision).value;
    const double all = activation_memory(workload.modules[0], std::span(&head, 1), cut_of(tensor, false, RecomputeKind::none), cluster.type_of(DeviceId(0)), workload).kept.value;
    return (all - 2 * e * kSbh) / (2048 * workload.modules[0].vocabulary / tensor);
  };
  CHECK(kept("vocab_parallel", "fp16", 1) == Approx(6));
  CHECK(kept("vocab_parallel", "tf32", 1) == Approx(8));
  CHECK(kept("eager", "fp16", 1) == Approx(14));
  CHECK(kept("eager", "fp16", 8) == Approx(16));
}

TEST_CASE("what is lacking is told by class") {
  MemoryReport memory{"a100.0.0", 46_GB, 40_GB, {20_GB, 5_GB, 15_GB, 4_GB, Bytes(0), 2_GB}, Seconds(0)};
  CHECK(shortfall_text(memory) ==
        "does not fit: a100.0.0 lacks 6 GB (weights 20 GB · gradients 5 GB · optimizer 15 GB · activations 4 GB · "
        "reserved 2 GB; of 40 GB)");
}
