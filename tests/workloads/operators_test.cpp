// FLOPs, parameters and kept bytes against closed forms.
#include "tests/workloads/layers.hpp"

namespace trainyard {
namespace {

double flops_per_sequence(const Module& module, double q) {
  double sum = 0;
  for (const Layer& layer : module.layers)
    for (const Operator& op : module.types[index(layer.type)].operators)
      sum += op.forward_flops.of(q).value + op.backward_flops.of(q).value;
  return sum;
}

double saved(const LayerType& layer, double q) {
  double sum = 0;
  for (const Operator& op : layer.operators) sum += op.saved.of(q).value;
  return sum;
}

TEST_CASE("FLOPs of a plain GPT are Megatron's 72 s l h^2 (1 + s/6h) + 6 s h V") {
  for (const char* preset : {"megatron-2021", "megatron-core-2024"})
    for (const char* name : {"gpt3-1.7b", "gpt3-145.6b", "gpt2-xl"}) {
      const Architecture& a = find_model(name)->architecture;
      const double s = 1024, l = a.layers, h = a.hidden, v = padded_vocabulary(a);
      const double expected = 72 * s * l * h * h * (1 + s / (6 * h)) + 6 * s * h * v;
      CHECK(flops_per_sequence(build_module(a, context_of(preset, s)), s) == Approx(expected).epsilon(1e-14));
    }
}

TEST_CASE("With full recompute that is Megatron's 96 s l h^2 (1 + s/6h + V/16lh): layers run forward once more") {
  const Architecture& a = find_model("gpt3-18.4b")->architecture;
  const double s = 2048, l = a.layers, h = a.hidden, v = padded_vocabulary(a);
  const Module module = build_module(a, context_of("megatron-2021", s));
  double again = 0;
  for (const Operator& op : module.types[1].operators) again += l * op.forward_flops.of(s).value;
  const double published = 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  CHECK(flops_per_sequence(module, s) + again == Approx(published).epsilon(1e-14));
}

TEST_CASE("FLOPs of a Llama are 6 a weight of its products and 12 l H q") {
  const Architecture& a = find_model("llama-3-70b")->architecture;
  const double q = 8192;
  const Module module = build_module(a, context_of("megatron-core-2024", q));
  const double norms = (2 * a.layers + 1) * a.hidden, table = padded_vocabulary(a) * a.hidden;
  const double products = parameter_count(module) - norms - table;
  CHECK(flops_per_sequence(module, q) ==
        Approx(q * (6 * products + 12 * a.layers * a.query_width() * q)).epsilon(1e-14));
}

TEST_CASE("Attention kernels differ in bytes, never in model FLOPs") {
  const Architecture& a = find_model("llama-3-8b")->architecture;
  OperatorContext context = context_of("megatron-core-2024");
  const double flash = flops_per_sequence(build_module(a, context), 2048);
  for (AttentionKernel kernel : {AttentionKernel::unfused, AttentionKernel::fused_softmax, AttentionKernel::cudnn}) {
    context.software.attention = kernel;
    CHECK(flops_per_sequence(build_module(a, context), 2048) == Approx(flash).epsilon(1e-14));
  }
}

TEST_CASE("A plain GPT layer keeps Korthikanti's 34 s h + 5 a s^2 bytes") {
  const Architecture& a = find_model("gpt3-22b")->architecture;
  const double s = 2048;
  CHECK(saved(decoder_layer(a, context_of("megatron-2021", s)), s) == 34 * s * a.hidden + 5 * a.heads * s * s);
}

TEST_CASE("Selective recompute leaves 34 s h") {
  const Architecture& a = find_model("gpt3-22b")->architecture;
  const double s = 2048;
  double kept = 0;
  for (const Operator& op : decoder_layer(a, context_of("megatron-2021", s)).operators)
    if (!op.core_attention) kept += op.saved.of(s).value;
  CHECK(kept == 34 * s * a.hidden);
}

TEST_CASE("A tensor axis with sequence parallelism cuts all of it; without, 10 s h stay") {
  const Architecture& a = find_model("gpt3-22b")->architecture;
  double along_sequence = 0;
  for (const Operator& op : decoder_layer(a, context_of("megatron-2021")).operators) {
    CHECK((op.saved_cut != TensorCut::replicated || op.saved == Cost<Bytes>{}));
    if (op.saved_cut == TensorCut::sequence) along_sequence += op.saved.per_token.value;
  }
  CHECK(along_sequence == 10 * a.hidden);
}

TEST_CASE("With flash attention a Llama layer keeps two norms, Q, K, V, the output, 4a and 6f bytes a token") {
  const Architecture& a = find_model("llama-3-8b")->architecture;
  const double h = a.hidden, k = 0.25;
  const double expected = 2 * (2 * h + 2 * h) + 2 * h * (1 + 2 * k) + 2 * h + 4 * a.heads + 6 * a.ffn;
  CHECK(saved(decoder_layer(a, context_of("megatron-core-2024")), 1) == expected);
}

TEST_CASE("Eager norms keep 8h more each, an eager SwiGLU 2f") {
  const Architecture& a = find_model("llama-3-8b")->architecture;
  OperatorContext context = context_of("megatron-core-2024");
  const double fused = saved(decoder_layer(a, context), 1);
  context.software.fused_norm = context.software.fused_activation = false;
  CHECK(saved(decoder_layer(a, context), 1) == fused + 16 * a.hidden + 2 * a.ffn);
}

TEST_CASE("Unfused attention without dropout keeps 2 a q^2 bytes") {
  const Architecture& a = find_model("llama-2-7b")->architecture;
  OperatorContext context = context_of("megatron-core-2024");
  context.software.attention = AttentionKernel::fused_softmax;
  CHECK(find_operator(decoder_layer(a, context), "softmax").saved.per_token2.value == 2 * a.heads);
}

TEST_CASE("The products of unfused attention: m = tokens, n and k as given, batch = heads") {
  const Architecture& a = find_model("gpt3-1.3b")->architecture;
  const double q = 2048;
  const LayerType layer = decoder_layer(a, context_of("megatron-2021", q));
  for (const char* name : {"scores", "context"}) {
    const Operator& op = find_operator(layer, name);
    CHECK(op.forward_flops.of(q).value == 2 * q * op.gemm_n * op.gemm_k * op.attention.heads);
    CHECK(op.core_attention);
  }
}

TEST_CASE("A stage sends 2h bytes a token, whichever layer ends it") {
  const Architecture& a = find_model("gpt3-1.3b")->architecture;
  const OperatorContext context = context_of("megatron-2021");
  CHECK(embedding_layer(a, context).operators.back().output.of(1).value == 2 * a.hidden);
  CHECK(decoder_layer(a, context).operators.back().output.of(1).value == 2 * a.hidden);
}

TEST_CASE("A tied table is stored with the head but counted once") {
  Architecture a = find_model("gpt2-xl")->architecture;
  const Module tied = build_module(a, context_of("megatron-2021"));
  REQUIRE(tied.layers.back().tied_to == std::vector<LayerId>{id_at<LayerId>(0)});
  CHECK(find_operator(tied.types[2], "logits").parameters == 50304 * 1600);
  a.tied = false;
  CHECK(parameter_count(build_module(a, context_of("megatron-2021"))) == parameter_count(tied) + 50304 * 1600);
}

TEST_CASE("Layers are named embedding, 0 .. L-1, head") {
  const Module module = build_module(find_model("llama-2-7b")->architecture, context_of("megatron-core-2024"));
  REQUIRE(module.layers.size() == 34);
  CHECK(module.layers.front().name == "embedding");
  CHECK(module.layers[1].name == "0");
  CHECK(module.layers[32].name == "31");
  CHECK(module.layers.back().name == "head");
}

}  // namespace
}  // namespace trainyard
