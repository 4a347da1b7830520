#include "sim/cost/layer_work.hpp"

#include <algorithm>
#include <utility>

#include "sim/cost/gradient_traffic.hpp"
#include "sim/cost/grid_product.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/measured_layer.hpp"
#include "sim/cost/scan_kernels.hpp"
#include "sim/cost/selective_recompute.hpp"
#include "sim/model/convolution.hpp"

namespace trainyard {
namespace {

/// Bytes that a fused masked softmax moves for each score, forward and backward; the batched products around it count their own.
constexpr double kSoftmaxForwardBytes = 9, kSoftmaxBackwardBytes = 11;
/// Casting an operand to fewer bits moves 4 bytes an element (2 read, 1 written, 1 for its transpose); a bit more than half of it
/// hides in the kernel before. Source: fidelity study of NeMo and Megatron-Bridge runs (per-tensor scaling; MXFP8 hides less).
constexpr Bytes kCastBytes(4);
constexpr double kExposedCast = 0.45;
/// With scales of its own: read for the maximum, read and written twice; by rows its transpose is written and read in 16 bits between.
/// Source: pytorch/ao, torchao/testing/training/roofline_utils.py (nothing fused with the kernel before). Weights are left out: FSDP
/// casts them in shards.
constexpr Bytes kTensorwiseCastBytes(6), kRowwiseCastBytes(8);
constexpr const char* kRowCopy = "rows in order";
constexpr double kCopyBytes = 2;  // read and written
/// Kernels an expert of its second bias: product and sum; backward two products, two sums and two casts (traffic.hpp).
constexpr double kBiasLaunchesForward = 2, kBiasLaunchesBackward = 6;
/// The vocabulary-parallel loss reduces its maximum, the target's logit and the sum of exponentials, 4 bytes a token each.
constexpr int kLossReductions = 3;
constexpr Bytes kLossReductionBytes(4);

/// Adds the pieces of one layer, operator by operator.
class LayerWriter {
 public:
  LayerWriter(const LayerCut& cut, const DeviceType& device, DataType precision, const Software& software)
      : cut_(cut), device_(device), precision_(precision), software_(software) {}

  void forward(const Operator& op, TaskKind kind, std::vector<Piece>& out) const {
    if (on_grid()) return forward_on_grid(op, kind, out);
    if (op.exchange == ItemExchange::combine) bring_back(op, false, out);
    const bool gathers = gathers_input(op) && splits_rows(op) && begins_join(op);
    const bool reduces = leaves_partial_sums(op) && ends_join(op);
    const double beside = runs_in_parts(op) ? 1 - 1.0 / cut_.tensor : 0;
    if (gathers) collect_rows(CollectiveKind::all_gather, input_size(op) * (1 - beside), kind, out);
    if (op.gathered.of(cut_.tokens) > Bytes(0))
      collect(CollectiveKind::all_gather, op.gathered.of(cut_.tokens) * cut_.sequences, out);
    cast(op, kind, shape_of(op).k, out);
    if (reduces && slices_columns(op, kind)) return forward_by_columns(op, kind, out);
    const std::size_t first = out.size();
    for (Kernel& kernel : forward_kernels(op)) out.push_back({kind, op.name, std::move(kernel), std::nullopt});
    if (beside > 0 && gathers) out.back().collective = LayerCollective{CollectiveKind::all_gather, input_size(op) * beside};
    if (beside > 0 && reduces) out.back().collective = LayerCollective{reduction(op), output_size(op) * beside};
    exchange_context(op, false, first, out);
    if (reduces) collect_rows(reduction(op), output_size(op) * (1 - beside), kind, out);
    if (op.exchange == ItemExchange::dispatch) send_out(op, false, out);
    if (op.group == "loss" && op.cut == TensorCut::vocabulary)
      for (int i = 0; i < kLossReductions; ++i) collect(CollectiveKind::all_reduce, kLossReductionBytes * rows(), out);
  }

  /// What selective recompute of single products leaves: the sum of a row-cut product was kept.
  void again(Operator op, double share, std::vector<Piece>& out) const {
    if (share == 0) return;
    op.gemm_n *= share;
    const std::size_t first = out.size();
    forward(op, TaskKind::recompute, out);
    if (cut_.recompute != RecomputeKind::selective || !software_.selective_keeps_products) return;
    const auto is_sum = [&](const Piece& piece) { return op.cut == TensorCut::row && (piece.kind == TaskKind::tensor || piece.name == kRowCopy); };
    out.erase(std::remove_if(out.begin() + std::ptrdiff_t(first), out.end(), is_sum), out.end());
  }

