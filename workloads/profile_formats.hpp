// Readers of profiles: our own form, and tables as Sailor, Metis, Galvatron, PipeDream and DAPPLE write them.
#pragma once

#include <optional>
#include <string>

#include "workloads/profile_table.hpp"

namespace trainyard {

/// One file of a profile and what the scenario says of it.
struct ProfileFile {
  std::string path;
  std::string gpu;                      ///< key of the GPU catalogue
  std::optional<int> tensor;
  std::optional<double> samples;        ///< of a micro-batch
  SourcePlace place;                    ///< in the scenario
};

/// What such a file does not say and the scenario must.
struct ProfileRules {
  std::optional<double> forward_share;       ///< metis: of the time of both passes
  std::optional<double> backward_ratio;      ///< galvatron: backward over forward
  double sequence_length = 0;                ///< galvatron: which of its lengths
};

/// Moves what was found in a file to `diagnostics`: a file that cannot be read is a mistake of the scenario, at `file.place`.
void keep_mistakes(const Diagnostics& found, const ProfileFile& file, Diagnostics& diagnostics);

/// Our own YAML (workloads/README.md).
[[nodiscard]] ProfileTable read_profile(const std::string& path, const SourcePlace& place, Diagnostics& diagnostics);

/// {mbs: {tp: {layer: [forward s, backward s, update s]}}}; sizes whose every time is zero were not measured and are left out.
void read_sailor_profile(const ProfileFile& file, ProfileTable& into, Diagnostics& diagnostics);

/// execution_time.layer_compute_total_ms: both passes of each layer; tensor size and micro-batch stand in the file's name
/// (DeviceType.A100_tp1_bs1.json, mbs1_tmp1.json) unless the scenario gives them.
void read_metis_profile(const ProfileFile& file, const ProfileRules& rules, ProfileTable& into, Diagnostics& diagnostics);

/// layertype_0_bsz4_seq2048: forward ms of one sample in one layer, and layertype_other of all the rest, of which half goes to the
/// embedding and half to the head.
void read_galvatron_profile(const ProfileFile& file, const ProfileRules& rules, ProfileTable& into, Diagnostics& diagnostics);

/// graph.txt of PipeDream's profiler, which DAPPLE's planner reads too: nodes with ms and bytes of a whole micro-batch, and edges.
/// Nodes become layers in topological order, the lower number first; `Input` nodes are dropped as there; what a node keeps is its
/// output.
void read_graph_profile(const ProfileFile& file, ProfileTable& into, Diagnostics& diagnostics);

}  // namespace trainyard
