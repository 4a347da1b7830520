// Real traces beside the source, where they are: each replays whole, or says in one line why not.
#include <catch2/catch.hpp>
#include <filesystem>

#include "sim/model/execution_trace.hpp"
#include "sim/units/error.hpp"
#include "tests/replay/trace_fixture.hpp"
#include "workloads/traces/trace_section.hpp"

using namespace trainyard;
using namespace trainyard::fixture;

namespace {

namespace fs = std::filesystem;
const fs::path kTraces = fs::path(TRAINYARD_SOURCE_DIR) / ".." / "shared" / "data" / "traces";

bool there(const fs::path& path) {
  if (!fs::exists(path)) WARN("skipped: " << path.string() << " is not there");
  return fs::exists(path);
}

double recorded_work(const ExecutionTrace& trace) {
  double sum = 0;
  for (const TraceNode& node : trace.files[0].nodes)
    if (node.work == TraceWork::compute || node.work == TraceWork::memory) sum += std::max(node.time.value, 0.0);
  return sum;
}

/// How many nodes ran; 0 where it is refused, in one line.
std::int64_t check_sample(const std::string& file, const ReplaySetting& setting) {
  const fs::path path = kTraces / file;
  if (!there(path)) return -1;
  const Replay made = replay(path.string(), setting);
  INFO(file << ": " << made.error);
  CHECK(made.error.find('\n') == std::string::npos);
  if (!made.error.empty()) {
    CHECK(made.error.find(path.filename().string()) != std::string::npos);
    return 0;
  }
  const ExecutionTrace trace = read_trace(path.string(), "");
  CHECK(made.result.replay->ranks[0].nodes == std::int64_t(trace.files[0].nodes.size()));
  CHECK(made.result.replay->ranks[0].work.value == Approx(recorded_work(trace)).epsilon(1e-9));
  return made.result.replay->ranks[0].nodes;
}

}  // namespace

TEST_CASE("Chakra samples: microbenchmarks and single ranks") {
  for (const auto& [file, ranks] : std::vector<std::pair<const char*, int>>{{"4npus_1MB_all_gather.0.et", 4},
                                                                            {"4npus_1MB_all_reduce.3.et", 4},
                                                                            {"4npus_1MB_all_to_all.3.et", 4},
                                                                            {"4npus_1MB_reduce_scatter.3.et", 4},
                                                                            {"old_AllReduce_1MB.0.et", 8}})
    CHECK(check_sample(std::string("astra-sim/et/") + file, {.more = ", ranks: " + std::to_string(ranks)}) != 0);
  CHECK(check_sample("astra-sim/et/old_resnet50_DataParallel.10.et", {.more = ", ranks: 16", .nodes = 2}) != 0);
  CHECK(check_sample("astra-sim-tutorials/MLP_ModelParallel.0.et", {.more = ", ranks: 8"}) != 0);
  CHECK(check_sample("astra-sim-tutorials/allreduce_2D_128npus.99.et", {.more = ", ranks: 128", .nodes = 16}) != 0);
}

TEST_CASE("Chakra samples: sends and receives of a rank without its peers are refused") {
  CHECK(check_sample("astra-sim/et/custom_allreduce_8npus.0.et", {}) <= 0);
}

TEST_CASE("Chakra samples: JSON with cycles and missing parents") {
  CHECK(check_sample("chakra/small_chakra.0.json", {.more = ", format: chakra"}) <= 0);
  if (!there(kTraces / "chakra")) return;
  const Replay made = replay((kTraces / "chakra/small_chakra.0.json").string(), {.more = ", lenient: true"});
  CHECK(made.error.empty());
  CHECK(made.result.replay->ranks[0].nodes == 7);
  CHECK(check_sample("chakra/chakra.0.json.gz", {}) == 3664);
}

TEST_CASE("PyTorch samples") {
  for (const char* file :
       {"chakra/pytorch_et_1.0.2-chakra.0.0.4.json", "param/linear_et.json.gz",
        "hta/execution_trace__benchmark_simple_add_et.json.gz", "pytorch-et-dlrm8/dlrm_eg_0_plus.json.gz"})
    CHECK(check_sample(file, {}) != 0);
  CHECK(check_sample("pytorch-et-megatron-tp8/megatron_et_1.json.gz", {}) != 0);
}

TEST_CASE("PyTorch samples of many nodes") {
  CHECK(check_sample("param/1.1.0-chakra.0.0.4__resnet_2gpu_et.json.gz", {}) != 0);
}

TEST_CASE("Kineto samples: a Megatron rank") {
  CHECK(check_sample("pytorch-et-megatron-tp8/megatron_kineto_1.json.gz", {}) > -2);
}

TEST_CASE("Kineto samples: small ones") {
  for (const char* file :
       {"hta/critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz",
        "hta/critical_path__cuda_event_sync_multi_stream__event_sync_trace.json.gz",
        "hta/triton_example__triton_example.json.gz", "hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "hta/trace_file_list__inference_rank_1.json.gz", "hta/execution_trace__benchmark_simple_add_trace.json.gz"})
    CHECK(check_sample(file, {}) != 0);
  for (const char* file :
       {"hta/cpu_only__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "hta/rank_unavailable__rank_not_found.json.gz"})
    CHECK(check_sample(file, {}) <= 0);
}

TEST_CASE("ASTRA-sim and SimAI samples") {
  for (const char* file : {"DLRM_HybridParallel.txt", "MLP_HybridParallel_Data_Model.txt",
                           "Transformer_HybridParallel.txt", "Transformer_HybridParallel_Fwd_In_Bckwd.txt",
                           "microAllReduce.txt", "sample_per_layer_parallel_HybridCustomized.txt"})
    CHECK(check_sample(std::string("astra-sim-1.0/workload/") + file, {.more = ", ranks: 8"}) != 0);
  CHECK(check_sample("simai/microAllReduce.txt", {}) != 0);
  CHECK(check_sample("simai/workload_analytical.txt", {}) <= 0);  // one stage of twelve
  CHECK(check_sample("aicb/simAI__L65B-M1-C05_Llama65B_megatron_tp8_pp1_mbs1_A100.txt", {}) <=
        0);  // 839 layers declared, 33 there
  CHECK(check_sample("aicb/simAI__G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp_A100.txt", {}) != 0);
}

TEST_CASE("AICB samples") {
  CHECK(check_sample("aicb/G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv", {.nodes = 16}) != 0);
}
