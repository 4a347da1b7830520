#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cost/host_work.hpp"
#include "sim/cost/memory.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/host_traffic.hpp"
#include "sim/lowering/layer_visits.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Slots where a Plan gives no number: the layer in use and the one that is under way.
constexpr std::size_t kSlots = 2;

/// What the devices that share a layer's states in host memory wait for from each other: [(device class, layer)].
struct SharedTasks {
  std::map<std::pair<int, LayerId>, std::vector<TaskId>> gradients, updates;
};

std::size_t slots_of(const Home& home) { return home.buffers > 0 ? std::size_t(home.buffers) : kSlots; }
bool on_host(const Home& home) { return home.place == Place::host; }

/// K slots that are used in turn: the n-th start waits for the release of the one K before, which may lie in the step before.
class SlotPool {
 public:
  void take(Emission& emission, TaskId start, std::size_t slots) {
    require(released_.size() + slots > taken_.size(), "a slot that is not released before its turn comes");
    if (taken_.size() >= slots) emission.edge(released_[taken_.size() - slots], start);
    taken_.push_back({start, slots});
  }
  void release(TaskId end) { released_.push_back(end); }
  /// The first of a step wait for the last of the step before.
  void close(Emission& emission) const {
    for (std::size_t n = 0; n < taken_.size() && n < taken_[n].slots; ++n)
      if (released_.size() + n >= taken_[n].slots) emission.edge(released_[released_.size() + n - taken_[n].slots], taken_[n].start, 1);
  }

 private:
  struct Taken {
    TaskId start{};
    std::size_t slots = 0;
  };
  std::vector<Taken> taken_;
  std::vector<TaskId> released_;
};

/// Everything that one device class of a cell class exchanges with its host.
class DeviceOffload {
 public:
  DeviceOffload(Emission& emission, const CommunicatorClass& down, const CommunicatorClass& up, const CommunicatorClass& work, SharedTasks& shared)
      : emission_(emission),
        down_(down),
        up_(up),
        work_(work),
        cell_(down.first->cells.front()),
        device_(down.devices.front()),
        role_(emission.placement.role(cell_)),
        tasks_(emission.cells[emission.cell_class(cell_)]),
        shared_(shared),
        uses_(layer_uses(emission, role_)) {
    const auto& members = emission.placement.cells[cell_].members;
    rank_ = std::size_t(std::ranges::find(members, down.first->members.front()) - members.begin());
    measure();
    add_residents();
  }

  /// Copies in the order of the schedule, then the gradients that the device has reduced.
  void write_copies() {
    for (std::size_t k = 0; k < uses_.size(); ++k) {
      const LayerHome home = role_.home(uses_[k].layer);
      if (on_host(home.activations) && uses_[k].op.kind == 'B') reload(k);
      if (on_host(home.weights)) fetch(k);
      if (on_host(home.activations) && uses_[k].op.kind == 'F') store_activations(k);
      if (!on_host(home.gradients) || !uses_[k].makes_gradients() || trained(uses_[k].layer) == 0) continue;
      store_gradients(k);
      if (home.early_update && is_last_backward(k)) add_update(uses_[k].layer);
    }
    for (const SlotPool* pool : {&weights_, &activations_, &gradients_}) pool->close(emission_);
    for (auto layer = role_.layers.rbegin(); layer != role_.layers.rend(); ++layer)
      if (on_host(role_.home(*layer).optimizer) && !on_host(role_.home(*layer).gradients) && trained(*layer) > 0) copy_gradients(*layer);
  }

  /// Early updates in the order in which gradients are complete, the others in the order in which the next step needs the weights.
  std::vector<Reduction> write_updates() {
    std::vector<Reduction> reductions;
    for (auto layer = role_.layers.rbegin(); layer != role_.layers.rend(); ++layer)
      if (on_host(role_.home(*layer).optimizer) && role_.home(*layer).early_update && trained(*layer) > 0) update(*layer);
    for (const LayerId layer : role_.layers) {
      const LayerHome home = role_.home(layer);
      if (trained(layer) == 0) continue;
      if (on_host(home.optimizer) && !home.early_update) {
        update(layer);
        for (const TaskId gradients : shared_.gradients[{device_, layer}]) reductions.push_back({gradients, {emission_.cell_class(cell_)}});
      }
      if (on_host(home.weights) && !on_host(home.optimizer)) store_weights(layer);
    }
    return reductions;
  }

