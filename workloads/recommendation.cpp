#include "workloads/recommendation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/operator_parts.hpp"

namespace trainyard {
namespace {

/// Bytes of an index, and of the state of a row (row-wise AdaGrad).
constexpr double kIndex = 8, kRowState = 4;
constexpr double kMostItems = 1 << 16;

struct Tables {
  double count = 0, rows = 0, dim = 0, pooling = 0, skew = 0, columns = 1, row_pieces = 1;
};

/// Sums over all tables, for one sample where not said otherwise.
struct TableSums {
  double parameters = 0, rows = 0;           ///< whole
  double indices = 0, read = 0, pooled = 0;  ///< look-ups; elements read; elements after pooling
  double partial = 0;                        ///< elements of partial sums: each piece of a table's rows gives one
  std::vector<double> loads;                 ///< [piece]: elements read
};

/// Of a group, table number r is asked for ~ 1 / r^skew as often as the first, `pooling` times on average.
TableSums sums_of(const std::vector<Tables>& groups) {
  TableSums sums;
  for (const Tables& group : groups) {
    double all = 0;
    for (int r = 1; r <= int(group.count); ++r) all += std::pow(r, -group.skew);
    for (int r = 1; r <= int(group.count); ++r) {
      const double pooling = group.pooling * group.count * std::pow(r, -group.skew) / all;
      sums.parameters += group.rows * group.dim;
      sums.rows += group.rows;
      sums.indices += pooling;
      sums.read += pooling * group.dim;
      sums.pooled += group.dim;
      sums.partial += group.dim * group.row_pieces;
      const double pieces = group.columns * group.row_pieces;
      for (int piece = 0; piece < int(pieces); ++piece) sums.loads.push_back(pooling * group.dim / pieces);
    }
  }
  return sums;
}

std::vector<double> widths_of(const View& list) {
  std::vector<double> widths;
  for (std::size_t i = 0; i < list.size(); ++i) widths.push_back(double(list.at(i).integer()));
  return widths;
}

std::vector<Tables> groups_of(const View& list) {
  std::vector<Tables> groups;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View group = list.at(i);
    groups.push_back({double(group["count"].integer_or(1)), group["rows"].number(), double(group["dim"].integer()),
                      group["pooling"].number_or(1), group["skew"].number_or(0),
                      double(group["columns"].integer_or(1)), double(group["row_pieces"].integer_or(1))});
  }
  return groups;
}

class RecommendationBuilder {
 public:
  RecommendationBuilder(const View& section, const OperatorContext& context)
      : section_(section),
        context_(context),
        e_(element_bytes(context)),
        groups_(groups_of(section["tables"])),
        sums_(sums_of(groups_)) {}

  Module build() {
    Module module;
    module.name = "model";
    module.family = "dlrm";
    const std::vector<double> bottom = widths_of(section_["bottom"]), top = widths_of(section_["top"]);
    module.hidden = bottom.back();
    double width = section_["dense"].number();
    add(module, "tables", tables());
    add(module, "bottom", mlp("bottom", bottom, width));
    add(module, "interaction", interaction(width));
    std::vector<Operator> last = mlp("top", top, width);
    last.push_back(memory_bound("loss", "loss", {8 * width, 8 * width}, width, context_));
    add(module, "top", std::move(last));
    return module;
  }

  [[nodiscard]] const TableSums& sums() const { return sums_; }

 private:
  void add(Module& module, std::string name, std::vector<Operator> operators) const {
    LayerType type{name, std::move(operators)};
    type.samples.tokens = 1;
    module.layers.push_back({std::move(name), id_at<LayerTypeId>(module.types.size()), {}, {}});
    module.types.push_back(std::move(type));
  }

  /// Products with a ReLU behind each; `width` goes from the input's to the output's.
  std::vector<Operator> mlp(const std::string& name, const std::vector<double>& widths, double& width) const {
    std::vector<Operator> operators;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      operators.push_back(product(fmt::format("{}_{}", name, i), name, width, widths[i], true, context_));
      width = widths[i];
      if (i + 1 < widths.size())
        operators.push_back(
            memory_bound(fmt::format("{}_relu_{}", name, i), name, {4 * width, 6 * width}, width, context_));
    }
    return operators;
  }

  /// Indices go to the tables' devices, pooled rows come back. The look-up reads each row and writes the pooled one;
  /// backward it reads the gradient, and reads and writes each row and its state. Pieces of a table's rows pool what they hold; their
  /// partial sums travel and are added where the sample is (TorchRec's row-wise sharding: a reduce-scatter).
  std::vector<Operator> tables() const {
    const double table = element_size(table_type()).value;
    Operator indices;
    indices.name = "indices";
    indices.group = "tables";
    indices.exchange = ItemExchange::dispatch;
    indices.forward_bytes = per_token(2 * kIndex * sums_.indices);
    indices.output = per_token(kIndex * sums_.indices);
    indices.cut = indices.saved_cut = TensorCut::sequence;
    Operator look_up;
    look_up.name = "look_up";
    look_up.group = "tables";
    look_up.forward_bytes = per_token(table * sums_.read + e_ * sums_.partial);
    look_up.backward_bytes = per_token(2 * table * sums_.read + 2 * kRowState * sums_.indices + e_ * sums_.partial);
    look_up.output = per_token(e_ * sums_.partial);
    look_up.saved = per_token(kIndex * sums_.indices);
    look_up.parameters = sums_.parameters;
    look_up.row_state_bytes = kRowState * sums_.rows;
    look_up.weight_type = table_type();
    look_up.trainable = false;
    look_up.items = int(sums_.loads.size());
    look_up.items_per_token = look_up.items;
    look_up.cut = look_up.saved_cut = TensorCut::routed;
    const double moved = 2 * (sums_.partial + sums_.pooled);
    Operator pooled = memory_bound("pooled", "tables", {moved, moved}, sums_.partial, context_);
    pooled.exchange = ItemExchange::combine;
    pooled.cut = pooled.saved_cut = TensorCut::sequence;
    return {indices, look_up, pooled};
  }

