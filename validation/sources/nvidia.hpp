// What NVIDIA's own tables (NeMo, Megatron-Bridge, DGX Cloud, MLPerf) have in common.
#pragma once

#include <vector>

#include "validation/sources/source.hpp"

namespace trainyard {

/// DGX and NVL72 systems by the GPU that a row names. Throws Unmapped for others. An NVL72 rack is one node of 64 GPUs:
/// jobs use powers of two. InfiniBand of 400 Gb/s a GPU, 800 Gb/s for B300 and GB300.
[[nodiscard]] Site nvidia_site(const std::string& printed, int gpus);

/// `fp8`, `fp4` or `bf16`.
[[nodiscard]] std::string nvidia_precision(const std::string& printed);

/// The catalogue's name of the GPU that a row names, or the printed name.
[[nodiscard]] std::string nvidia_gpu(const std::string& printed);

/// Of the columns tp, pp, cp, vp, mbs, gbs, seq_len and fsdp that these tables share; `model` gives the sizes; software
/// of NeMo 24.x.
[[nodiscard]] TrainingRun nvidia_run(const CsvRow& row, const std::string& gpu, const std::string& model, int gpus,
                                     int layers);

/// Decoder layers by visit where Megatron counts 64 layers of a model of 61: embedding and head take the places of three, the head's two
/// at the end (or, with `embedding`, one at each end and one for the prediction layer); empty where they do not come out.
[[nodiscard]] std::vector<int> layers_of_64(const TrainingRun& run, bool embedding);

/// One group for all tables of NVIDIA: near-copies of a job stand on one side.
[[nodiscard]] std::string nvidia_group(const std::string& gpu, const std::string& model);

}  // namespace trainyard
