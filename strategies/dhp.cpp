// A Plan for each batch of samples of different length: groups of any size, the long samples on many devices, the short
// ones on few. Paper: DHP, Efficient Scaling of MLLM Training with Dynamic Hybrid Parallelism, arXiv 2602.21788.
// Samples are packed by best fit decreasing under the memory of a device; a dynamic program over (micro-batches,
// devices) gives each group its context degree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/cost/memory.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 4;
/// Of what a device's memory holds after the states: what activations may take, since the closed form leaves transients
/// to the simulation.
constexpr double kRoom = 0.92;

/// A micro-batch: samples that run together, and the fewest units that can hold them.
struct Bin {
  std::vector<int> samples;
  double rows = 0, squares = 0;
  int least = 1;
};

/// Neighbouring bins that one group of devices works through.
struct Group {
  std::size_t from = 0, to = 0;
  int units = 1;
};

class DhpSearch {
 public:
  DhpSearch(const PlanningContext& context, int simulate)
      : context_(context),
        router_(context.cluster),
        module_(context.workload.modules[0]),
        gpus_(context.cluster.gpus()),
        finalists_(context, router_, simulate) {}

  PlanOrInfeasible search() {
    if (context_.workload.data.batch.empty())
      return Infeasible{"dhp plans for samples of different length: the workload has no `data.lengths`", {}, {}};
    for (int tensor = 1; tensor <= int(gpus_.size()) && fits_heads(tensor) && is_inside_node(tensor); tensor *= 2)
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
        add(tensor, recompute);
    return finalists_.choose(nothing_.empty() ? "no device holds the states of the model beside a sample" : nothing_);
  }

 private:
  bool fits_heads(int tensor) const {
    return std::ranges::all_of(module_.types, [&](const LayerType& type) {
      return std::ranges::all_of(type.operators,
                                 [&](const Operator& op) { return op.attention.key_value_heads % tensor == 0; });
    });
  }

  bool is_inside_node(int tensor) const {
    return context_.cluster.devices[index(gpus_.front())].node ==
               context_.cluster.devices[index(gpus_[std::size_t(tensor) - 1])].node &&
           gpus_.size() % std::size_t(tensor) == 0;
  }

  void add(int tensor, RecomputeKind recompute) {
    const int units = int(gpus_.size()) / tensor;
    const double room = tokens_of_unit(tensor, recompute);
    if (room < 1) return;
    std::vector<Bin> bins = pack(room, units);
    if (bins.empty()) return;
    measure(bins, tensor, units, recompute);
    const std::vector<Group> groups = assign(bins, units);
    if (groups.empty()) return;
    if (auto problem = finalists_.check_and_add(plan_of(bins, groups, tensor, recompute)); problem && nothing_.empty()) nothing_ = *problem;
  }

  StageRole whole_role(int tensor, RecomputeKind recompute) const {
    StageRole role;
    for (std::size_t i = 0; i < module_.layers.size(); ++i) role.layers.push_back(id_at<LayerId>(i));
    role.chunks = {role.layers};
    role.recompute.assign(role.layers.size(), Recompute{recompute, 1});
    role.cut.tensor = tensor;
    role.cut.sequence_parallel = tensor > 1 && context_.workload.software.sequence_parallel;
    role.cut.recompute = recompute;
    return role;
  }

  int zero() const { return context_.workload.software.distributed_optimizer ? 1 : 0; }

  /// Most tokens that one unit (a tensor group) can hold of a micro-batch.
  double tokens_of_unit(int tensor, RecomputeKind recompute) const {
    StageRole role = whole_role(tensor, recompute);
    role.cut.tokens = context_.workload.data.sequence_length;
    const DeviceType& type = context_.cluster.type_of(gpus_.front());
    const ActivationMemory of_longest =
        activation_memory(module_, role.layers, role.cut, type, context_.workload, role.recompute);
    const int holders = int(gpus_.size()) / tensor;
    const StaticMemory held = static_memory(module_, role.layers, role.cut, context_.workload, holders, zero());
    const Bytes memory = context_.cluster.devices[index(gpus_.front())].memory;
    const Bytes free = (memory - reserved_memory(type, memory, tensor) - held.total()) * kRoom;
    const Bytes peak = std::max(of_longest.forward_peak, of_longest.kept + of_longest.backward_peak);
    return std::floor(free / (peak / role.cut.tokens));
  }