  /// What was updated goes where the next step uses it, in the order of the updates.
  void write_refreshes() {
    for (auto layer = role_.layers.rbegin(); layer != role_.layers.rend(); ++layer)
      if (role_.home(*layer).early_update) refresh(*layer);
    for (const LayerId layer : role_.layers)
      if (!role_.home(layer).early_update) refresh(layer);
  }

 private:
  ProcessorId device() const { return id_at<ProcessorId>(std::size_t(device_)); }
  const Software& software() const { return emission_.workload.software; }
  double parameters(LayerId layer) const { return parameters_on_device(*emission_.placement.module, std::span(&layer, 1), role_.cut); }
  double trained(LayerId layer) const { return trained_parameters_on_device(*emission_.placement.module, std::span(&layer, 1), role_.cut); }
  int sharers(LayerId layer) const {
    return down_.first->sharers[std::size_t(std::ranges::find(role_.layers, layer) - role_.layers.begin())];
  }
  int holders(LayerId layer) const {
    for (const LayerRun& run : emission_.traffic.runs)
      if (std::ranges::find(run.layers, layer) != run.layers.end()) return run.holders(emission_.placement);
    return 1;
  }
  /// Part of a layer's states that this device keeps and updates: a host holds them once for all devices that share them.
  double share(LayerId layer) const {
    if (role_.zero == 3) return 1.0 / role_.shards;
    return 1.0 / (role_.zero >= 1 ? holders(layer) : sharers(layer));
  }

  void measure() {
    const DeviceType& type = emission_.cluster.type_of(down_.first->members.front());
    for (std::size_t chunk = 0; chunk < role_.chunks.size(); ++chunk)
      for (const LayerMemory& layer : layer_memory(*emission_.placement.module, role_.chunks[chunk], role_.recompute_of(int(chunk)), role_.cut,
                                                   type, emission_.workload))
        kept_.push_back(layer.kept);
  }

  Bytes kept(LayerId layer) const { return kept_[std::size_t(std::ranges::find(role_.layers, layer) - role_.layers.begin())]; }

  /// What lives in the host's memory for the whole step, for all devices of the class on one host.
  void add_residents() {
    std::map<MemoryClass, Bytes> held;
    for (const LayerId& layer : role_.layers) {
      const LayerHome home = role_.home(layer);
      const int parts = role_.zero == 3 ? role_.shards : 1;
      const StaticMemory all = static_memory(*emission_.placement.module, std::span(&layer, 1), role_.cut, emission_.workload, parts, role_.zero == 3 ? 3 : 0);
      const double once = role_.zero == 3 ? 1.0 : 1.0 / sharers(layer);
      if (on_host(home.weights)) held[MemoryClass::weights] += all.weights * once;
      if (on_host(home.gradients)) held[MemoryClass::gradients] += all.gradients * once;
      if (on_host(home.optimizer)) held[MemoryClass::optimizer] += all.optimizer * (role_.zero == 3 ? 1.0 : share(layer));
    }
    for (const auto& [kind, bytes] : held) emission_.lowered.graph.residents.push_back({down_.host, kind, bytes * double(down_.per_host)});
  }

  TaskId add(const CommunicatorClass& group, DeviceStream stream, Bytes size, const char* what, LayerId layer) {
    CollectiveShape shape = group.first->shape(CollectiveKind::send);
    shape.ring_rate = group.lone_rate;
    CollectiveCost cost = collective_cost(shape, emission_.cluster.transports[index(group.first->transport)], size);
    cost = &group == &work_ ? emission_.next_work(group, cost) : emission_.next_exchange(group, cost);
    Task task;
    task.label.kind = TaskKind::offload;
    task.label.pipeline = role_.pipeline;
    task.label.stage = role_.position;
    task.label.layer = int(layer);
    task.label.detail = what;
    task.slots = emission_.slots({device_}, stream, 0);
    task.phases.push_back({cost.delay, std::nullopt, {{group.path, cost.bytes}}});
    return emission_.add(std::move(task));
  }

