#include "sim/cost/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/cost/expert_seats.hpp"
#include "sim/cost/sample_runs.hpp"
#include "sim/model/whole_shares.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Position of each device along the axes; the last axis joins neighbours.
struct Coordinates {
  int data = 0, shard = 0, context = 0, tensor = 0, rows = 0, columns = 0, inner = 0;
};

Coordinates coordinates(const Layout& layout, int device) {
  Coordinates found;
  for (auto axis = layout.rbegin(); axis != layout.rend(); ++axis) {
    const int at = device % axis->size();
    device /= axis->size();
    if (axis->kind == AxisKind::data) found.data = at;
    if (axis->kind == AxisKind::shard) found.shard = at;
    if (axis->kind == AxisKind::context) found.context = at;
    if (axis->kind == AxisKind::tensor) found.tensor = at;
    if (axis->kind == AxisKind::rows) found.rows = at;
    if (axis->kind == AxisKind::columns) found.columns = at;
    if (axis->kind == AxisKind::inner) found.inner = at;
  }
  return found;
}

LayerHome home_of(const Settings& settings) {
  return {settings.home.at(State::weights), settings.home.at(State::gradients), settings.home.at(State::optimizer),
          settings.home.at(State::activations), settings.update == Update::layer};
}

const Axis* axis_of(const Layout& layout, AxisKind kind) {
  const auto found = std::ranges::find(layout, kind, &Axis::kind);
  return found == layout.end() || !are_unequal(found->shares) ? nullptr : &*found;
}

/// What a tensor axis of unequal shares is cut in: key-value heads where a section has attention, else columns of its table.
std::vector<double> parts_of(const Axis& axis, const std::vector<LayerId>& layers, const Module& module) {
  int whole = 0, columns = 0;
  for (const LayerId layer : layers)
    for (const Operator& op : module.types[index(module.layers[index(layer)].type)].operators) {
      whole = std::max(whole, op.attention.key_value_heads);
      if (op.cut == TensorCut::vocabulary) columns = std::max(columns, int(module.vocabulary));
    }
  if (whole == 0) whole = columns;
  std::vector<double> parts;
  if (whole > 0)
    for (const int share : whole_shares(axis.shares, whole)) parts.push_back(double(share) / whole);
  else
    for (const double share : axis.shares) parts.push_back(share / std::accumulate(axis.shares.begin(), axis.shares.end(), 0.0));
  return parts;
}

/// Offloads and reloads that the tables of a stage's devices list.
std::vector<Entry> moves_of(const PlanPhase& phase, const Stage& stage) {
  std::vector<Entry> moves;
  for (const char* stream : {"d2h", "h2d"})
    for (const Lane& lane : phase.lanes)
      if (lane.stream == stream && lane.devices == stage.devices) moves.insert(moves.end(), lane.entries.begin(), lane.entries.end());
  return moves;
}

/// The table of the stage where the Plan gives one, else what its schedule says.
StageOrder order_of(const PlanPhase& phase, const Part& part, const Stage& stage, const StagePosition& at) {
  if (part.schedule != "table") return stage_order(part.schedule, at);
  const auto lane = std::ranges::find_if(phase.lanes, [&](const Lane& l) { return l.stream == "compute" && l.devices == stage.devices; });
  require(lane != phase.lanes.end(), "a stage without a table");
  return order_of_table(lane->entries);
}

/// A stage cannot hold what the stage before it has not begun.
StagePosition position_of(const Part& part, const Pipeline& line, int position, bool pairs) {
  const auto at = [&](int s) {
    const Stage& stage = part.stages[index(line.stages[s])];
    return StagePosition{s, int(line.stages.size()), int(stage.chunks.size()), line.micro_batches, stage.in_flight, pairs};
  };
  StagePosition found = at(position);
  for (int s = 0; s < position; ++s)
    if (at(s).in_flight) found.in_flight = std::min(passes_in_flight(part.schedule, found), passes_in_flight(part.schedule, at(s)));
  return found;
}

bool are_one_section(const Settings& a, const Settings& b) {
  return a.layout == b.layout && a.zero == b.zero && a.regather == b.regather && a.context_kind == b.context_kind &&
         a.sequence_parallel == b.sequence_parallel && a.wire == b.wire && a.slices == b.slices && a.streams == b.streams;
}

