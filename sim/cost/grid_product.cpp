#include "sim/cost/grid_product.hpp"

#include <algorithm>

namespace trainyard {
namespace {

/// Sum and sum of squares in fp32.
constexpr Bytes kNormSums(8);
/// As without a grid: maximum, target's logit and sum of exponentials.
constexpr int kLossReductions = 3;
constexpr Bytes kLossReductionBytes(4);

bool is_table(const Operator& op) { return op.kind == OperatorClass::embedding && op.cut == TensorCut::vocabulary; }
bool is_product(const Operator& op) { return op.kind == OperatorClass::gemm && op.attention.heads == 0; }

int size_of(LayerGroup axis, const ProductGrid& grid) {
  return axis == LayerGroup::rows ? grid.rows : axis == LayerGroup::columns ? grid.columns : grid.inner;
}

GridSide side(LayerGroup axis, Bytes size, const ProductGrid& grid) { return {axis, size_of(axis, grid) > 1 ? size : Bytes(0)}; }

/// The axis that cuts the rows of a norm: their width is the inner side of the next product.
LayerGroup width_axis(const ProductGrid& grid) { return grid.inner > 1 ? LayerGroup::inner : LayerGroup::columns; }

}  // namespace

GridProduct grid_product(const Operator& op, const LayerCut& cut, DataType precision) {
  if (!is_product(op) && !is_table(op)) return {};
  const ProductGrid& grid = cut.grid;
  const bool turned = grid.inner > 1 && (op.cut == TensorCut::row || is_table(op));
  const double columns = turned ? grid.inner : grid.columns, inner = turned ? grid.columns : grid.inner;
  const double rows = cut.sequences * cut.tokens / grid.rows;
  const Bytes element = element_size(precision);
  GridProduct product;
  product.shape = {rows, op.gemm_n / columns, op.gemm_k / inner, 1};
  if (is_product(op)) product.a = side(turned ? LayerGroup::inner : LayerGroup::columns, element * (rows * op.gemm_k / inner), grid);
  product.b = side(LayerGroup::rows, element * (op.parameters / (columns * inner)), grid);
  product.c = side(turned ? LayerGroup::columns : LayerGroup::inner, op.output.of(cut.tokens) * (cut.sequences / (grid.rows * columns)), grid);
  return product;
}

std::vector<GridSide> grid_reductions(const Operator& op, const LayerCut& cut) {
  const ProductGrid& grid = cut.grid;
  const double rows = cut.sequences * cut.tokens / grid.rows;
  std::vector<GridSide> sides;
  if (op.group == "norm" && op.cut == TensorCut::sequence)
    sides.push_back(side(width_axis(grid), kNormSums * (rows / (grid.inner > 1 ? grid.columns : 1)), grid));
  if (op.group == "loss") sides.assign(kLossReductions, side(LayerGroup::columns, kLossReductionBytes * (rows / grid.inner), grid));
  return sides;
}

Bytes grid_blocks(const LayerType& layer, const LayerCut& cut, DataType precision) {
  Bytes largest{};
  if (cut.grid.members() == 1) return largest;
  for (const Operator& op : layer.operators) largest = std::max(largest, grid_product(op, cut, precision).held());
  return largest;
}

}  // namespace trainyard