  void label(TaskId task, const LayerUse& use) { emission_.lowered.graph.tasks[index(task)].label.micro_batch = use.op.micro_batch; }

  void hold(TaskId task, MemoryClass kind, Bytes at_start, Bytes at_end) {
    emission_.lowered.graph.tasks[index(task)].memory.push_back({device(), kind, at_start, at_end, std::max(Bytes(0), at_start)});
  }

  void hold_on_host(TaskId task, MemoryClass kind, Bytes at_start, Bytes at_end) {
    const double devices = down_.per_host;
    emission_.lowered.graph.tasks[index(task)].memory.push_back(
        {down_.host, kind, at_start * devices, at_end * devices, std::max(Bytes(0), at_start) * devices});
  }

  /// Of a zero 3 layer, the task of this device's own group.
  TaskId own_task(const std::vector<TaskId>& tasks) const {
    const StreamId stream = emission_.resources.stream(device_, DeviceStream::data);
    for (const TaskId task : tasks)
      if (std::ranges::find(emission_.lowered.graph.tasks[index(task)].slots, stream, &Slot::stream) != emission_.lowered.graph.tasks[index(task)].slots.end())
        return task;
    throw InternalError("a shard group without this device");
  }

  /// Weights for one use; a layer that is used twice in a row stays. Sharded weights are fetched in parts and gathered.
  void fetch(std::size_t k) {
    const LayerUse& use = uses_[k];
    const bool sharded = role_.zero == 3;
    const bool stays = !sharded && k > 0 && uses_[k - 1].layer == use.layer;
    const bool leaves = sharded || k + 1 == uses_.size() || uses_[k + 1].layer != use.layer;
    if (sharded && !tasks_.gathers.contains(k)) return;
    const Bytes bytes = element_size(emission_.workload.precision) * (parameters(use.layer) / (sharded ? role_.shards : 1));
    const TaskId user = sharded ? own_task(tasks_.gathers.at(k)) : use.tasks(tasks_).first;
    if (!stays) {
      const TaskId task = add(down_, DeviceStream::h2d, bytes, "fetch weights", use.layer);
      label(task, use);
      hold(task, MemoryClass::weights, bytes, Bytes(0));
      weights_.take(emission_, task, slots_of(role_.home(use.layer).weights));
      emission_.edge(task, user);
      first_fetch_.try_emplace(use.layer, task);
    }
    if (!leaves) return;
    const TaskId last = sharded ? user : use.tasks(tasks_).last;
    hold(last, MemoryClass::weights, Bytes(0), -bytes);
    weights_.release(last);
  }

  void store_activations(std::size_t k) {
    const LayerUse& use = uses_[k];
    const Bytes bytes = kept(use.layer);
    if (bytes <= Bytes(0)) return;
    const TaskId task = add(up_, DeviceStream::d2h, bytes, "store activations", use.layer);
    label(task, use);
    hold(task, MemoryClass::activations, Bytes(0), -bytes);
    hold_on_host(task, MemoryClass::activations, bytes, Bytes(0));
    emission_.edge(use.tasks(tasks_).last, task);
    stored_[{use.op.chunk, use.op.micro_batch, use.layer}] = task;
  }

  /// Before the first use in the backward pass; the slot is free again when the layer's backward pass has ended.
  void reload(std::size_t k) {
    const LayerUse& use = uses_[k];
    if (const auto stored = stored_.find({use.op.chunk, use.op.micro_batch, use.layer}); stored != stored_.end()) {
      const Bytes bytes = kept(use.layer);
      const TaskId task = add(down_, DeviceStream::h2d, bytes, "reload activations", use.layer);
      label(task, use);
      hold(task, MemoryClass::activations, bytes, Bytes(0));
      hold_on_host(task, MemoryClass::activations, Bytes(0), -bytes);
      emission_.edge(stored->second, task);
      emission_.edge(task, use.tasks(tasks_).first);
      activations_.take(emission_, task, slots_of(role_.home(use.layer).activations));
      activations_.release(backward_of(use).last);
      stored_.erase(stored);
    }
  }

