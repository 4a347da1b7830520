// What weights and gradients cost the memory of a device beyond the products that use and make them.
#pragma once

#include "sim/cost/layer_work.hpp"

namespace trainyard {

/// Memory traffic to bring the gradients of `parameters`, made in `made`, where they are kept; zero for none. Counted: a kernel of its
/// own reads both and writes the sum (gradients of the same type: only after the first micro-batch; others: in every one), or the
/// product's own epilogue adds, of whose traffic 0.45 is not hidden (SimuMax's table of B200 products with and without fp32
/// accumulation, 82 shapes: 0.41 to 0.47). Sharded gradients are copied into the buffer that is scattered.
[[nodiscard]] Bytes gradient_traffic(double parameters, DataType made, const LayerCut& cut, const Software& software, bool by_product);

/// Gathered weights are copied from the buffer of the gather to where products read them (PyTorch FSDP2, foreach_all_gather_copy_out).
[[nodiscard]] Bytes gathered_weight_traffic(double parameters, DataType type);

/// An embedding's gradient is a whole table, cleared before rows are added.
[[nodiscard]] Bytes table_gradient_traffic(double parameters, DataType type);

}  // namespace trainyard