  void backward(const Operator& op, std::vector<Piece>& out) const {
    if (on_grid()) return backward_on_grid(op, out);
    if (op.exchange == ItemExchange::dispatch) bring_back(op, true, out);
    const bool gathers = leaves_partial_sums(op) && splits_rows(op) && ends_join(op);
    const double beside = runs_in_parts(op) ? 1 - 1.0 / cut_.tensor : 0;
    if (gathers) collect_rows(CollectiveKind::all_gather, output_size(op) * (1 - beside), TaskKind::backward, out);
    cast(op, TaskKind::backward, shape_of(op).n, out);
    std::vector<Piece> kernels = backward_pieces(op);
    if (gathers && beside > 0) kernels.front().collective = LayerCollective{CollectiveKind::all_gather, output_size(op) * beside};
    const std::size_t first = out.size();
    if (gathers_input(op) && cut_.tensor > 1) {
      add_input_gradient(op, kernels, out);
    } else {
      out.insert(out.end(), kernels.begin(), kernels.end());
    }
    exchange_context(op, true, first, out);
    if (op.exchange == ItemExchange::combine) send_out(op, true, out);
  }

  [[nodiscard]] double share(TensorCut cut) const { return remaining_share(cut, cut_); }
  [[nodiscard]] double rows() const { return cut_.sequences * cut_.tokens; }

 private:
  /// Tokens, or their gradients, to the devices of their experts: an all-to-all among the ranks, at the pace of the busiest, and a gather
  /// among the devices that share a rank. Source: Liu et al., MoE Parallel Folding, arXiv 2504.14960 §3.2.
  void send_out(const Operator& op, bool backward, std::vector<Piece>& out) const {
    exchange_items(op, backward, out);
    if (expert_tensor() > 1 && cut_.sequence_parallel) share_rank(CollectiveKind::all_gather, output_size(op) * share(TensorCut::routed), out);
    sort_by_expert(op, backward, out);
    pad_rows(op, backward, out);
  }

  /// And back.
  void bring_back(const Operator& op, bool backward, std::vector<Piece>& out) const {
    pad_rows(op, backward, out);
    sort_by_expert(op, backward, out);
    if (expert_tensor() > 1 && cut_.sequence_parallel) share_rank(CollectiveKind::reduce_scatter, output_size(op) * share(TensorCut::routed), out);
    if (expert_tensor() > 1 && !cut_.sequence_parallel) share_rank(CollectiveKind::all_reduce, output_size(op) * (1 / op.items_per_token), out);
    exchange_items(op, backward, out);
  }

  void exchange_items(const Operator& op, bool backward, std::vector<Piece>& out) const {
    if (!cut_.experts.apart || cut_.experts.ranks < 2) return;
    if (backward && op.exchange == ItemExchange::dispatch && op.group == "tables") return;  // indices have no gradients
    const bool narrow = op.product_type && software_.narrow_dispatch && op.exchange == ItemExchange::dispatch && !backward;
    const double width = narrow ? element_size(*op.product_type) / element_size(precision_) : 1.0;
    const double busiest = op.group == "tables" && op.exchange == ItemExchange::combine ? cut_.experts.most_held : cut_.experts.peak;
    LayerCollective exchange{CollectiveKind::all_to_all, output_size(op) * (share(TensorCut::sequence) * busiest * width), LayerGroup::expert};
    if (software_.deduplicates_dispatch) exchange.copies = op.items_per_token;
    out.push_back({TaskKind::expert, op.name, std::nullopt, exchange});
  }

  /// Tokens arrive device by device; where several experts sit here they are copied into the order of the experts, and back again before
  /// they leave. Kernels that send a token once a node, or sort in the exchange itself, need no copy of their own.
  /// Source: Megatron-Core, token_dispatcher.py, sort_chunks_by_idxs.
  void sort_by_expert(const Operator& op, bool backward, std::vector<Piece>& out) const {
    const bool several = op.group == "experts" && cut_.experts.apart && cut_.experts.ranks > 1 && cut_.experts.items > 1;
    if (!several || software_.deduplicates_dispatch || software_.fused_permute) return;
    copy_routed(op, " sort", backward, out);
  }

