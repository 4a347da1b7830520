// What Plan::check asks of schedules: order tables that can be run, and the shapes that zb_v and dualpipe stand on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/model/plan_check.hpp"

namespace trainyard::plan_check {
namespace {

/// F, B or W of a micro-batch through a chunk.
std::string op_text(const Operation& op, bool with_chunk) {
  return with_chunk ? fmt::format("{}{}.{}", op.kind, op.micro_batch, op.chunk) : fmt::format("{}{}", op.kind, op.micro_batch);
}

/// A visit of a micro-batch: a stage of the pipeline and one of its chunks, in the order of the layers.
struct Stop {
  std::size_t stage = 0, chunk = 0;
};

/// Copies to the host and back; null: none.
struct Moves {
  const Lane* down = nullptr;
  const Lane* up = nullptr;
};

/// The tables of one pipeline, run without times.
class TableRun {
 public:
  TableRun(const PartView& view, const PlanPhase& phase, std::size_t pipeline, Problems& problems)
      : view_(view), pipeline_(view.part.pipelines[pipeline]), problems_(problems) {
    for (const StageId id : pipeline_.stages) {
      tables_.push_back(lane(phase, index(id), "compute"));
      moves_.push_back({lane(phase, index(id), "d2h"), lane(phase, index(id), "h2d")});
    }
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s)
      for (std::size_t c = 0; c < stage(s).chunks.size(); ++c) route_.push_back({s, c});
    std::ranges::sort(route_, {}, [&](const Stop& stop) { return stage(stop.stage).chunks[stop.chunk].front(); });
  }

  void check() {
    const std::size_t before = problems_.size();
    for (std::size_t s = 0; s < tables_.size(); ++s) check_stage(s);
    for (std::size_t s = 0; s < tables_.size() && problems_.size() == before; ++s) check_moves(s);
    if (problems_.size() == before) run();
  }

 private:
  using Key = std::tuple<char, int, int>;  ///< kind, micro-batch, place on the route

  const Stage& stage(std::size_t s) const { return view_.part.stages[index(pipeline_.stages[s])]; }
  std::string name(std::size_t s) const { return view_.stage_name(index(pipeline_.stages[s])); }
  void add(std::size_t s, std::string text) { problems_.push_back(fmt::format("{}: order: {}", name(s), text)); }

  const Lane* lane(const PlanPhase& phase, std::size_t s, std::string_view stream) const {
    const auto found = std::ranges::find_if(phase.lanes, [&](const Lane& lane) {
      return lane.stream == stream && lane.devices == view_.part.stages[s].devices;
    });
    return found == phase.lanes.end() ? nullptr : &*found;
  }

  /// Every F and B once, W for all passes or for none, each after what it needs on this stage.
  void check_stage(std::size_t s) {
    if (!tables_[s]) return add(s, "no compute table");
    const int chunks = int(stage(s).chunks.size());
    std::map<std::pair<int, int>, std::string> done;
    for (const Entry& entry : tables_[s]->entries) {
      const Operation& op = entry.operation;
      const std::string text = op_text(op, chunks > 1);
      if (op.micro_batch < 0 || op.micro_batch >= pipeline_.micro_batches || op.chunk < 0 || op.chunk >= chunks)
        return add(s, fmt::format("{}: the pipeline has micro-batches 0-{}, the stage chunks 0-{}", text, pipeline_.micro_batches - 1, chunks - 1));
      if (op.kind == 'O' || op.kind == 'R') return add(s, fmt::format("{} stands on the stream compute, not {}", text, op.kind == 'O' ? "d2h" : "h2d"));
      std::string& kinds = done[{op.micro_batch, op.chunk}];
      if (kinds.find(op.kind) != std::string::npos) return add(s, text + " stands twice");
      const std::string needs = op.kind == 'F' ? "" : op.kind == 'B' ? "F" : "FB";
      if (kinds != needs) return add(s, fmt::format("{} stands before its {}", text, kinds.empty() ? "F" : "B"));
      kinds += op.kind;
    }
    for (int m = 0; m < pipeline_.micro_batches; ++m)
      for (int c = 0; c < chunks; ++c)
        if (done[{m, c}].size() < 2)
          return add(s, fmt::format("{} is missing", op_text({done[{m, c}].empty() ? 'F' : 'B', {}, m, c}, chunks > 1)));
  }

