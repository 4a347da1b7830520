// What must be computed: passes over modules, modules as layers, layers as operators. No device, no layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/data_type.hpp"
#include "sim/model/layer_profile.hpp"
#include "sim/model/operator_class.hpp"
#include "sim/model/software.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// An amount for one sequence of q tokens: fixed + per_token · q + per_token2 · q².
template <class T>
struct Cost {
  T fixed{}, per_token{}, per_token2{};
  [[nodiscard]] T of(double tokens) const { return fixed + per_token * tokens + per_token2 * (tokens * tokens); }
  friend bool operator==(const Cost&, const Cost&) = default;
};

/// What a tensor axis of size t does to an amount: `replicated` leaves it whole; `sequence` divides it by t with sequence
/// parallelism and leaves it whole without; the `routed` ones follow the layout of the experts: tokens as they come to a device, whole
/// or with its part of the columns or rows; the others divide it by t.
enum class TensorCut { replicated, sequence, column, row, heads, vocabulary, routed, routed_column, routed_row };

/// What brings tokens to their items and back: before a `dispatch`'s successors and before a `combine` all members of an item axis
/// exchange them; backward the other way round.
enum class ItemExchange { none, dispatch, combine };

/// The branches of a parallel block (attention and MLP on the same input) share their tensor collectives: two column products read
/// one gathered input, and their input gradients are added before one reduction; two row products are added before one reduction.
/// So do a column product and the first factor of its low-rank adapter. `first`, any number of `middle`, and `last` in order of the
/// forward pass.
enum class TensorJoin { alone, first, middle, last };

