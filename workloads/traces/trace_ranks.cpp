#include "workloads/traces/trace_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Names that writers give to the communicator of all ranks.
bool is_everybody(const std::string& name) { return name.empty() || name == "0" || name == "default_pg"; }

void fill_members(const TraceRanks& ranks, ExecutionTrace& trace) {
  for (TraceGroup& group : trace.groups) {
    if (!group.members.empty() || group.size > 0) continue;
    const auto known = ranks.groups.find(group.name);
    if (known != ranks.groups.end())
      group.members = known->second;
    else if (!is_everybody(group.name))
      throw UserError(fmt::format(
          "{}: nothing says which ranks are in communicator \"{}\"; give `groups: FILE`, such as {{\"{}\": [0, 1]}}",
          trace.files.front().file, group.name, group.name));
  }
}


int world_of(const std::vector<TraceFile>& files, const TraceRanks& ranks, const ExecutionTrace& trace) {
  int said = 0, last = int(files.size()) - 1;
  for (const TraceFile& file : files) {
    if (said > 0 && file.world_size > 0 && file.world_size != said)
      throw UserError(fmt::format("{}: a run of {} ranks, but another file says {}; all files must be of one run",
                                  file.rank.file, file.world_size, said));
    said = std::max(said, file.world_size);
    if (files.size() > 1) last = std::max(last, file.rank.rank);
  }
  for (const TraceGroup& group : trace.groups) {
    for (const int member : group.members) last = std::max(last, member);
    last = int(std::max(std::int64_t(last), std::min(std::int64_t(group.size) * group.stride - 1, std::int64_t(kMostRanks))));
  }
  if (std::max(said, last) >= kMostRanks)
    throw UserError(fmt::format("{}: a run of more than {} ranks", files.front().rank.file, kMostRanks));
  const int least = std::max(said, last + 1);
  if (ranks.wanted > 0 && ranks.wanted < last + 1)
    throw UserError(fmt::format("{}: the trace holds rank {}, but `ranks` is {}; at least {} is allowed",
                                files.front().rank.file, last, ranks.wanted, last + 1));
  return ranks.wanted > 0 ? ranks.wanted : least;
}

/// A rank without a file runs the nodes of the nearest one below it that has one (else the first).
std::vector<int> files_by_rank(const std::vector<TraceFile>& files, int world) {
  std::vector<int> file_of(std::size_t(world), -1);
  for (std::size_t f = 0; f < files.size(); ++f) {
    const int rank = files.size() == 1 ? std::max(0, std::min(files[f].rank.rank, world - 1)) : files[f].rank.rank;
    if (rank < 0)
      throw UserError(fmt::format("{}: neither the file nor its name says which rank it is of", files[f].rank.file));
    if (int& of = file_of[std::size_t(rank)]; of >= 0)
      throw UserError(fmt::format("{}: rank {} again, which {} is, too; one file a rank is allowed", files[f].rank.file,
                                  rank, files[std::size_t(of)].rank.file));
    else
      of = int(f);
  }
  int below = *std::ranges::find_if(file_of, [](int file) { return file >= 0; });
  for (int& file : file_of) file = below = file >= 0 ? file : below;
  return file_of;
}

bool has_transfers(const RankTrace& rank) {
  return std::ranges::any_of(rank.nodes, [](const TraceNode& node) {
    return node.work == TraceWork::send || node.work == TraceWork::receive;
  });
}

void note_stand_ins(ExecutionTrace& trace) {
  const int world = int(trace.file_of_rank.size());
  std::vector<int> uses(trace.files.size(), 0);
  for (const int file : trace.file_of_rank) ++uses[std::size_t(file)];
  for (std::size_t f = 0; f < uses.size(); ++f)
    if (uses[f] > 1 && has_transfers(trace.files[f]))
      throw UserError(fmt::format(
          "{}: sends and receives of one rank cannot stand for others, and {} of {} ranks have no file of their own",
          trace.files[f].file, world - int(trace.files.size()), world));
  if (world > int(trace.files.size()))
    trace.remarks.push_back(
        trace.files.size() == 1
            ? fmt::format("one file stands for all {} ranks", world)
            : fmt::format("{} of {} ranks have no file: each runs the nodes of the nearest rank before it that has one",
                          world - int(trace.files.size()), world));
}

void check_group(const TraceGroup& group, int world, const std::string& file) {
  for (const int member : group.members)
    if (member < 0 || member >= world)
      throw UserError(fmt::format("{}: communicator \"{}\" holds rank {}; ranks 0 to {} are there", file, group.name,
                                  member, world - 1));
  std::vector<int> sorted = group.members;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw UserError(fmt::format("{}: communicator \"{}\" holds rank {} twice", file, group.name, *twice));
  if (group.size > 0 && world % (group.size * group.stride) != 0)
    throw UserError(fmt::format("{}: groups \"{}\" of {} ranks, {} apart, do not fill {} ranks", file, group.name,
                                group.size, group.stride, world));
}

double members_of(const TraceGroup& group, int world) {
  return double(group.size > 0          ? std::size_t(group.size)
                : group.members.empty() ? std::size_t(world)
                                        : group.members.size());
}

/// Sizes of all-gathers to what all have in the end.
void gather_sizes(const TraceRanks& ranks, int world, ExecutionTrace& trace) {
  std::int64_t taken = 0;
  for (RankTrace& rank : trace.files)
    for (TraceNode& node : rank.nodes) {
      if (node.work != TraceWork::exchange || node.exchange != ExchangeKind::all_gather || node.bytes <= 0) continue;
      ++taken;
      if (!ranks.gathered_sizes.value_or(false)) node.bytes *= members_of(trace.groups[std::size_t(node.group)], world);
    }
  if (taken > 0 && !ranks.gathered_sizes && !ranks.sizes_are_known)
    trace.remarks.push_back(
        fmt::format("sizes of {} all-gathers are taken as what each rank gives (`all_gather_size: output` takes them "
                    "as what all have in the end)",
                    taken));
}

void note_lonely(int world, ExecutionTrace& trace) {
  std::int64_t lonely = 0;
  for (const RankTrace& rank : trace.files)
    for (const TraceNode& node : rank.nodes)
      lonely += node.work == TraceWork::exchange && node.bytes > 0 &&
                members_of(trace.groups[std::size_t(node.group)], world) < 2;
  if (lonely > 0)
    trace.remarks.push_back(fmt::format(
        "{} exchanges are in groups of one rank and take no time (`ranks` says how many ranks there are)", lonely));
}

}  // namespace

void settle_ranks(std::vector<TraceFile> files, const TraceRanks& ranks, ExecutionTrace& trace) {
  for (TraceFile& file : files) trace.device = trace.device.empty() ? file.device : trace.device;
  for (const TraceFile& file : files) trace.files.push_back({file.rank.file, file.rank.rank, {}, {}, {}});
  fill_members(ranks, trace);
  const int world = world_of(files, ranks, trace);
  trace.file_of_rank = files_by_rank(files, world);
  for (const TraceGroup& group : trace.groups) check_group(group, world, files.front().rank.file);
  for (std::size_t f = 0; f < files.size(); ++f) trace.files[f] = std::move(files[f].rank);
  note_stand_ins(trace);
  gather_sizes(ranks, world, trace);
  note_lonely(world, trace);
}

}  // namespace trainyard