  /// Grouped products of fp8 and fp4 want as many rows of each expert as divide by 16 or 32: tokens are copied between empty rows before
  /// them and back behind them. Kernels that send a token once a node pad in the exchange. Source: Transformer Engine, Fp8Padding and
  /// Fp8Unpadding, as Megatron-Core's TEGroupedMLP calls them (experts.py).
  void pad_rows(const Operator& op, bool backward, std::vector<Piece>& out) const {
    if (op.group != "experts" || !op.product_type || software_.deduplicates_dispatch || software_.fused_experts) return;
    copy_routed(op, " pad", backward, out);
  }

  void copy_routed(const Operator& op, const char* what, bool backward, std::vector<Piece>& out) const {
    const Bytes moved = output_size(op) * (kCopyBytes * share(TensorCut::routed));
    out.push_back({backward ? TaskKind::backward : TaskKind::forward, op.name + what,
                   Kernel{OperatorClass::memory_bound, {}, {}, moved, memory_bound_time(device_, moved)}, std::nullopt});
  }

  [[nodiscard]] int expert_tensor() const { return cut_.experts.apart ? cut_.experts.tensor : cut_.tensor; }

  void share_rank(CollectiveKind kind, Bytes size, std::vector<Piece>& out) const {
    const LayerGroup group = cut_.experts.apart ? LayerGroup::expert_tensor : LayerGroup::tensor;
    out.push_back({TaskKind::tensor, "experts", std::nullopt, LayerCollective{kind, size, group}});
  }

  /// Column-cut products read their whole input on every device, and their input gradients must be added up.
  static bool gathers_input(const Operator& op) {
    return op.kind == OperatorClass::gemm && (op.cut == TensorCut::column || op.cut == TensorCut::vocabulary);
  }
  static bool leaves_partial_sums(const Operator& op) {
    return op.cut == TensorCut::row || (op.kind == OperatorClass::embedding && op.cut == TensorCut::vocabulary);
  }

  bool on_grid() const { return cut_.grid.members() > 1; }

  void along(const GridSide& side, CollectiveKind kind, std::vector<Piece>& out) const {
    if (side.size > Bytes(0)) out.push_back({TaskKind::tensor, std::string(axis_name(side.axis)), std::nullopt, LayerCollective{kind, side.size, side.axis}});
  }

  static std::string_view axis_name(LayerGroup axis) {
    return axis == LayerGroup::rows ? "rows" : axis == LayerGroup::columns ? "columns" : "inner";
  }

  void forward_on_grid(const Operator& op, TaskKind kind, std::vector<Piece>& out) const {
    const GridProduct product = grid_product(op, cut_, precision_);
    if (begins_join(op)) along(product.a, CollectiveKind::all_gather, out);
    along(product.b, CollectiveKind::all_gather, out);
    cast(op, kind, shape_of(op).k, out);
    for (Kernel& kernel : forward_kernels(op)) out.push_back({kind, op.name, std::move(kernel), std::nullopt});
    if (ends_join(op)) along(product.c, CollectiveKind::reduce_scatter, out);
    for (const GridSide& side : grid_reductions(op, cut_)) along(side, CollectiveKind::all_reduce, out);
  }

  /// dA = dC·Bᵗ and dB = Aᵗ·dC: dC is gathered for both, B for the first and A for the second, since neither stays whole.
  void backward_on_grid(const Operator& op, std::vector<Piece>& out) const {
    const GridProduct product = grid_product(op, cut_, precision_);
    const bool multiplies = op.kind == OperatorClass::gemm && !is_batched(op);
    if (ends_join(op)) along(product.c, CollectiveKind::all_gather, out);
    if (multiplies) along(product.b, CollectiveKind::all_gather, out);
    cast(op, TaskKind::backward, shape_of(op).n, out);
    const std::vector<Piece> kernels = backward_pieces(op);
    out.push_back(kernels.front());
    if (begins_join(op)) along(product.a, CollectiveKind::reduce_scatter, out);
    if (ends_join(op) && op.trainable) along(product.a, CollectiveKind::all_gather, out);
    out.insert(out.end(), kernels.begin() + 1, kernels.end());
    along(product.b, CollectiveKind::reduce_scatter, out);
    if (op.kind != OperatorClass::gemm && op.group == "norm")
      for (const GridSide& side : grid_reductions(op, cut_)) along(side, CollectiveKind::all_reduce, out);
  }

  /// Whether the sums of a row-cut product are reduced part by part, each beside the kernel of the next.
  bool slices_columns(const Operator& op, TaskKind kind) const {
    return cut_.hides_slices && cut_.slices.columns > 1 && cut_.tensor > 1 && op.kind == OperatorClass::gemm && kind == TaskKind::forward;
  }