/// Layers with experts of the same layout.
bool have_one_expert_layout(const Stage& stage, LayerId a, LayerId b, const Module& module, const Workload& workload) {
  const auto experts_of = [&](LayerId layer) { return has_experts(module.types[index(module.layers[index(layer)].type)]); };
  if (!experts_of(a) || !experts_of(b)) return true;
  const Settings first = settings_of(stage, a, workload, "experts"), second = settings_of(stage, b, workload, "experts");
  return first.layout == second.layout && first.owners == second.owners;
}

using Chunks = std::vector<std::vector<LayerId>>;

/// The sections of a stage; several chunks are always one.
std::vector<Chunks> sections_of(const Stage& stage, const Module& module, const Workload& workload) {
  if (stage.chunks.size() > 1) return {stage.chunks};
  std::vector<Chunks> sections;
  std::optional<Settings> before;
  for (const LayerId layer : stage.chunks[0]) {
    Settings settings = settings_of(stage, layer, workload);
    const bool joins = before && are_one_section(*before, settings) &&
                       std::ranges::all_of(sections.back()[0], [&](LayerId other) { return have_one_expert_layout(stage, other, layer, module, workload); });
    if (!joins) sections.push_back({{}});
    sections.back()[0].push_back(layer);
    before = std::move(settings);
  }
  return sections;
}

/// Sections take turns on their devices: forwards from the first to the last, backwards from the last to the first.
void take_turns(StageRole& role) {
  for (ScheduledOperation& op : role.order)
    op.turn = op.turn * role.sections + (op.kind == 'F' ? role.section : role.sections - 1 - role.section);
}

std::vector<LayerSamples> samples_seen(const std::vector<LayerId>& layers, const Module& module) {
  std::vector<LayerSamples> seen;
  for (const LayerId layer : layers) seen.push_back(module.types[index(module.layers[index(layer)].type)].samples);
  return std::ranges::count(seen, LayerSamples{}) == std::ptrdiff_t(seen.size()) ? std::vector<LayerSamples>{} : seen;
}

StageRole make_role(const PlanPhase& phase, int pipeline, int position, const Chunks& chunks, const Module& module, const Workload& workload) {
  const Part& part = phase.parts[0];
  const Pipeline& line = part.pipelines[pipeline];
  const Stage& stage = part.stages[index(line.stages[position])];
  const Settings settings = settings_of(stage, chunks.front().front(), workload);
  const bool pairs = workload.software.overlap_expert && std::ranges::any_of(module.types, has_experts);
  StageRole role;
  role.pipeline = pipeline;
  role.position = position;
  role.stages = static_cast<int>(line.stages.size());
  role.micro_batches = line.micro_batches;
  role.chunks = chunks;
  role.order = order_of(phase, part, stage, position_of(part, line, position, pairs));
  role.in_flight = most_held(role.order);
  role.zero = *settings.zero;
  role.regather = *settings.regather;
  role.redundant_forward = *settings.redundant_forward;
  role.wire = *settings.wire;
  const int data = axis_size(*settings.layout, AxisKind::data), shard = axis_size(*settings.layout, AxisKind::shard);
  if (role.zero == 3) role.shards = shard > 1 ? shard : data;
  for (const auto& chunk : chunks) role.layers.insert(role.layers.end(), chunk.begin(), chunk.end());
  role.cut.grid = {axis_size(*settings.layout, AxisKind::rows), axis_size(*settings.layout, AxisKind::columns), axis_size(*settings.layout, AxisKind::inner)};
  role.cut.tensor = axis_size(*settings.layout, AxisKind::tensor) * role.cut.grid.members();
  role.cut.slices = *settings.slices;
  role.cut.hides_slices = role.cut.slices != Slices{} && settings.streams.at(Traffic::tensor) != "compute";
  role.cut.sequence_parallel = *settings.sequence_parallel && axis_size(*settings.layout, AxisKind::tensor) > 1;
  role.cut.recompute = settings.recompute->kind;
  for (const LayerId layer : role.layers) {
    const Settings own = settings_of(stage, layer, workload);
    role.recompute.push_back(*own.recompute);
    role.homes.push_back(home_of(own));
    if (part.schedule == "table") role.homes.back().activations = {};  // what leaves the device, `moves` say
  }
  if (part.schedule == "table") role.moves = moves_of(phase, stage);
  role.cut.tokens = workload.data.sequence_length;
  role.cut.context = axis_size(*settings.layout, AxisKind::context);
  role.cut.context_kind = *settings.context_kind;
  role.cut.accumulated = 1 - 1.0 / line.micro_batches;
  role.cut.sharded = role.zero == 3 && role.shards > 1 && !role.stays_whole(workload.software);
  role.cut.regathers = role.regather;
  role.cut.sequences = line.batch / line.micro_batches / (data * shard * role.cut.context);
  role.own_samples = role.cut.sequences;
  role.seen = samples_seen(role.layers, module);
  if (const Axis* axis = axis_of(*settings.layout, AxisKind::data)) role.samples = whole_shares(axis->shares, int(line.batch / line.micro_batches));
  if (const Axis* axis = axis_of(*settings.layout, AxisKind::tensor))
    role.parts = parts_of(*axis, role.layers, workload.modules[index(workload.passes[index(part.pass)].module)]);
  seat_experts(role, stage, module, workload);
  role.hides_exchanges = pairs && role.cut.experts.apart && role.cut.experts.ranks > 1;
  return role;
}

