// Bytes of memory-bound kernels: a layer's sums are the published coefficients, by what a tensor axis cuts.
#include "tests/workloads/layers.hpp"

namespace trainyard {
namespace {

struct Sums {
  double sequence = 0, replicated = 0, heads = 0, column = 0;
};

Sums sums(const LayerType& layer, Cost<Bytes> Operator::*amount) {
  return {per_token_sum(layer, amount, TensorCut::sequence), per_token_sum(layer, amount, TensorCut::replicated),
          per_token_sum(layer, amount, TensorCut::heads), per_token_sum(layer, amount, TensorCut::column)};
}

TEST_CASE("A fused Megatron layer moves 22h + 4F + 12h bytes forward, 34h + 4h + 6F + 18h + 2(3h + F) backward") {
  const Architecture& a = find_model("gpt3-7.5b")->architecture;
  const LayerType layer = decoder_layer(a, context_of("megatron-2021"));
  const double h = a.hidden, f = a.ffn;
  const Sums forward = sums(layer, &Operator::forward_bytes), backward = sums(layer, &Operator::backward_bytes);
  CHECK(forward.sequence == 22 * h);
  CHECK(forward.replicated == 0);
  CHECK(forward.column + forward.heads == 4 * f + 12 * h);
  CHECK(backward.sequence == 34 * h);
  CHECK(backward.replicated == 4 * h);
  CHECK(backward.column + backward.heads == 6 * f + 18 * h + 2 * (3 * h + f));
}

TEST_CASE("Without dropout no masks are written: 20h forward") {
  const Architecture& a = find_model("gpt3-7.5b")->architecture;
  CHECK(sums(decoder_layer(a, context_of("megatron-core-2024")), &Operator::forward_bytes).sequence == 20 * a.hidden);
}

TEST_CASE("A fused Llama layer moves 20h + 6F + 10h' forward, 34h + 10F + 10h' backward") {
  const Architecture& a = find_model("llama-3-8b")->architecture;
  const LayerType layer = decoder_layer(a, context_of("megatron-core-2024"));
  const Sums forward = sums(layer, &Operator::forward_bytes), backward = sums(layer, &Operator::backward_bytes);
  const double narrow = 40 * 128;  // 32 heads of Q and 8 of K
  CHECK(forward.sequence == 20 * a.hidden);
  CHECK(forward.column == 6 * a.ffn);
  CHECK(forward.heads == 10 * narrow);
  CHECK(backward.sequence == 34 * a.hidden);
  CHECK(backward.column == 10 * a.ffn);
  CHECK(backward.heads == 10 * narrow);
  CHECK(backward.replicated == 0);
}

TEST_CASE(
    "An eager Llama layer moves 88h + 10F + 50h' forward, 134h + 16F + 60h' backward; a fused norm leaves 20h and "
    "30h") {
  const Architecture& a = find_model("llama-2-13b")->architecture;
  OperatorContext context = context_of("megatron-core-2024");
  context.software.fused_norm = context.software.fused_rope = context.software.fused_activation = false;
  const LayerType eager = decoder_layer(a, context);
  const Sums forward = sums(eager, &Operator::forward_bytes), backward = sums(eager, &Operator::backward_bytes);
  const double width = 80 * 128;
  CHECK(forward.sequence == 88 * a.hidden);
  CHECK(forward.column == 10 * a.ffn);
  CHECK(forward.heads == 50 * width);
  CHECK(backward.sequence == 134 * a.hidden);
  CHECK(backward.column == 16 * a.ffn);
  CHECK(backward.heads == 60 * width);
  context.software.fused_norm = true;
  const LayerType fused_norm = decoder_layer(a, context);
  CHECK(sums(fused_norm, &Operator::forward_bytes).sequence == 20 * a.hidden);
  CHECK(sums(fused_norm, &Operator::backward_bytes).sequence == 30 * a.hidden);
}

TEST_CASE("fp32 doubles the traffic of a layer, but not the loss's, which is fp32 anyway") {
  const Architecture& a = find_model("llama-2-7b")->architecture;
  OperatorContext context = context_of("megatron-core-2024");
  const LayerType half = decoder_layer(a, context);
  const Operator half_loss = find_operator(head_layer(a, context), "loss");
  context.precision = DataType::fp32;
  CHECK(sums(decoder_layer(a, context), &Operator::forward_bytes).sequence ==
        2 * sums(half, &Operator::forward_bytes).sequence);
  CHECK(find_operator(head_layer(a, context), "loss").forward_bytes == half_loss.forward_bytes);
}

TEST_CASE("Softmax moves 9 and 11 bytes a score when fused, 30 and 30 otherwise") {
  const Architecture& a = find_model("gpt3-1.3b")->architecture;
  OperatorContext context = context_of("megatron-2021");
  const Operator fused = find_operator(decoder_layer(a, context), "softmax");
  CHECK(fused.forward_bytes.per_token2.value == 9 * a.heads);
  CHECK(fused.backward_bytes.per_token2.value == 11 * a.heads);
  context.software.attention = AttentionKernel::unfused;
  const Operator eager = find_operator(decoder_layer(a, context), "softmax");
  CHECK(eager.forward_bytes.per_token2.value == 30 * a.heads);
  CHECK(eager.backward_bytes.per_token2.value == 30 * a.heads);
}

TEST_CASE("The loss moves 44 and 26 bytes a logit, 14 and 12 when fused, and keeps 14, 6 or 10") {
  const Architecture& a = find_model("llama-3-8b")->architecture;
  const double v = 128256;
  OperatorContext context = context_of("megatron-core-2024");
  const auto loss_with = [&](LossKernel kernel) {
    context.software.loss = kernel;
    return find_operator(head_layer(a, context), "loss");
  };
  CHECK(loss_with(LossKernel::vocab_parallel_fused).forward_bytes.per_token.value == 14 * v);
  CHECK(loss_with(LossKernel::vocab_parallel_fused).backward_bytes.per_token.value == 12 * v);
  CHECK(loss_with(LossKernel::vocab_parallel_fused).saved.per_token.value == 10 * v);
  CHECK(loss_with(LossKernel::vocab_parallel).forward_bytes.per_token.value == 44 * v);
  CHECK(loss_with(LossKernel::vocab_parallel).backward_bytes.per_token.value == 26 * v);
  CHECK(loss_with(LossKernel::vocab_parallel).saved.per_token.value == 6 * v);
  CHECK(loss_with(LossKernel::eager).saved.per_token.value == 14 * v);
}

}  // namespace
}  // namespace trainyard