  void forward_by_columns(const Operator& op, TaskKind kind, std::vector<Piece>& out) const {
    const double parts = cut_.slices.columns;
    GemmShape part = shape_of(op);
    part.n /= parts;
    for (int i = 0; i < cut_.slices.columns; ++i)
      out.push_back({kind, op.name, product(op, part), LayerCollective{reduction(op), output_size(op) / parts}, true});
  }

  std::vector<Piece> backward_pieces(const Operator& op) const {
    std::vector<Piece> pieces;
    for (Kernel& kernel : backward_kernels(op)) pieces.push_back({TaskKind::backward, op.name, std::move(kernel), std::nullopt});
    const bool is_product = (op.kind == OperatorClass::gemm && !is_batched(op)) || op.kind == OperatorClass::grouped_gemm;
    if (is_product && op.trainable) pieces.back().kind = TaskKind::weight_gradient;
    return pieces;
  }

  /// All but the first part of a gather, or the last of a scatter, moves beside the product of its neighbour. Source: user buffers of
  /// Transformer Engine (ring exchange in as many steps as there are members), as Wang et al., ASPLOS 2023, §5.
  bool runs_in_parts(const Operator& op) const {
    return software_.splits_tensor_products && software_.overlap_tensor && cut_.tensor > 1 && splits_rows(op) &&
           op.kind == OperatorClass::gemm && (op.cut == TensorCut::column || op.cut == TensorCut::row) && op.join == TensorJoin::alone;
  }
  bool splits_rows(const Operator& op) const { return cut_.sequence_parallel && op.splits_rows; }
  static bool begins_join(const Operator& op) { return op.join == TensorJoin::alone || op.join == TensorJoin::first; }
  static bool ends_join(const Operator& op) { return op.join == TensorJoin::alone || op.join == TensorJoin::last; }
  CollectiveKind reduction(const Operator& op) const { return splits_rows(op) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce; }

  Bytes input_size(const Operator& op) const { return element_size(precision_) * (op.gemm_k * rows()); }
  Bytes output_size(const Operator& op) const { return op.output.of(cut_.tokens) * cut_.sequences; }

  void collect(CollectiveKind kind, Bytes size, std::vector<Piece>& out) const {
    if (cut_.tensor > 1) out.push_back({TaskKind::tensor, "tensor", std::nullopt, LayerCollective{kind, size}});
  }

  /// Rows of the sequence. Where it is not the outermost axis, what was gathered is copied into order, and what is to be scattered before.
  /// Source: PyTorch, torch/distributed/_functional_collectives.py (chunk and cat in all_gather_tensor and reduce_scatter_tensor).
  void collect_rows(CollectiveKind kind, Bytes size, TaskKind task, std::vector<Piece>& out) const {
    if (!software_.copies_gathers || cut_.tensor == 1 || kind == CollectiveKind::all_reduce) return collect(kind, size, out);
    const Piece copy{task, kRowCopy, Kernel{OperatorClass::memory_bound, {}, {}, size * 2, memory_bound_time(device_, size * 2)}, std::nullopt};
    if (kind == CollectiveKind::reduce_scatter) out.push_back(copy);
    collect(kind, size, out);
    if (kind == CollectiveKind::all_gather) out.push_back(copy);
  }

  void exchange_context(const Operator& op, bool backward, std::size_t first, std::vector<Piece>& out) const {
    if (cut_.context == 1 || !op.core_attention || op.name == "softmax") return;
    if (cut_.context_kind == ContextKind::ulysses)
      exchange_heads(op, backward, first, out);
    else if (op.name != "context")
      exchange_keys(op, backward ? 2 : 1, first, out);  // backward: keys and values again, and their gradients
  }

  /// Positions become heads before the attention and positions again behind it, by all-to-alls of queries, keys and values and of
  /// its output; backward their gradients take the same ways back. Source: Jacobs et al., DeepSpeed Ulysses, arXiv 2309.14509 §3.1.
  void exchange_heads(const Operator& op, bool backward, std::size_t first, std::vector<Piece>& out) const {
    const double queries = op.attention.heads * op.attention.head_size * share(TensorCut::heads);
    const double keys = keys_and_values(op);
    const auto exchange = [&](double width) {
      const LayerCollective heads{CollectiveKind::all_to_all, element_size(precision_) * (width * rows()), LayerGroup::context};
      return Piece{TaskKind::context, "context", std::nullopt, heads};
    };
    const bool enters = op.name != (backward ? "scores" : "context"), leaves = op.name != (backward ? "context" : "scores");
    if (enters) out.insert(out.begin() + std::ptrdiff_t(first), exchange(backward ? queries : queries + keys));
    if (leaves) out.push_back(exchange(backward ? queries + keys : queries));
  }