std::optional<Layout> expert_layout(const Stage& stage, const StageRole& role, const Workload& workload) {
  for (std::size_t i = 0; i < role.layers.size(); ++i)
    if (!role.loads[i].empty()) return settings_of(stage, role.layers[i], workload, "experts").layout;
  return std::nullopt;
}

void add_seats(Placement& placement, const Stage& stage, const StageRole& role, const Layout& layout, const Layout& experts) {
  const int shard = axis_size(layout, AxisKind::shard);
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    const Coordinates at = coordinates(layout, static_cast<int>(i));
    Cell& cell = placement.cells[placement.first_cell.back() + at.data * shard + at.shard];
    cell.seats.resize(cell.members.size());
    cell.seats[at.context * role.cut.tensor + at.tensor] = seat_of(experts, static_cast<int>(i));
  }
}

/// One data rank's samples; `cut` becomes the mean of its micro-batches.
void size_micro_batches(StageRole& role, const std::vector<std::vector<int>>& runs, int rank, int ranks, const Data& data) {
  double rows = 0, squares = 0;
  for (const std::vector<int>& run : runs) {
    const EqualSequences size = equal_sequences(data, samples_of_rank(run, role.samples, rank, ranks));
    role.sizes.push_back(size);
    rows += size.count * size.tokens;
    squares += size.count * size.tokens * size.tokens;
  }
  role.cut.sequences = rows * rows / squares / double(runs.size() * std::size_t(role.cut.context));
  role.cut.tokens = squares / rows;
}

/// Cells of the role placed last whose members hold copies of the same experts: [replica].
std::map<int, std::set<int>> cells_by_replica(const Placement& placement) {
  std::map<int, std::set<int>> cells;
  for (int cell = placement.first_cell.back(); cell < int(placement.cells.size()); ++cell)
    for (const ExpertSeat& seat : placement.cells[std::size_t(cell)].seats) cells[seat.replica].insert(cell);
  return cells;
}

ExchangedRows exchanged_rows(const std::vector<double>& rows, const std::set<int>& cells, int first, int own) {
  ExchangedRows exchanged{0, 0};
  for (const int cell : cells) {
    exchanged.mean += rows[std::size_t(cell - first)] / double(cells.size());
    exchanged.most = std::max(exchanged.most, rows[std::size_t(cell - first)]);
  }
  const double mine = rows[std::size_t(own - first)];
  return {exchanged.mean / mine, exchanged.most / mine};
}

