// What differs from the plain decoder: parallel branches, windows, norms after branches, narrow tables, switches of the
// loss.
#include "tests/workloads/layers.hpp"

namespace trainyard {
namespace {

double saved(const LayerType& layer) {
  double sum = 0;
  for (const Operator& op : layer.operators) sum += op.saved.of(1).value;
  return sum;
}

double attention_flops(const Module& module, double q) {
  double sum = 0;
  for (const Layer& layer : module.layers)
    for (const Operator& op : module.types[index(layer.type)].operators)
      if (op.core_attention) sum += op.forward_flops.of(q).value;
  return sum;
}

bool has(const LayerType& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return true;
  return false;
}

Architecture palm(Block block) {
  Architecture a = find_model("palm-8b")->architecture;
  a.block = block;
  return a;
}

TEST_CASE(
    "Branches behind one norm keep the input of the norm and its output once: 4h less, and one norm's weights less") {
  const OperatorContext context = context_of("megatron-core-2024");
  const LayerType in_turn = decoder_layer(palm(Block::sequential), context);
  const LayerType parallel = decoder_layer(palm(Block::parallel), context);
  const double h = 4096;
  CHECK(saved(in_turn) - saved(parallel) == 4 * h);
  CHECK_FALSE(has(parallel, "mlp_norm"));
  CHECK_FALSE(has(parallel, "attention_residual"));
  CHECK(parallel.operators.back().name == "residual");
  CHECK(find_operator(parallel, "residual").forward_bytes.per_token.value == 8 * h);
  CHECK(find_operator(parallel, "residual").backward_bytes.per_token.value == 13 * h);
}

TEST_CASE("Parallel branches have the FLOPs of branches in turn") {
  const OperatorContext context = context_of("megatron-core-2024");
  const auto flops = [&](Block block) {
    double sum = 0;
    for (const Operator& op : decoder_layer(palm(block), context).operators)
      sum += op.forward_flops.of(2048).value + op.backward_flops.of(2048).value;
    return sum;
  };
  CHECK(flops(Block::parallel) == flops(Block::sequential));
}

TEST_CASE("One norm joins the column products and the row products, a norm each only the row products") {
  const OperatorContext context = context_of("megatron-core-2024");
  const LayerType one = decoder_layer(palm(Block::parallel), context);
  CHECK(find_operator(one, "qkv").join == TensorJoin::first);
  CHECK(find_operator(one, "mlp_up").join == TensorJoin::last);
  CHECK(find_operator(one, "proj").join == TensorJoin::first);
  CHECK(find_operator(one, "mlp_down").join == TensorJoin::last);
  const LayerType two = decoder_layer(find_model("gpt-neox-20b")->architecture, context);
  CHECK(has(two, "mlp_norm"));
  CHECK(find_operator(two, "qkv").join == TensorJoin::alone);
  CHECK(find_operator(two, "mlp_up").join == TensorJoin::alone);
  CHECK(find_operator(two, "mlp_down").join == TensorJoin::last);
}

TEST_CASE("A window w leaves 2 q w - w^2 of the q^2 scores, and all of them up to q = w") {
  const Architecture& a = find_model("mistral-7b")->architecture;
  const auto scores = [&](double q, AttentionKernel kernel) {
    OperatorContext context = context_of("megatron-core-2024", q);
    context.software.attention = kernel;
    return attention_flops(build_module(a, context), q) / (4 * a.query_width() * a.layers);
  };
  CHECK(scores(4096, AttentionKernel::flash_2) == 4096.0 * 4096);
  CHECK(scores(2048, AttentionKernel::flash_2) == 2048.0 * 2048);
  CHECK(scores(8192, AttentionKernel::flash_2) == 2 * 8192.0 * 4096 - 4096.0 * 4096);
  CHECK(scores(8192, AttentionKernel::unfused) == Approx(scores(8192, AttentionKernel::flash_2)).epsilon(1e-14));
  CHECK(find_operator(decoder_layer(a, context_of("megatron-core-2024", 8192)), "attention").attention.window == 4096);
}

TEST_CASE("Gemma attends to everything in every second or sixth layer") {
  const auto globals = [](const char* name, double q) {
    const Module module = build_module(find_model(name)->architecture, context_of("megatron-core-2024", q));
    int count = 0;
    for (const Layer& layer : module.layers) count += module.types[index(layer.type)].name == "global decoder" ? 1 : 0;
    return count;
  };
  CHECK(globals("gemma-2-2b", 8192) == 13);
  CHECK(globals("gemma-3-1b", 8192) == 4);
  CHECK(globals("gemma-2-2b", 4096) == 0);  // the window does not bind: all layers are alike
  CHECK(globals("mistral-7b", 8192) == 0);
}

TEST_CASE("Norms after the branches, of the embedding, and a table narrower than the layers") {
  const OperatorContext context = context_of("megatron-core-2024");
  const LayerType gemma = decoder_layer(find_model("gemma-3-1b")->architecture, context);
  for (const char* name : {"attention_norm", "qk_norm", "attention_post_norm", "mlp_norm", "mlp_post_norm"})
    CHECK(has(gemma, name));
  CHECK(has(embedding_layer(find_model("bloom-560m")->architecture, context), "embedding_norm"));
  CHECK_FALSE(has(embedding_layer(find_model("bloom-560m")->architecture, context), "positions"));
  const Architecture& opt = find_model("opt-350m")->architecture;
  CHECK(find_operator(embedding_layer(opt, context), "project_in").parameters == 512 * 1024);
  CHECK(find_operator(head_layer(opt, context), "project_out").parameters == 512 * 1024);
  CHECK(embedding_layer(opt, context).operators.back().output.of(1).value == 2 * 1024);
}

TEST_CASE("A table of positions as long as the sequences: counts of llm-foundry at 512 and 32,768 tokens") {
  const Architecture& a = find_model("mpt-350m")->architecture;
  const auto count = [&](double q) { return parameter_count(build_module(a, context_of("llm-foundry-2023", q))); };
  const double padding = (50432 - 50368) * 1024;
  CHECK(count(512) == 354412544.0 + padding);
  CHECK(count(32768) == 387442688.0 + padding);
}

TEST_CASE("A loss that gathers logits works on whole rows") {
  const Architecture& a = find_model("llama-2-7b")->architecture;
  const LayerType head = head_layer(a, context_of("alephalpha-2024"));
  CHECK(find_operator(head, "loss").cut == TensorCut::replicated);
  CHECK(find_operator(head, "loss").gathered.per_token.value == 2 * 32000);
  CHECK(find_operator(head_layer(a, context_of("megatron-core-2024")), "loss").gathered == Cost<Bytes>{});
}

TEST_CASE("Gathered inputs that are kept stay whole under sequence parallelism") {
  const Architecture& a = find_model("llama-2-7b")->architecture;
  for (const char* name : {"qkv", "mlp_up"}) {
    CHECK(find_operator(decoder_layer(a, context_of("torchtitan-2024")), name).saved_cut == TensorCut::replicated);
    CHECK(find_operator(decoder_layer(a, context_of("megatron-2022")), name).saved_cut == TensorCut::sequence);
  }
}

}  // namespace
}  // namespace trainyard