  /// Elements a token of this device's keys and values.
  double keys_and_values(const Operator& op) const {
    return double(op.attention.key_value_heads) * op.attention.key_value_size() * share(TensorCut::heads);
  }

  /// The keys and values of all positions come by: in a ring beside the attention kernel (Liu et al., Ring Attention, arXiv 2310.01889
  /// §3), or gathered before it (Llama 3, arXiv 2407.21783 §3.3.2). Both move (c-1)/c of them.
  void exchange_keys(const Operator& op, double times, std::size_t first, std::vector<Piece>& out) const {
    const Bytes all = element_size(precision_) * (keys_and_values(op) * rows() * cut_.context);
    const LayerCollective keys{CollectiveKind::all_gather, all * times, LayerGroup::context};
    if (cut_.context_kind == ContextKind::ring)
      out.at(first).collective = keys;
    else
      out.insert(out.begin() + std::ptrdiff_t(first), {TaskKind::context, "context", std::nullopt, keys});
  }

  /// Input gradient, its reduction, weight gradient; with sequence parallelism the input is gathered again for the latter, unless
  /// the software or the operator kept it whole. Of joined products the last in the forward pass, first here, gathers, and the first
  /// reduces. `overlap_tensor` puts each collective beside the product that does not need it; a frozen product has none such.
  void add_input_gradient(const Operator& op, std::vector<Piece>& kernels, std::vector<Piece>& out) const {
    const bool keeps_whole = software_.keeps_gathered_input || op.saved_cut == TensorCut::replicated;
    const bool gathers = op.trainable && splits_rows(op) && !keeps_whole && ends_join(op);
    const bool reduces = begins_join(op);
    if ((software_.overlap_tensor || cut_.hides_slices) && op.trainable) {
      if (gathers) kernels.front().collective = LayerCollective{CollectiveKind::all_gather, input_size(op)};
      if (reduces) kernels.back().collective = LayerCollective{reduction(op), input_size(op)};
      out.insert(out.end(), kernels.begin(), kernels.end());
      return;
    }
    if (gathers) collect_rows(CollectiveKind::all_gather, input_size(op), TaskKind::backward, out);
    out.push_back(kernels.front());
    if (reduces) collect_rows(reduction(op), input_size(op), TaskKind::backward, out);
    out.insert(out.end(), kernels.begin() + 1, kernels.end());
  }

  /// Its gradients have other shapes and move the same.
  Kernel convolution(const Operator& op, const GemmShape& shape) const {
    const Bytes moved = op.forward_bytes.of(cut_.tokens) * cut_.sequences + element_size(precision_) * (op.gemm_k * op.gemm_n);
    return {OperatorClass::gemm, shape, Flops(2 * shape.m * shape.n * shape.k), moved, convolution_time(device_, precision_, shape, moved)};
  }