/// Tokens of unequal micro-batches meet at experts.
void share_rows(Placement& placement) {
  const int first = placement.first_cell.back(), count = placement.data_size.back();
  const auto role_of = [&](int rank) -> StageRole& { return placement.unequal[std::size_t(placement.unequal_of[std::size_t(first + rank)])]; };
  const std::map<int, std::set<int>> replicas = cells_by_replica(placement);
  std::vector<std::vector<double>> rows(role_of(0).sizes.size() + 1);  // [micro-batch][rank]; the last: their mean
  for (std::size_t m = 0; m < rows.size(); ++m)
    for (int rank = 0; rank < count; ++rank) {
      const StageRole& role = role_of(rank);
      const LayerCut cut = m + 1 < rows.size() ? role.in(int(m)).cut : role.cut;
      rows[m].push_back(cut.sequences * cut.tokens);
    }
  for (int rank = 0; rank < count; ++rank) {
    const std::set<int>& peers = replicas.at(placement.cells[std::size_t(first + rank)].seats.front().replica);
    for (std::size_t m = 0; m + 1 < rows.size(); ++m) role_of(rank).exchanged_in.push_back(exchanged_rows(rows[m], peers, first, first + rank));
    role_of(rank).exchanged = exchanged_rows(rows.back(), peers, first, first + rank);
  }
}

void add_cells(Placement& placement, const Part& part, const StageRole& role, const Workload& workload) {
  const Stage& stage = part.stages[index(part.pipelines[role.pipeline].stages[role.position])];
  const Layout layout = *settings_of(stage, role.layers.front(), workload).layout;
  const int shard = axis_size(layout, AxisKind::shard), data = axis_size(layout, AxisKind::data) * shard;
  const std::vector<std::vector<int>> runs = workload.data.batch.empty() ? std::vector<std::vector<int>>{} : sample_runs(part, role.pipeline, workload.data);
  placement.first_cell.push_back(static_cast<int>(placement.cells.size()));
  placement.data_size.push_back(data);
  for (int rank = 0; rank < data; ++rank) {
    Cell cell{role.pipeline, role.position, rank, part.pipelines[role.pipeline].stages[role.position], {}};
    cell.members.resize(role.cut.context * role.cut.tensor);
    placement.cells.push_back(std::move(cell));
    placement.role_of.push_back(static_cast<int>(placement.roles.size()));
    placement.unequal_of.push_back(-1);
    if (role.samples.empty() && workload.data.batch.empty()) continue;
    placement.unequal_of.back() = static_cast<int>(placement.unequal.size());
    placement.unequal.push_back(role);
    StageRole& own = placement.unequal.back();
    if (!role.samples.empty()) own.cut.sequences = own.own_samples = double(role.samples[rank]) / role.cut.context;
    if (!runs.empty()) size_micro_batches(own, runs, rank, data, workload.data);
  }
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    const Coordinates at = coordinates(layout, static_cast<int>(i));
    const int on_grid = (at.rows * role.cut.grid.columns + at.columns) * role.cut.grid.inner + at.inner;
    placement.cells[placement.first_cell.back() + at.data * shard + at.shard].members[at.context * role.cut.tensor + at.tensor + on_grid] = stage.devices[i];
  }
  if (!role.items.empty()) add_seats(placement, stage, role, layout, *expert_layout(stage, role, workload));
  if (role.cut.experts.apart && placement.unequal_of.back() >= 0) share_rows(placement);
  placement.roles.push_back(role);
}

void add_stage(Placement& placement, const PlanPhase& phase, int pipeline, int position, const Workload& workload) {
  const Part& part = phase.parts[0];
  const std::vector<Chunks> sections = sections_of(part.stages[index(part.pipelines[pipeline].stages[position])], *placement.module, workload);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    StageRole role = make_role(phase, pipeline, position, sections[i], *placement.module, workload);
    role.section = int(i);
    role.sections = int(sections.size());
    take_turns(role);
    add_cells(placement, part, role, workload);
  }
}

/// Chunks in the order of their layers: round after round for interleaved stages, there and back for V-shaped ones.
std::vector<Visit> route_of(const Placement& placement, int pipeline) {
  std::vector<Visit> route;
  for (std::size_t r = 0; r < placement.roles.size(); ++r)
    for (std::size_t c = 0; c < placement.roles[r].chunks.size(); ++c)
      if (placement.roles[r].pipeline == pipeline) route.push_back({int(r), int(c)});
  std::ranges::sort(route, {}, [&](const Visit& visit) { return placement.roles[visit.role].chunks[visit.chunk].front(); });
  return route;
}

