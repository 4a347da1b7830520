#include "workloads/operator_parts.hpp"

#include <utility>

namespace trainyard {
namespace {

/// An RMSNorm made of elementary kernels keeps fp32 copies of its input (fitted 8 bytes an element; counting gives 6 to
/// 8).
constexpr double kEagerNormCopies = 8;

}  // namespace

double element_bytes(const OperatorContext& context) { return element_size(context.precision).value; }

Cost<Bytes> per_token(double bytes) { return {Bytes(0), Bytes(bytes), Bytes(0)}; }
Cost<Bytes> per_score(double bytes) { return {Bytes(0), Bytes(0), Bytes(bytes)}; }

Operator product(std::string name, std::string group, double from, double to, bool bias,
                 const OperatorContext& context) {
  Operator op;
  op.name = std::move(name);
  op.group = std::move(group);
  op.kind = OperatorClass::gemm;
  op.gemm_n = to;
  op.gemm_k = from;
  op.forward_flops.per_token = Flops(2 * from * to);
  op.backward_flops.per_token = Flops(4 * from * to);
  op.output = per_token(element_bytes(context) * to);
  op.saved = per_token(element_bytes(context) * from);
  op.parameters = from * to + (bias ? to : 0);
  op.weight_type = context.precision;
  return op;
}

Operator memory_bound(std::string name, std::string group, TokenTraffic traffic, double output_width,
                      const OperatorContext& context) {
  const double scale = element_bytes(context) / 2;
  Operator op;
  op.name = std::move(name);
  op.group = std::move(group);
  op.forward_bytes = per_token(scale * traffic.forward);
  op.backward_bytes = per_token(scale * traffic.backward);
  op.output = per_token(element_bytes(context) * output_width);
  op.weight_type = context.precision;
  return op;
}

Operator norm(std::string name, const Architecture& a, const OperatorContext& context) {
  Operator op = memory_bound(std::move(name), "norm", norm_traffic(a, context.software), a.hidden, context);
  const bool copies = a.norm == Norm::rms && !context.software.fused_norm;
  op.saved = per_token((element_bytes(context) + (copies ? kEagerNormCopies : 0)) * a.hidden);
  op.cut = op.saved_cut = TensorCut::sequence;
  op.parameters = (a.norm == Norm::layer ? 2 : 1) * a.hidden;
  return op;
}

}  // namespace trainyard