  TaskSpan backward_of(const LayerUse& use) const {
    const std::vector<LayerId>& chunk = role_.chunks[use.op.chunk];
    return tasks_.backward[use.op.chunk][use.op.micro_batch].layers[std::size_t(std::ranges::find(chunk, use.layer) - chunk.begin())];
  }

  /// A micro-batch's gradients of one layer leave through a pool of slots and are added to the sum in host memory.
  void store_gradients(std::size_t k) {
    const LayerUse& use = uses_[k];
    const bool sharded = role_.zero == 3;
    const double own = trained(use.layer) / (sharded ? role_.shards : 1);
    const Bytes bytes = element_size(software().gradient_type) * own;
    const TaskId maker = sharded ? own_task(tasks_.scatters.at(k)) : backward_of(use).first;
    const TaskId made = sharded ? maker : backward_of(use).last;
    const TaskId task = add(up_, DeviceStream::d2h, bytes, "store gradients", use.layer);
    label(task, use);
    hold(maker, MemoryClass::gradients, bytes, Bytes(0));
    hold(task, MemoryClass::gradients, Bytes(0), -bytes);
    emission_.edge(made, task);
    gradients_.take(emission_, maker, slots_of(role_.home(use.layer).gradients));
    gradients_.release(task);
    const bool first = shared_.gradients[{device_, use.layer}].empty();
    const double added = first ? (sharded ? 0 : own * (sharers(use.layer) - 1) / sharers(use.layer)) : own;
    shared_.gradients[{device_, use.layer}] = {added > 0 ? add_up(task, use, added) : task};
  }

  /// Of the first contributions of all sharers only one need not be added; each does its part of that.
  TaskId add_up(TaskId copied, const LayerUse& use, double added) {
    const TaskId task = add(work_, DeviceStream::host, host_addition_bytes(emission_.workload) * added, "add gradients", use.layer);
    label(task, use);
    emission_.edge(copied, task);
    return task;
  }

  void copy_gradients(LayerId layer) {
    const Bytes bytes = element_size(software().gradient_type) * (trained(layer) * share(layer));
    const TaskId task = add(up_, DeviceStream::d2h, bytes, "store gradients", layer);
    hold_on_host(task, MemoryClass::gradients, bytes, Bytes(0));
    emission_.edge(last_backward_of(layer).last, task);
    for (const TaskId before : tasks_.reduced[layer]) emission_.edge(before, task);
    shared_.gradients[{device_, layer}] = {task};
  }

  TaskSpan last_backward_of(LayerId layer) const {
    for (auto use = uses_.rbegin(); use != uses_.rend(); ++use)
      if (use->layer == layer && use->makes_gradients()) return backward_of(*use);
    throw InternalError("a layer without a backward pass");
  }