  DataType table_type() const { return data_type_from(section_["table_type"].text_or("fp32")).value(); }

  /// Products of all pairs of the pooled rows and the bottom MLP's output, or all of them side by side, of which cross layers make
  /// x0 * (U V x + b) + x with U and V of low rank (DCN v2, arXiv 2008.13535).
  std::vector<Operator> interaction(double& width) const {
    double tables = 0;
    for (const Tables& group : groups_) tables += group.count;
    const double vectors = tables + 1, read = sums_.pooled + width;
    const bool dot = section_["interaction"].text_or("dot") == "dot";
    const double wide = dot ? width + vectors * (vectors - 1) / 2 : read;
    Operator op = memory_bound("interaction", "interaction", {2 * (read + wide), 4 * (read + wide)}, wide, context_);
    if (dot) {
      op.forward_flops.per_token = Flops(2 * vectors * vectors * width);
      op.backward_flops.per_token = Flops(4 * vectors * vectors * width);
    }
    op.saved = per_token(e_ * read);
    width = wide;
    std::vector<Operator> operators{std::move(op)};
    for (int i = 0; i < int(section_["cross_layers"].integer_or(0)); ++i) {
      const double rank = section_["cross_rank"].number();
      operators.push_back(product(fmt::format("cross_down_{}", i), "interaction", wide, rank, false, context_));
      operators.push_back(product(fmt::format("cross_up_{}", i), "interaction", rank, wide, true, context_));
      operators.push_back(memory_bound(fmt::format("cross_{}", i), "interaction", {8 * wide, 12 * wide}, wide, context_));
      operators.back().saved = per_token(2 * e_ * wide);
    }
    return operators;
  }

  const View& section_;
  const OperatorContext& context_;
  double e_;
  std::vector<Tables> groups_;
  TableSums sums_;
};

}  // namespace

Schema recommendation_schema() {
  using namespace schema;
  const Range width = between(1, 1e6);
  const Schema tables = object(
      {optional("count", integer(between(1, 1e5), "equal tables"), "1"),
       required("rows", number(between(1, 1e12), "of each")), required("dim", integer(width, "elements of a row")),
       optional("pooling", number(above(0, 1e6), "rows that a sample reads of a table, on average"), "1"),
       optional("skew", number(between(0, 4), "table r is read ~ 1 / r^skew as often as the first"), "0"),
       optional("columns", integer(between(1, 1024), "pieces by columns that a table may be cut into"), "1"),
       optional("row_pieces", integer(between(1, 1024), "pieces by rows (of each piece by columns)"), "1")},
      "tables");
  return object(
      {required("dense", integer(width, "dense features of a sample")),
       required("bottom", list(integer(width, "width"), between(1, 64), "widths of the MLP of the dense features")),
       required("top", list(integer(width, "width"), between(1, 64), "widths of the MLP behind the interaction")),
       required("tables", list(tables, between(1, 10000), "embedding tables")),
       optional("interaction", choice({"dot", "cat"}, "products of all pairs, or side by side"), "dot"),
       optional("cross_layers", integer(between(1, 64), "layers of a cross network (DCN v2) behind `cat`"), "0"),
       optional("cross_rank", integer(width, "rank of its matrices; needed with cross_layers")),
       optional("table_type", choice({"fp32", "fp16", "bf16"}, "type of the rows"), "fp32")},
      "a recommendation model");
}

Module recommendation_module(const CatalogueRecommendation& model) {
  const View section(model.model);
  const OperatorContext context;
  return RecommendationBuilder(section, context).build();
}

void build_recommendation(const View& section, const OperatorContext& context, Workload& workload,
                          Diagnostics& diagnostics) {
  if (bool(section["cross_layers"]) != bool(section["cross_rank"]) ||
      (section["cross_layers"] && section["interaction"].text_or("dot") != "cat"))
    return diagnostics.add(section.place(), "cross_layers, cross_rank and `interaction: cat` go together");
  RecommendationBuilder builder(section, context);
  const std::vector<double>& loads = builder.sums().loads;
  if (double(loads.size()) > kMostItems || loads.size() < 2)
    return diagnostics.add(section["tables"].place(),
                           fmt::format("{} pieces of tables: from 2 to {:.0f}", loads.size(), kMostItems));
  workload.modules = {builder.build()};
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  const bool equal =
      std::ranges::all_of(loads, [&](double load) { return std::abs(load - loads.front()) < 1e-9 * loads.front(); });
  if (equal) return;
  workload.data.item_load.assign(workload.modules.front().layers.size(), {});
  for (const double load : loads) workload.data.item_load.front().push_back(load / all);
}

}  // namespace trainyard