  /// d2h holds offloads, h2d as many reloads of the same passes; `@` names an operation of the compute table.
  void check_moves(std::size_t s) {
    std::set<std::pair<int, int>> passes;
    for (const Entry& entry : tables_[s]->entries) passes.emplace(entry.operation.micro_batch, entry.operation.chunk);
    std::map<std::pair<int, int>, std::string> moved;
    for (const auto& [at, kind] : {std::pair{moves_[s].down, 'O'}, {moves_[s].up, 'R'}})
      for (const Entry& entry : at ? at->entries : std::vector<Entry>{}) {
        const Operation& op = entry.operation;
        const std::string text = op_text(op, stage(s).chunks.size() > 1);
        if (op.kind != kind) return add(s, fmt::format("{} stands on the stream {}", text, at->stream));
        if (!passes.contains({op.micro_batch, op.chunk})) return add(s, fmt::format("{}: no such pass in the table of compute", text));
        std::string& kinds = moved[{op.micro_batch, op.chunk}];
        if (kinds.find(kind) != std::string::npos) return add(s, text + " stands twice");
        if (kind == 'R' && kinds.empty()) return add(s, text + ": its activations are never offloaded");
        kinds += kind;
        if (entry.not_before && std::ranges::find(tables_[s]->entries, *entry.not_before, &Entry::operation) == tables_[s]->entries.end())
          return add(s, fmt::format("{}@{}: the second is not in the table of compute", text, op_text(*entry.not_before, stage(s).chunks.size() > 1)));
      }
    for (const auto& [pass, kinds] : moved)
      if (kinds == "O") return add(s, fmt::format("{} is missing", op_text({'R', {}, pass.first, pass.second}, stage(s).chunks.size() > 1)));
    if (!moved.empty() && !keeps_activations_on_host(s)) add(s, "O and R need `home: {activations: host}`");
  }

  bool keeps_activations_on_host(std::size_t s) const {
    return std::ranges::all_of(stage(s).chunks, [&](const auto& chunk) {
      return std::ranges::all_of(chunk, [&](LayerId layer) { return settings_of(stage(s), layer, view_.workload).home.at(State::activations).place == Place::host; });
    });
  }

  int place_on_route(std::size_t s, int chunk) const {
    const auto at = std::ranges::find_if(route_, [&](const Stop& stop) { return stop.stage == s && int(stop.chunk) == chunk; });
    return int(at - route_.begin());
  }

  /// What must have run on the neighbour before: F of the stop before, B of the stop after.
  std::optional<Key> needed(const Operation& op, std::size_t s) {
    const int at = place_on_route(s, op.chunk), from = op.kind == 'F' ? at - 1 : at + 1;
    if (op.kind == 'B' && reloads(s, op) && !ran_[Key{'R', op.micro_batch, at}]) return Key{'R', op.micro_batch, at};
    if (op.kind == 'W' || from < 0 || from >= int(route_.size())) return std::nullopt;
    return Key{op.kind, op.micro_batch, from};
  }

  bool reloads(std::size_t s, const Operation& op) const {
    const Lane* lane = moves_[s].up;
    return lane && std::ranges::any_of(lane->entries, [&](const Entry& e) { return e.operation.micro_batch == op.micro_batch && e.operation.chunk == op.chunk; });
  }

  /// Offloads wait for nothing that a reload would not find done; so only reloads that may run are noted.
  bool reload(std::size_t s) {
    bool moved = false;
    for (; moves_[s].up && next_reload_[s] < moves_[s].up->entries.size(); ++next_reload_[s], moved = true) {
      const Entry& entry = moves_[s].up->entries[next_reload_[s]];
      const int at = place_on_route(s, entry.operation.chunk);
      for (const Entry& offload : moves_[s].down->entries) {
        if (!ran_[Key{'F', offload.operation.micro_batch, place_on_route(s, offload.operation.chunk)}]) return moved;
        if (offload.operation.micro_batch == entry.operation.micro_batch && offload.operation.chunk == entry.operation.chunk) break;
      }
      if (entry.not_before && !ran_[Key{entry.not_before->kind, entry.not_before->micro_batch, place_on_route(s, entry.not_before->chunk)}]) return moved;
      ran_[Key{'R', entry.operation.micro_batch, at}] = true;
    }
    return moved;
  }

  bool advance(std::size_t s) {
    const std::size_t from = next_[s];
    while (next_[s] < tables_[s]->entries.size()) {
      const Operation& op = tables_[s]->entries[next_[s]].operation;
      if (const auto key = needed(op, s); key && !ran_[*key]) break;
      ran_[{op.kind, op.micro_batch, place_on_route(s, op.chunk)}] = true;
      ++next_[s];
    }
    return next_[s] > from;
  }