/// Cells of unequal samples have copies of their role.
bool is_same(const StageRole& a, const StageRole& b) { return a.pipeline == b.pipeline && a.position == b.position && a.section == b.section; }

/// The samples of a micro-batch before those of a data rank, and those with them; in `count` equal parts where the role's are equal.
std::pair<double, double> samples_of(const StageRole& role, int rank, int ranks, double count) {
  if (role.samples.empty()) return {count * rank / ranks, count * (rank + 1) / ranks};
  const double before = std::accumulate(role.samples.begin(), role.samples.begin() + rank, 0);
  return {before, before + role.samples[rank]};
}

std::optional<Visit> neighbour(const Placement& placement, const StageRole& role, int chunk, int by) {
  const std::vector<Visit>& route = placement.routes[role.pipeline];
  for (int i = 0; i < int(route.size()); ++i)
    if (is_same(placement.roles[route[i].role], role) && route[i].chunk == chunk)
      return i + by >= 0 && i + by < int(route.size()) ? std::optional(route[i + by]) : std::nullopt;
  throw InternalError("a chunk that is on no route");
}

}  // namespace

std::optional<Visit> Placement::before(const StageRole& role, int chunk) const { return neighbour(*this, role, chunk, -1); }
std::optional<Visit> Placement::after(const StageRole& role, int chunk) const { return neighbour(*this, role, chunk, 1); }

std::vector<Partner> Placement::partners(int cell, int role) const {
  if (!roles[role_of[cell]].samples.empty() || !roles[role].samples.empty()) return partners_by_samples(cell, role);
  const int rank = cells[cell].data_rank, own = data_size[role_of[cell]], others = data_size[role];
  std::vector<Partner> found;
  for (int other = 0; other < others; ++other) {
    const int common = std::min((rank + 1) * others, (other + 1) * own) - std::max(rank * others, other * own);
    const double share = double(common) / others;
    if (common > 0) found.push_back({first_cell[role] + other, share, share * others / own});
  }
  return found;
}

std::vector<Partner> Placement::partners_by_samples(int cell, int role) const {
  const StageRole &own = roles[role_of[cell]], &others = roles[role];
  const std::vector<int>& counted = own.samples.empty() ? others.samples : own.samples;
  const double count = std::accumulate(counted.begin(), counted.end(), 0);
  const auto [from, to] = samples_of(own, cells[cell].data_rank, data_size[role_of[cell]], count);
  std::vector<Partner> found;
  for (int other = 0; other < data_size[role]; ++other) {
    const auto [other_from, other_to] = samples_of(others, other, data_size[role], count);
    const double common = std::min(to, other_to) - std::max(from, other_from);
    if (common > 1e-9) found.push_back({first_cell[role] + other, common / (to - from), common / (other_to - other_from)});
  }
  return found;
}

const StageRole* Placement::repeated_by(const StageRole& role) const {
  if (!role.redundant_forward || role.stages < 2) return nullptr;
  return &roles[role_at(role.pipeline, (role.position + 1) % role.stages)];
}

int Placement::role_at(int pipeline, int position) const {
  for (std::size_t i = 0; i < roles.size(); ++i)
    if (roles[i].pipeline == pipeline && roles[i].position == position) return static_cast<int>(i);
  throw InternalError("no such stage in the placement");
}

Placement place(const Plan& plan, const Workload& workload) {
  require(plan.phases.size() == 1 && plan.phases[0].parts.size() == 1, "lowering expects one phase with one part");
  Placement placement;
  placement.part = &plan.phases[0].parts[0];
  placement.module = &workload.modules[index(workload.passes[index(placement.part->pass)].module)];
  for (std::size_t p = 0; p < placement.part->pipelines.size(); ++p) {
    for (std::size_t s = 0; s < placement.part->pipelines[p].stages.size(); ++s) add_stage(placement, plan.phases[0], int(p), int(s), workload);
    placement.routes.push_back(route_of(placement, int(p)));
  }
  return placement;
}

}  // namespace trainyard
