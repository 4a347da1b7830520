#include "sim/model/plan_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace trainyard {

template <>
std::span<const Word<AxisKind>> words<AxisKind>() {
  static constexpr Word<AxisKind> kWords[] = {{AxisKind::data, "data"},       {AxisKind::shard, "shard"},
                                              {AxisKind::context, "context"}, {AxisKind::tensor, "tensor"},
                                              {AxisKind::rows, "rows"},       {AxisKind::columns, "columns"},
                                              {AxisKind::inner, "inner"},     {AxisKind::items, "expert"},
                                              {AxisKind::items, "table"},     {AxisKind::variant, "variant"}};
  return kWords;
}

template <>
std::span<const Word<State>> words<State>() {
  static constexpr Word<State> kWords[] = {{State::weights, "weights"},
                                           {State::gradients, "gradients"},
                                           {State::optimizer, "optimizer"},
                                           {State::activations, "activations"},
                                           {State::kv, "kv"}};
  return kWords;
}

template <>
std::span<const Word<Place>> words<Place>() {
  static constexpr Word<Place> kWords[] = {
      {Place::device, "device"}, {Place::host, "host"}, {Place::storage, "storage"}};
  return kWords;
}

template <>
std::span<const Word<RecomputeKind>> words<RecomputeKind>() {
  static constexpr Word<RecomputeKind> kWords[] = {
      {RecomputeKind::none, "none"}, {RecomputeKind::selective, "selective"}, {RecomputeKind::full, "full"}};
  return kWords;
}

template <>
std::span<const Word<Update>> words<Update>() {
  static constexpr Word<Update> kWords[] = {
      {Update::end, "end"}, {Update::layer, "layer"}, {Update::next_visit, "next_visit"}};
  return kWords;
}

template <>
std::span<const Word<SyncWhat>> words<SyncWhat>() {
  static constexpr Word<SyncWhat> kWords[] = {
      {SyncWhat::gradients, "gradients"}, {SyncWhat::weights, "weights"}, {SyncWhat::scalar, "scalar"}};
  return kWords;
}

template <>
std::span<const Word<Algorithm>> words<Algorithm>() {
  static constexpr Word<Algorithm> kWords[] = {{Algorithm::automatic, "automatic"},
                                               {Algorithm::ring, "ring"},
                                               {Algorithm::tree, "tree"},
                                               {Algorithm::hierarchical, "hierarchical"},
                                               {Algorithm::in_network, "in_network"},
                                               {Algorithm::sharded_ps, "sharded_ps"},
                                               {Algorithm::padded, "padded"},
                                               {Algorithm::grouped, "grouped"}};
  return kWords;
}

template <>
std::span<const Word<ContextKind>> words<ContextKind>() {
  static constexpr Word<ContextKind> kWords[] = {
      {ContextKind::ring, "ring"}, {ContextKind::ulysses, "ulysses"}, {ContextKind::gather, "gather"}};
  return kWords;
}

template <>
std::span<const Word<Traffic>> words<Traffic>() {
  static constexpr Word<Traffic> kWords[] = {{Traffic::tensor, "tensor"},   {Traffic::pipeline, "pipeline"},
                                             {Traffic::data, "data"},       {Traffic::expert, "expert"},
                                             {Traffic::context, "context"}, {Traffic::shard, "shard"},
                                             {Traffic::offload, "offload"}};
  return kWords;
}

template <>
std::span<const Word<SwitchMode>> words<SwitchMode>() {
  static constexpr Word<SwitchMode> kWords[] = {{SwitchMode::stop, "stop"}, {SwitchMode::live, "live"}};
  return kWords;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names{"gpipe", "1f1b",     "interleaved",   "zb_h1",
                                              "zb_v",  "dualpipe", "breadth_first", "colocated", "asynchronous"};
  return names;
}

const std::vector<std::string>& dispatch_names() {
  static const std::vector<std::string> names{"least_loaded", "round_robin", "shortest_path"};
  return names;
}

std::string to_text(const Layout& layout) {
  std::vector<std::string> axes;
  for (const Axis& axis : layout) {
    const bool equal = std::ranges::all_of(axis.shares, [](double share) { return share == 1; });
    axes.push_back(equal ? fmt::format("{}: {}", word(axis.kind), axis.size())
                         : fmt::format("{}: [{}]", word(axis.kind), fmt::join(axis.shares, ", ")));
  }
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

std::string to_text(const Recompute& recompute) {
  if (recompute.kind == RecomputeKind::every) return fmt::format("every {}", recompute.every);
  return std::string(word(recompute.kind));
}

}  // namespace trainyard