  /// Best fit decreasing into bins as large as a unit; a sample that is larger opens one of as many units as it needs.
  std::vector<Bin> pack(double room, int units) const {
    const std::vector<SampleSize>& batch = context_.workload.data.batch;
    std::vector<int> order(batch.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int i) { return batch[std::size_t(i)].rows; });
    std::vector<Bin> bins;
    for (const int i : order) {
      const SampleSize& sample = batch[std::size_t(i)];
      Bin* best = nullptr;
      for (Bin& bin : bins) {
        const double left = bin.least * room - bin.rows;
        if (left >= sample.rows && (best == nullptr || left < best->least * room - best->rows)) best = &bin;
      }
      if (best == nullptr) {
        bins.push_back({{}, 0, 0, std::max(1, int(std::ceil(sample.rows / room)))});
        best = &bins.back();
        if (best->least > units) return {};
      }
      best->samples.push_back(i);
      best->rows += sample.rows;
      best->squares += sample.squares;
    }
    std::ranges::stable_sort(bins, [](const Bin& a, const Bin& b) {
      return a.least != b.least ? a.least > b.least : a.squares > b.squares;
    });
    return bins;
  }

  /// T(micro-batch, c) = a_c + b_c · rows + g_c · squares, from three micro-batches for each degree c.
  struct Line {
    double constant = 0, row = 0, square = 0;
    [[nodiscard]] double of(const Bin& bin) const { return constant + row * bin.rows + square * bin.squares; }
  };

  /// times_[c][k]: sum of the times of the first k bins on c units.
  void measure(const std::vector<Bin>& bins, int tensor, int units, RecomputeKind recompute) {
    times_.assign(std::size_t(units) + 1, std::vector<double>(bins.size() + 1, 0));
    for (int c = 1; c <= units; ++c) {
      const Line line = line_of(c, tensor, recompute);
      for (std::size_t k = 0; k < bins.size(); ++k)
        times_[std::size_t(c)][k + 1] = times_[std::size_t(c)][k] + line.of(bins[k]);
    }
  }

  Line line_of(int c, int tensor, RecomputeKind recompute) const {
    const double q = context_.workload.data.sequence_length;
    const double one = time_of({1, q, 1}, c, tensor, recompute), two = time_of({2, q, 2}, c, tensor, recompute),
                 halves = time_of({2, q / 2, 2}, c, tensor, recompute);
    Line line;
    line.square = (one - halves) / (q * q / 2);
    line.row = std::max(0.0, (two - one - line.square * q * q) / q);
    line.constant = std::max(0.0, 2 * one - two);
    return line;
  }

  double time_of(const EqualSequences& size, int c, int tensor, RecomputeKind recompute) const {
    StageRole role = whole_role(tensor, recompute);
    role.cut.context = c;
    role.cut.sequences = role.own_samples = size.count / c;
    role.cut.tokens = size.tokens;
    const Cell cell{0, 0, 0, StageId{}, {gpus_.begin(), gpus_.begin() + std::ptrdiff_t(c) * tensor}, {}};
    CellGroups groups;
    groups.tensor = ring_group(router_, context_.cluster, {cell.members.begin(), cell.members.begin() + tensor});
    std::vector<DeviceId> line;
    for (int i = 0; i < c; ++i) line.push_back(cell.members[std::size_t(i) * std::size_t(tensor)]);
    groups.context = ring_group(router_, context_.cluster, line);
    Seconds sum{};
    for (const LayerPieces& layer : stage_work(cell, role, module_, context_.cluster, context_.workload, groups).layers)
      for (const std::vector<TimedPiece>* pieces : {&layer.forward, &layer.recompute, &layer.backward})
        for (const TimedPiece& piece : *pieces) sum += piece.alone();
    return sum.value;
  }

  /// F[k][n] = min over j < k and c of max(F[j][n - c], T(j..k, c)): the first k bins on n units, the last group with c
  /// of them. F falls and T rises with fewer bins in the group, so that the best j is where they cross.
  std::vector<Group> assign(const std::vector<Bin>& bins, int units) const {
    const std::size_t count = bins.size(), width = std::size_t(units) + 1;
    std::vector<double> best((count + 1) * width, kNever);
    std::vector<Group> last((count + 1) * width);
    for (std::size_t n = 0; n < width; ++n) best[n] = 0;
    for (std::size_t k = 1; k <= count; ++k)
      for (int n = 1; n <= units; ++n)
        for (int c = 1; c <= n; ++c) {
          const auto time = [&](std::size_t j) { return times_[std::size_t(c)][k] - times_[std::size_t(c)][j]; };
          const auto before = [&](std::size_t j) { return best[j * width + std::size_t(n - c)]; };
          const std::size_t first = first_that_fits(bins, k, c);
          std::size_t low = first, high = k;
          while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (before(middle) >= time(middle))
              high = middle;
            else
              low = middle + 1;
          }
          for (const std::size_t j : {low, low > first ? low - 1 : low}) {
            if (j >= k) continue;
            const double made = std::max(before(j), time(j));
            if (made < best[k * width + std::size_t(n)]) {
              best[k * width + std::size_t(n)] = made;
              last[k * width + std::size_t(n)] = {j, k, c};
            }
          }
        }
    std::vector<Group> groups;
    int left = units;
    for (std::size_t k = count; k > 0;) {
      if (best[k * width + std::size_t(left)] >= kNever) return {};
      const Group group = last[k * width + std::size_t(left)];
      groups.push_back(group);
      k = group.from;
      left -= group.units;
    }
    std::ranges::reverse(groups);
    return groups;
  }

  /// Bins are in order of their least units: the first that `c` units can hold, at most k.
  static std::size_t first_that_fits(const std::vector<Bin>& bins, std::size_t k, int c) {
    const auto found = std::ranges::find_if(bins, [&](const Bin& bin) { return bin.least <= c; });
    return std::min(k, std::size_t(found - bins.begin()));
  }

  /// Units that no group needs join the last ones.
  Plan plan_of(const std::vector<Bin>& bins, const std::vector<Group>& groups, int tensor,
               RecomputeKind recompute) const {
    Part part;
    auto next = gpus_.begin();
    for (const Group& group : groups) {
      Stage stage;
      stage.devices.assign(next, next + std::ptrdiff_t(group.units) * tensor);
      next += std::ptrdiff_t(group.units) * tensor;
      stage.chunks.resize(1);
      for (std::size_t i = 0; i < module_.layers.size(); ++i) stage.chunks[0].push_back(id_at<LayerId>(i));
      Rule rule;
      rule.settings.layout = Layout{};
      if (group.units > 1) rule.settings.layout->push_back(equal_axis(AxisKind::context, group.units));
      if (tensor > 1 || group.units == 1) rule.settings.layout->push_back(equal_axis(AxisKind::tensor, tensor));
      rule.settings.recompute = Recompute{recompute, 1};
      rule.settings.zero = zero();
      stage.rules.push_back(std::move(rule));
      Pipeline pipeline;
      for (std::size_t b = group.from; b < group.to; ++b)
        pipeline.samples.insert(pipeline.samples.end(), bins[b].samples.begin(), bins[b].samples.end());
      pipeline.batch = double(pipeline.samples.size());
      pipeline.micro_batches = int(group.to - group.from);
      pipeline.stages = {id_at<StageId>(part.stages.size())};
      part.stages.push_back(std::move(stage));
      part.pipelines.push_back(std::move(pipeline));
    }
    Plan plan;
    plan.phases.push_back({{}, {std::move(part)}, {}});
    return plan;
  }

  static constexpr double kNever = 1e300;

  const PlanningContext& context_;
  Router router_;
  const Module& module_;
  std::vector<DeviceId> gpus_;
  Finalists finalists_;
  std::vector<std::vector<double>> times_;
  std::string nothing_;
};

class Dhp final : public Strategy {
 public:
  explicit Dhp(const StrategyOptions& options) : simulate_(simulate_of(options.values, kSimulate)) {}
  PlanOrInfeasible plan(const PlanningContext& context) override { return DhpSearch(context, simulate_).search(); }

 private:
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "dhp",
    .summary = "a Plan for the batch at hand: best-fit packing of samples, and groups of any context degree by a "
               "two-dimensional dynamic program",
    .paper = "DHP: Efficient Scaling of MLLM Training with Dynamic Hybrid Parallelism, arXiv 2602.21788",
    .options = schema::object({simulate_option(kSimulate)}, "options of dhp"),
    .simplified = {"one batch is planned and simulated: forming the communication groups of the next one "
                   "(milliseconds) is left out",
                   "devices of one type"},
    .reconstructed =
        {"the time of a micro-batch: constant, tokens and squares, fitted to the cost model for each context degree",
         "several micro-batches share a group one after the other, neighbours in the order of their lengths",
         "the tensor degree: powers of two inside a node, each tried with each recompute and the best simulated"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Dhp>(options); },
});

}  // namespace
}  // namespace trainyard