  void run() {
    next_.assign(tables_.size(), 0);
    next_reload_ = next_;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < tables_.size(); ++s) moved = advance(s) || reload(s) || moved;
    }
    for (std::size_t s = 0; s < tables_.size(); ++s) {
      if (next_[s] == tables_[s]->entries.size()) continue;
      const Operation& op = tables_[s]->entries[next_[s]].operation;
      const auto [kind, micro_batch, at] = *needed(op, s);
      const Stop& other = route_[at];
      const bool with_chunk = stage(other.stage).chunks.size() > 1;
      return add(s, fmt::format("the tables wait for each other: {} waits for {} of {}", op_text(op, stage(s).chunks.size() > 1),
                                op_text({kind, {}, micro_batch, int(other.chunk)}, with_chunk), name(other.stage)));
    }
  }

  const PartView& view_;
  const Pipeline& pipeline_;
  Problems& problems_;
  std::vector<const Lane*> tables_;      ///< [stage of the pipeline]
  std::vector<Stop> route_;
  std::vector<Moves> moves_;             ///< [stage of the pipeline]
  std::vector<std::size_t> next_, next_reload_;   ///< [stage of the pipeline]
  std::map<Key, bool> ran_;
};

/// Chunks there and back: chunk i and chunk 2p - 1 - i on stage i.
void check_v(const PartView& view, std::size_t p, Problems& problems) {
  const std::vector<StageId>& stages = view.part.pipelines[p].stages;
  const auto chunk = [&](std::size_t s, std::size_t c) { return view.part.stages[index(stages[s])].chunks[c].front(); };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (view.part.stages[index(stages[s])].chunks.size() != 2)
      return problems.push_back(fmt::format("{}: zb_v needs 2 chunks", view.stage_name(index(stages[s]))));
    if (s > 0 && (chunk(s, 0) < chunk(s - 1, 0) || chunk(s, 1) > chunk(s - 1, 1)))
      return problems.push_back(fmt::format("{}: zb_v visits the stages in order and then back", view.stage_name(index(stages[s]))));
  }
}

void check_dualpipe(const PartView& view, Problems& problems) {
  const auto add = [&](const std::string& text) { problems.push_back(fmt::format("{}dualpipe {}", view.where, text)); };
  if (view.part.pipelines.size() != 2) return add(fmt::format("needs 2 pipelines, one in each direction, not {}", view.part.pipelines.size()));
  const auto& [there, back] = std::pair(view.part.pipelines[0], view.part.pipelines[1]);
  const std::size_t stages = there.stages.size();
  if (stages % 2 != 0 || back.stages.size() != stages)
    return add(fmt::format("needs an even number of stages, the same in both pipelines, not {} and {}", stages, back.stages.size()));
  for (std::size_t s = 0; s < stages; ++s)
    if (view.part.stages[index(there.stages[s])].devices != view.part.stages[index(back.stages[stages - 1 - s])].devices)
      return add(fmt::format("needs {} and {} on the same devices", view.stage_name(index(there.stages[s])),
                             view.stage_name(index(back.stages[stages - 1 - s]))));
  if (there.micro_batches != back.micro_batches || there.micro_batches < int(stages))
    add(fmt::format("needs equal numbers of micro-batches in both pipelines, at least one a stage, not {} and {}", there.micro_batches,
                    back.micro_batches));
}

/// The first stage stands on all devices of the others, which share none.
void check_colocated(const PartView& view, std::size_t p, Problems& problems) {
  const std::vector<StageId>& stages = view.part.pipelines[p].stages;
  std::vector<DeviceId> others;
  for (std::size_t s = 1; s < stages.size(); ++s) {
    const std::vector<DeviceId>& devices = view.part.stages[index(stages[s])].devices;
    others.insert(others.end(), devices.begin(), devices.end());
  }
  std::vector<DeviceId> first = stages.empty() ? others : view.part.stages[index(stages[0])].devices;
  std::ranges::sort(first);
  std::ranges::sort(others);
  if (stages.size() < 2 || first != others)
    problems.push_back(fmt::format("{}: schedule colocated needs a first stage on all devices of the other stages, which share none", view.pipeline_name(p)));
}

/// zb_v, dualpipe and tables say themselves what is held.
void check_bound(const PartView& view, Problems& problems) {
  for (std::size_t s = 0; s < view.part.stages.size(); ++s)
    if (view.part.stages[s].in_flight)
      problems.push_back(fmt::format("{}: in_flight has no meaning with {}", view.stage_name(s),
                                     view.part.schedule == "table" ? "order tables" : "schedule " + view.part.schedule));
}

}  // namespace

void check_orders(const PartView& view, const PlanPhase& phase, Problems& problems) {
  const std::string& schedule = view.part.schedule;
  for (std::size_t p = 0; p < view.part.pipelines.size(); ++p) {
    if (schedule == "table") TableRun(view, phase, p, problems).check();
    if (schedule == "zb_v") check_v(view, p, problems);
    if (schedule == "colocated") check_colocated(view, p, problems);
  }
  if (schedule == "dualpipe") check_dualpipe(view, problems);
  if (schedule == "table" || schedule == "zb_v" || schedule == "dualpipe" || schedule == "breadth_first" || schedule == "colocated")
    check_bound(view, problems);
}

}  // namespace trainyard::plan_check
