// Sums over the operators of a layer, by what a tensor axis does to them.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/model/workload.hpp"
#include "workloads/catalogue.hpp"
#include "workloads/operators.hpp"

namespace trainyard {

inline OperatorContext context_of(const std::string& preset, double sequence_length = 2048) {
  return {DataType::bf16, find_software(preset).value(), sequence_length};
}

inline double per_token_sum(const LayerType& layer, Cost<Bytes> Operator::*amount, TensorCut cut,
                            TensorCut Operator::*of = &Operator::cut) {
  double sum = 0;
  for (const Operator& op : layer.operators)
    if (op.*of == cut && op.kind == OperatorClass::memory_bound && !op.core_attention)
      sum += (op.*amount).per_token.value;
  return sum;
}

inline const Operator& find_operator(const LayerType& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  FAIL("no operator " << name);
  return layer.operators.front();
}

}  // namespace trainyard