  Kernel product(const Operator& op, const GemmShape& shape) const {
    if (is_convolution(op)) return convolution(op, shape);
    const DataType type = op.product_type.value_or(precision_);
    const double elements = (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * shape.batch;
    if (op.kind == OperatorClass::grouped_gemm)
      return {OperatorClass::grouped_gemm, shape, Flops(2 * shape.m * shape.n * shape.k * shape.batch), element_size(type) * elements,
              grouped_gemm_time(device_, type, shape)};
    return {OperatorClass::gemm, shape, Flops(2 * shape.m * shape.n * shape.k * shape.batch),
            element_size(type) * elements, is_batched(op) ? batched_gemm_time(device_, type, shape) : gemm_time(device_, type, shape)};
  }

  /// Casts an operand of [rows x width] to the product's type.
  void cast(const Operator& op, TaskKind kind, double width, std::vector<Piece>& out) const {
    if (!op.product_type || width == 0) return;
    const double tokens = op.kind == OperatorClass::grouped_gemm ? routed_rows(op) : rows() * (op.cut == TensorCut::sequence ? share(op.cut) : 1.0);
    const bool experts = op.kind == OperatorClass::grouped_gemm;  // their tokens come from an exchange, not from a kernel that casts them
    if (experts && software_.fused_experts) return;
    const Bytes moved = cast_bytes(experts) * (tokens / cut_.grid.rows * width);
    Kernel kernel{OperatorClass::memory_bound, {}, {}, moved, memory_bound_time(device_, moved)};
    if (experts) split(kernel, local_experts(op));
    out.push_back({kind, op.name + " cast", kernel, std::nullopt});
  }

  [[nodiscard]] Bytes cast_bytes(bool experts) const {
    switch (software_.operand_scaling) {
      case OperandScaling::tensorwise: return kTensorwiseCastBytes;
      case OperandScaling::rowwise: return kRowwiseCastBytes;
      case OperandScaling::delayed: break;
    }
    return kCastBytes * (experts ? 1 : kExposedCast);
  }

  /// One kernel an expert instead of one for all: Transformer Engine quantises the rows of each apart, and adds biases expert by expert.
  void split(Kernel& kernel, double launches) const {
    kernel.shape.batch = std::max(1.0, launches);
    kernel.alone += device_.kernel_launch * (kernel.shape.batch - 1);
  }

  Kernel traffic(const Operator& op, Bytes bytes, double launches_each = 1) const {
    Kernel kernel{op.kind, {}, {}, bytes, memory_bound_time(device_, bytes)};
    if (op.kind == OperatorClass::memory_bound && op.items > 1) split(kernel, local_experts(op) * launches_each);
    return kernel;
  }

  bool is_batched(const Operator& op) const { return op.kind == OperatorClass::gemm && op.attention.heads > 0; }

  /// Scores are [q x head] · [head x q], the context [q x q] · [q x head], for each head and sequence.
  GemmShape attention_shape(const AttentionShape& attention, bool scores) const {
    const double heads = attention.heads * share(TensorCut::heads) * cut_.sequences;
    const double q = cut_.tokens, value = attention.key_value_size() - attention.head_size;
    return scores ? GemmShape{q, q, double(attention.head_size), heads} : GemmShape{q, value, q, heads};
  }

  GemmShape shape_of(const Operator& op) const {
    if (is_batched(op)) return attention_shape(op.attention, op.gemm_k == op.attention.head_size);
    if (on_grid()) return grid_product(op, cut_, precision_).shape;
    if (op.kind == OperatorClass::grouped_gemm) return grouped_shape(op);
    if (op.cut == TensorCut::sequence) return {rows() * share(op.cut), op.gemm_n, op.gemm_k, 1};
    const bool cuts_output = op.cut == TensorCut::column || op.cut == TensorCut::vocabulary;
    const bool cuts_input = op.cut == TensorCut::row;
    return {rows(), op.gemm_n * (cuts_output ? share(op.cut) : 1.0), op.gemm_k * (cuts_input ? share(op.cut) : 1.0), 1};
  }

  /// Tokens of this device's experts, each as often as it has experts here.
  double routed_rows(const Operator& op) const { return rows() * op.items_per_token * share(TensorCut::routed); }

  double local_experts(const Operator& op) const { return op.items * parameter_share(op, cut_) * expert_tensor(); }

  /// A product an expert, of equally many tokens.
  GemmShape grouped_shape(const Operator& op) const {
    const double experts = local_experts(op);
    const double columns = op.cut == TensorCut::routed_column ? expert_tensor() : 1, inner = op.cut == TensorCut::routed_row ? expert_tensor() : 1;
    return {routed_rows(op) / experts, op.gemm_n / columns, op.gemm_k / inner, experts};
  }

  /// The product, and its way to the gradients of earlier micro-batches.
  Kernel weight_gradient(const Operator& op, const GemmShape& shape) const {
    Kernel kernel = product(op, shape);
    if (is_batched(op)) return kernel;
    const double parameters = op.parameters * (op.items > 1 ? parameter_share(op, cut_) : share(op.cut));
    const Bytes kept = gradient_traffic(parameters, precision_, cut_, software_, true);
    kernel.bytes += kept;
    kernel.alone += memory_bound_time(device_, kept);
    return kernel;
  }

  Bytes table_gradient(const Operator& op) const {
    if (!op.trainable) return Bytes(0);
    const double parameters = op.parameters * share(op.cut);
    return table_gradient_traffic(parameters, precision_) + gradient_traffic(parameters, precision_, cut_, software_, false);
  }

  Bytes scaled(const Cost<Bytes>& cost, TensorCut cut) const { return cost.of(cut_.tokens) * (cut_.sequences * share(cut)); }

  std::vector<Kernel> forward_kernels(const Operator& op) const {
    if (is_scan(op)) return scan_kernels(device_, scan_of(op), false);
    switch (op.kind) {
      case OperatorClass::gemm:
      case OperatorClass::grouped_gemm: return {product(op, shape_of(op))};
      case OperatorClass::attention: return attention_kernels(op, false);
      default: return is_fused(op) ? std::vector<Kernel>{} : std::vector{traffic(op, scaled(op.forward_bytes, op.cut), kBiasLaunchesForward)};
    }
  }

  static bool is_scan(const Operator& op) { return op.group == "mamba" && op.attention.window > 0; }

  /// As its dual, attention: the state is a head's size, groups are heads of keys, a chunk is a window.
  ScanCall scan_of(const Operator& op) const {
    return {rows(), op.gemm_n * share(op.cut), op.gemm_k, op.attention.key_value_heads * share(op.cut), op.attention.window, element_size(precision_)};
  }

  /// Part of another kernel: copies for experts inside their exchange, the activation between two products of experts.
  bool is_fused(const Operator& op) const {
    if (on_grid() || op.group != "experts") return false;
    if (op.exchange != ItemExchange::none) return software_.fused_permute && cut_.experts.apart && cut_.experts.ranks > 1;
    return software_.fused_experts;
  }

  /// Of a convolution a row for each element of an input position, whose inner side is the outputs that read it.
  GemmShape input_gradient(const Operator& op, const GemmShape& s) const {
    if (!is_convolution(op)) return {s.m, s.k, s.n, s.batch};
    const double read = op.forward_bytes.per_token / element_size(precision_) - op.gemm_n;
    return {s.m, read, s.n * s.k / read, s.batch};
  }

  std::vector<Kernel> backward_kernels(const Operator& op) const {
    if (is_scan(op)) return scan_kernels(device_, scan_of(op), true);
    switch (op.kind) {
      case OperatorClass::gemm:
      case OperatorClass::grouped_gemm: {
        const GemmShape s = shape_of(op);
        if (!op.trainable) return {product(op, input_gradient(op, s))};
        return {product(op, input_gradient(op, s)), weight_gradient(op, {s.k, s.n, s.m, s.batch})};
      }
      case OperatorClass::attention: return attention_kernels(op, true);
      case OperatorClass::embedding: return {traffic(op, scaled(op.backward_bytes, op.cut) + table_gradient(op))};
      default: return is_fused(op) ? std::vector<Kernel>{} : std::vector{traffic(op, scaled(op.backward_bytes, op.cut), kBiasLaunchesBackward)};
    }
  }

  std::vector<Kernel> attention_kernels(const Operator& op, bool backward) const {
    const Flops flops = op.forward_flops.of(cut_.tokens) * (cut_.sequences * share(op.cut));
    if (!device_.attention.contains(software_.attention)) return unfused_attention(op, backward);
    const AttentionCall call{flops, op.attention.causal, cut_.tokens, cut_.sequences * op.attention.heads * share(op.cut) * cut_.tokens, double(op.attention.head_size), double(op.attention.window)};
    return {{OperatorClass::attention, {}, flops * (backward ? 2.5 : 1.0), {}, fused_attention_time(device_, software_.attention, call, backward)}};
  }

  std::vector<Kernel> unfused_attention(const Operator& op, bool backward) const {
    const GemmShape scores = attention_shape(op.attention, true), context = attention_shape(op.attention, false);
    const double count = scores.m * scores.n * scores.batch;
    const Bytes softmax(count * (backward ? kSoftmaxBackwardBytes : kSoftmaxForwardBytes));
    const Kernel normalise{OperatorClass::memory_bound, {}, {}, softmax, memory_bound_time(device_, softmax)};
    if (!backward) return {product(op, scores), normalise, product(op, context)};
    return {product(op, scores), product(op, context), normalise, product(op, context), product(op, context)};
  }

  const LayerCut& cut_;
  const DeviceType& device_;
  DataType precision_;
  const Software& software_;
};

/// Sharded matrices and tables of the layer, brought to where its kernels read them.
std::optional<Piece> gathered_weights(const LayerType& layer, const LayerCut& cut, const DeviceType& device, DataType precision, TaskKind kind) {
  double parameters = 0;
  for (const Operator& op : layer.operators)
    if (op.kind == OperatorClass::gemm || op.kind == OperatorClass::embedding || op.kind == OperatorClass::grouped_gemm)
      parameters += op.parameters * (op.items > 1 ? parameter_share(op, cut) : remaining_share(op.cut, cut));
  if (!cut.sharded || parameters == 0) return std::nullopt;
  const Bytes moved = gathered_weight_traffic(parameters, precision);
  return Piece{kind, "gathered weights", Kernel{OperatorClass::memory_bound, {}, {}, moved, memory_bound_time(device, moved)}, std::nullopt};
}

/// An exchange with experts, and a product of shared experts next to it, run at once.
void put_beside_shared_experts(std::vector<Piece>& pieces) {
  const auto is_exchange = [](const Piece& piece) { return piece.collective && !piece.kernel && piece.collective->group == LayerGroup::expert; };
  const auto is_shared = [](const Piece& piece) { return piece.kernel && !piece.collective && piece.name.starts_with("shared_"); };
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    const bool exchange_first = is_exchange(pieces[i]) && is_shared(pieces[i + 1]);
    if (!exchange_first && !(is_shared(pieces[i]) && is_exchange(pieces[i + 1]))) continue;
    pieces[exchange_first ? i + 1 : i].collective = pieces[exchange_first ? i : i + 1].collective;
    pieces.erase(pieces.begin() + std::ptrdiff_t(exchange_first ? i : i + 1));
  }
}

}  // namespace

double remaining_share(TensorCut cut, const LayerCut& how) {
  if (how.grid.members() > 1) return 1.0 / how.tensor;
  switch (cut) {
    case TensorCut::routed: return how.experts.apart ? double(how.experts.tensor) / how.tensor * how.experts.load : 1;
    case TensorCut::routed_column:
    case TensorCut::routed_row: return how.experts.apart ? how.experts.load / how.tensor : 1.0 / how.tensor;
    case TensorCut::replicated: return 1;
    case TensorCut::sequence: return how.sequence_parallel ? 1.0 / how.tensor : 1.0;
    default: return how.part > 0 ? how.part : 1.0 / how.tensor;
  }
}

double parameter_share(const Operator& op, const LayerCut& how) {
  if (op.items > 1) {
    const ExpertCut& experts = how.experts;
    if (!experts.apart) return 1.0 / how.tensor;
    return (experts.items > 0 ? experts.items / op.items : 1.0 / experts.ranks) / experts.tensor;
  }
  return op.cut == TensorCut::sequence || op.cut == TensorCut::routed ? 1 : remaining_share(op.cut, how);
}

bool is_block(const LayerType& layer) {
  return std::ranges::any_of(layer.operators, [](const Operator& op) {
    return op.core_attention || op.group == "mlp" || op.group == "experts" || op.group == "mamba" || op.group == "convolution";
  });
}

bool can_recompute(const LayerType& layer) { return layer.only_measured() || is_block(layer); }

LayerWork layer_work(const LayerType& layer, const LayerCut& cut, const DeviceType& device, DataType precision,
                     const Software& software) {
  if (layer.profile) return measured_work(layer, cut, device);
  const LayerWriter writer(cut, device, precision, software);
  const std::vector<Repeated> repeated = repeated_work(layer, cut.recompute, precision, software);
  LayerWork work;
  if (const auto copy = gathered_weights(layer, cut, device, precision, TaskKind::forward)) work.forward.push_back(*copy);
  if (const auto copy = gathered_weights(layer, cut, device, precision, TaskKind::backward); copy && cut.regathers) work.backward.push_back(*copy);
  for (std::size_t i = 0; i < layer.operators.size(); ++i) {
    const Operator& op = layer.operators[i];
    writer.forward(op, TaskKind::forward, work.forward);
    writer.again(op, repeated[i].share, work.recompute);
    work.recomputed += op.forward_flops.of(cut.tokens) * (cut.sequences * writer.share(op.cut) * repeated[i].share);
  }
  if (layer.samples.forward_only) {
    work.recompute.clear();
    work.backward.clear();
    work.recomputed = Flops(0);
    return work;
  }
  for (auto op = layer.operators.rbegin(); op != layer.operators.rend(); ++op) writer.backward(*op, work.backward);
  if (software.overlap_shared_experts)
    for (std::vector<Piece>* pieces : {&work.forward, &work.recompute, &work.backward}) put_beside_shared_experts(*pieces);
  return work;
}

}  // namespace trainyard