/// One attention call, for the kernels whose time depends on more than FLOPs.
struct AttentionShape {
  int heads = 0, key_value_heads = 0, head_size = 0;
  bool causal = true;
  double window = 0;                   ///< tokens before each that it attends to, itself among them; 0: all
  int value_size = 0;                  ///< of a head of V, where it is not head_size
  /// Elements a token of one head of K and of V together.
  [[nodiscard]] int key_value_size() const { return head_size + (value_size > 0 ? value_size : head_size); }
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// One operator of a layer, whole (before any cut), one sample (sequence) of q tokens.
/// FLOPs count attention in full, not halved for causal (design.md §3).
struct Operator {
  std::string name;                    ///< e.g. "qkv", "attention", "mlp_down"
  std::string group;                   ///< what rules match: attention, mlp, norm, experts, embedding, head, ..
  OperatorClass kind = OperatorClass::memory_bound;
  double gemm_n = 0, gemm_k = 0;       ///< gemm: output and input width; m is the number of tokens
  AttentionShape attention;            ///< attention
  Cost<Flops> forward_flops, backward_flops;
  Cost<Bytes> forward_bytes, backward_bytes;  ///< memory traffic, for memory_bound, embedding and unfused attention
  Cost<Bytes> output;                  ///< what the next operator reads; for a layer's last operator: what a stage sends
  Cost<Bytes> saved;                   ///< kept from the forward for the backward pass
  TensorCut cut = TensorCut::replicated;        ///< of FLOPs, weights, bytes
  TensorCut saved_cut = TensorCut::replicated;
  TensorJoin join = TensorJoin::alone; ///< of products cut by column or row
  Cost<Bytes> gathered;                ///< with a tensor axis, its input is gathered first: bytes of the whole
  bool splits_rows = true;             ///< sequence parallelism splits its rows outside the product; false: it reads and leaves them whole
  bool core_attention = false;         ///< what selective recompute computes again
  double parameters = 0;               ///< count
  DataType weight_type = DataType::bf16;
  std::optional<DataType> product_type;///< gemm: type of its operands, where it is not that of the activations (fp8, fp4 recipes)
  bool trainable = true;               ///< its parameters; false: they get no gradients, and a product only its input's
  double row_state_bytes = 0;          ///< of tables whose rows are updated where they are read, in the backward pass: bytes of optimizer
                                       ///< states, whole; such parameters are not `trainable` otherwise. 0: none
  int items = 1;                       ///< experts, tables; 1 = dense
  double items_per_token = 1;
  ItemExchange exchange = ItemExchange::none;
  std::vector<OperatorId> inputs;      ///< empty: the operator before
  friend bool operator==(const Operator&, const Operator&) = default;
};

/// What a layer sees of a sample where it is not what the workload says: an image encoder works on the images of a sample, each a
/// sequence of patches.
struct LayerSamples {
  double sequences = 1;                ///< of this layer, a sample
  double tokens = 0;                   ///< of each; 0: as the workload's
  double width = 0;                    ///< of what it gives to the next layer, a token; 0: the module's `hidden`
  bool forward_only = false;           ///< frozen, with nothing trained before it: no backward pass, nothing kept for one
  friend bool operator==(const LayerSamples&, const LayerSamples&) = default;
};

struct LayerType {
  std::string name;                    ///< "embedding", "decoder", "head"
  std::vector<Operator> operators;     ///< in order of the forward pass
  std::optional<LayerProfile> profile{};  ///< its times stand for the operators'; without operators, its bytes and parameters too
  LayerSamples samples{};
  [[nodiscard]] bool only_measured() const { return profile && operators.empty(); }
  friend bool operator==(const LayerType&, const LayerType&) = default;
};

struct Layer {
  std::string name;                    ///< "embedding", "0", "1", .., "head": what a Plan's `layers` names
  LayerTypeId type{};
  std::vector<LayerId> inputs;         ///< empty: the layer before
  std::vector<LayerId> tied_to;        ///< at most one: shares its table (head and embedding)
  friend bool operator==(const Layer&, const Layer&) = default;
};

struct Module {
  std::string name;                    ///< "model"
  std::string family;                  ///< "gpt", "llama": for people
  std::vector<LayerType> types;
  std::vector<Layer> layers;
  double hidden = 0, vocabulary = 0;   ///< vocabulary as stored (padded); 0 without operators
  /// The layers that an even pipeline counts: the numbered ones (between embedding and head), or all where none is numbered.
  [[nodiscard]] std::vector<bool> counted_layers() const;
  friend bool operator==(const Module&, const Module&) = default;
};

enum class PassKind { train, forward, zeroth_order, generate, serve };
struct PassInput {
  PassId pass{};
  bool whole_batch = false;            ///< else micro-batch by micro-batch
  friend bool operator==(const PassInput&, const PassInput&) = default;
};
struct Pass {
  std::string name;
  ModuleId module{};
  PassKind kind = PassKind::train;
  std::vector<PassInput> after;
  double sequences_per_sample = 1, tokens_per_iteration = 0;
  int variants = 1, iterations = 1;
  friend bool operator==(const Pass&, const Pass&) = default;
};

/// How tokens find their items (experts).
struct ItemRouting {
  double capacity = 0;                 ///< tokens of an item, as a multiple of the mean, beyond which they are dropped; 0: none are
  bool padded = false;                 ///< every item computes its whole capacity
  int nodes = 0;                       ///< most nodes that the items of one token lie on; 0: any
  std::string text;                    ///< for people; "": uniform
  friend bool operator==(const ItemRouting&, const ItemRouting&) = default;
};

/// One sample of a step's batch, or one sequence into which samples were packed.
struct SampleSize {
  double tokens = 0;                   ///< that train
  double rows = 0;                     ///< that are computed: with those that fill up a packed sequence
  double squares = 0;                  ///< sum of the squares of the lengths of the sequences in it, which do not attend to each other
  double images = 1;                   ///< over the mean: what encoders see of it
  friend bool operator==(const SampleSize&, const SampleSize&) = default;
};

/// Lengths and loads where they vary; empty vectors: all sequences have `sequence_length`, all items equal load.
struct Data {
  double sequence_length = 0;          ///< of the longest where they vary; 0: samples have no tokens (images)
  std::vector<SampleSize> batch;       ///< [sample of a step]
  bool padded = false;                 ///< each sample of a micro-batch has the length of its longest
  std::string batch_text;              ///< how `batch` was drawn, for people
  std::vector<double> output_lengths;
  std::vector<Seconds> arrivals;
  std::vector<std::vector<double>> item_load;   ///< [layer][item]: share of each item, 1 together; empty for layers without items
  ItemRouting routing{};
  friend bool operator==(const Data&, const Data&) = default;
};

/// Steps to the target: multiplier · steps · (1 + critical_batch / global_batch).
struct Convergence {
  double steps = 0, critical_batch = 0, multiplier = 1;
  friend bool operator==(const Convergence&, const Convergence&) = default;
};

struct Workload {
  std::string model;                   ///< catalogue name or file, for people
  std::vector<Module> modules;
  std::vector<Pass> passes;
  Data data;
  std::vector<Convergence> convergence;///< at most one
  double global_batch = 0;             ///< sequences a step
  DataType precision = DataType::bf16; ///< of weights and activations as stored
  std::optional<DataType> product_type;///< of the layers' products, where it is another (fp8 and fp4 beside bf16)
  std::string optimizer = "adam";
  std::string method = "backprop";     ///< how weights are trained, for people
  Software software;
  /// The type whose peak the devices are measured against.
  [[nodiscard]] DataType compute_type() const { return product_type.value_or(precision); }
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// Parameters of a module; a tied table counts once.
[[nodiscard]] double parameter_count(const Module& module);
/// Those that one token meets: of items its own.
[[nodiscard]] double active_parameter_count(const Module& module);
/// Those that are trained: all, or with low-rank adapters theirs.
[[nodiscard]] double trained_parameter_count(const Module& module);
/// Model FLOPs of one training step by Megatron's convention: forward + backward, attention in full, head counted,
/// embedding look-up and recompute not. Layers whose FLOPs are not known count nothing: see knows_flops. A frozen product counts 4 of
/// the 6 FLOPs a parameter and token: forward and input gradient (as NeMo's tables of LoRA runs do); adapters count in full.
[[nodiscard]] Flops model_flops_per_step(const Workload& workload);
/// Whether the FLOPs of every layer are known.
[[nodiscard]] bool knows_flops(const Workload& workload);
/// What samples are for kernels, as equal sequences: so many of so many tokens that their products have the same rows and their
/// attention the same squares (n q = sum of rows, n q² = sum of squares). Padded ones are as long as the longest.
struct EqualSequences {
  double count = 0, tokens = 0;
  double samples = 0;                  ///< which they stand for, as encoders see them: with their images over the mean
  friend bool operator==(const EqualSequences&, const EqualSequences&) = default;
};
[[nodiscard]] EqualSequences equal_sequences(const Data& data, const std::vector<int>& samples);
/// 0 where samples have no tokens; padding does not count.
[[nodiscard]] double tokens_per_step(const Workload& workload);

}  // namespace trainyard