  /// The devices of the same host that hold the same part of the layer, as classes.
  std::vector<int> sharing_devices(LayerId layer) const {
    if (role_.zero >= 1) return {device_};
    std::vector<int> devices;
    for (const Sharer& sharer : sharers_of(emission_.cluster, emission_.placement, cell_, rank_, layer)) {
      const int device = emission_.symmetry.devices.class_of[index(sharer.device)];
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
    return devices;
  }

  bool is_last_backward(std::size_t k) const {
    return std::none_of(uses_.begin() + std::ptrdiff_t(k) + 1, uses_.end(),
                        [&](const LayerUse& later) { return later.layer == uses_[k].layer && later.makes_gradients(); });
  }

  /// The worker takes its tasks in the order in which they are added.
  TaskId add_update(LayerId layer) {
    const Bytes bytes = emission_.workload.optimizer == "none" ? Bytes(0) : host_update_bytes(emission_.workload) * (trained(layer) * share(layer));
    const TaskId task = add(work_, DeviceStream::host, bytes, "host update", layer);
    emission_.lowered.graph.tasks[index(task)].label.kind = TaskKind::optimizer;
    shared_.updates[{device_, layer}] = {task};
    return task;
  }

  void update(LayerId layer) {
    const LayerHome home = role_.home(layer);
    const auto known = shared_.updates.find({device_, layer});
    const TaskId task = known == shared_.updates.end() ? add_update(layer) : known->second.front();
    for (const int device : on_host(home.gradients) ? sharing_devices(layer) : std::vector{device_})
      for (const TaskId gradients : shared_.gradients[{device, layer}]) emission_.edge(gradients, task);
    if (!on_host(home.gradients))
      hold_on_host(task, MemoryClass::gradients, Bytes(0), -element_size(software().gradient_type) * (trained(layer) * share(layer)));
    if (home.early_update) return;
    emission_.edge(tasks_.last, task);
    tasks_.updates.push_back(task);
  }

  /// Weights that the device has updated go back to their home, a part from each sharer.
  void store_weights(LayerId layer) {
    const Bytes bytes = element_size(emission_.workload.precision) * (trained(layer) * share(layer));
    const TaskId task = add(up_, DeviceStream::d2h, bytes, "store weights", layer);
    emission_.edge(tasks_.optimizer, task);
    shared_.updates[{device_, layer}] = {task};
  }

  void await_updates(LayerId layer, TaskId waiting, int distance) {
    for (const int device : sharing_devices(layer))
      for (const TaskId update : shared_.updates[{device, layer}]) emission_.edge(update, waiting, distance);
  }

  /// Updated weights wait on the host for their first fetch, or come to the device: whole, or the part that is then gathered.
  void refresh(LayerId layer) {
    const LayerHome home = role_.home(layer);
    if (on_host(home.weights)) return await_updates(layer, first_fetch_.at(layer), 1);
    if (!on_host(home.optimizer) || trained(layer) == 0) return;
    const bool sharded = role_.zero == 3;
    const Bytes element = sharded ? element_size(DataType::fp32) : element_size(emission_.workload.precision);
    const TaskId task = add(down_, DeviceStream::refresh, element * (trained(layer) * (role_.zero >= 1 ? share(layer) : 1.0)), "update weights", layer);
    await_updates(layer, task, 0);
    tasks_.refreshed[layer].push_back(task);
    const auto first = std::ranges::find(uses_, layer, &LayerUse::layer);
    if (sharded)
      emission_.edge(task, own_task(tasks_.gathers.at(std::size_t(first - uses_.begin()))), 1);
    else
      emission_.edge(task, first->tasks(tasks_).first, 1);
  }

  Emission& emission_;
  const CommunicatorClass &down_, &up_, &work_;
  int cell_;
  int device_;                           ///< class
  const StageRole& role_;
  CellTasks& tasks_;
  SharedTasks& shared_;
  std::vector<LayerUse> uses_;
  std::size_t rank_ = 0;                 ///< of the class's first device in its cell
  std::vector<Bytes> kept_;              ///< [layer of the stage]: activations of a micro-batch
  SlotPool weights_, activations_, gradients_;
  std::map<LayerId, TaskId> first_fetch_;
  std::map<std::tuple<int, int, LayerId>, TaskId> stored_;  ///< activations, by chunk, micro-batch and layer
};

std::vector<DeviceOffload> all_devices(Emission& emission, SharedTasks& shared) {
  std::vector<DeviceOffload> devices;
  const auto of = [&](const CommunicatorClass& like, CommunicatorKind kind) -> const CommunicatorClass& {
    for (const CommunicatorClass& group : emission.resources.communicators)
      if (group.first->kind == kind && group.first->cells == like.first->cells && group.first->members == like.first->members) return group;
    throw InternalError("copies in one direction only");
  };
  for (const CommunicatorClass& down : emission.resources.communicators)
    if (down.first->kind == CommunicatorKind::to_device && emission.placement.role(down.first->cells.front()).leaves_device())
      devices.emplace_back(emission, down, of(down, CommunicatorKind::to_host), of(down, CommunicatorKind::host_work), shared);
  return devices;
}

}  // namespace

std::vector<Reduction> emit_offload(Emission& emission) {
  SharedTasks shared;
  std::vector<DeviceOffload> devices = all_devices(emission, shared);
  for (DeviceOffload& device : devices) device.write_copies();
  std::vector<Reduction> reductions;
  for (DeviceOffload& device : devices)
    for (Reduction& reduction : device.write_updates()) reductions.push_back(std::move(reduction));
  for (DeviceOffload& device : devices) device.write_refreshes();
  return reductions;
}

}  // namespace trainyard
