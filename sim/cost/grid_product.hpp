// Products on a grid of devices: what each line of the grid exchanges.
#pragma once

#include <vector>

#include "sim/cost/layer_work.hpp"

namespace trainyard {

/// What the members of one line along an axis exchange around a kernel: the whole buffer; zero where they exchange nothing.
struct GridSide {
  LayerGroup axis = LayerGroup::rows;
  Bytes size{};
};

/// A product C = A·B of M x K and K x N: every device holds equal parts of A, B and C. It gathers its block of A along `columns` and
/// its block of B along `rows`, multiplies M/rows x K/inner by K/inner x N/columns, and scatters the sums of C along `inner`. C's parts
/// are those of A in the next product with `columns` and `inner` exchanged, so row-cut products are turned. Without `inner` both
/// blocks are as in SUMMA: C's parts are A's, and nothing is turned. An embedding is a turned product without A.
/// Source: Agarwal et al., A three-dimensional approach to parallel matrix multiplication, IBM J. R&D 39 (1995); Bian et al., arXiv
/// 2105.14450 §3 (the cube); Xu et al., Optimus, arXiv 2104.05343 (two dimensions).
struct GridProduct {
  GemmShape shape;                       ///< of a device's kernel, forward
  GridSide a, b, c;
  [[nodiscard]] Bytes held() const { return a.size + b.size + c.size; }   ///< gathered blocks and partial sums
};
[[nodiscard]] GridProduct grid_product(const Operator& op, const LayerCut& cut, DataType precision);

/// All-reduces of an operator that is no product: two sums a token where a norm's rows are cut, three where the loss's are.
[[nodiscard]] std::vector<GridSide> grid_reductions(const Operator& op, const LayerCut& cut);

/// The largest blocks that a layer's products hold beside the equal parts, in either pass; zero off a grid.
[[nodiscard]] Bytes grid_blocks(const LayerType& layer, const LayerCut& cut, DataType precision);

}  // namespace trainyard
