#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/data_set.hpp"
#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

using namespace trainyard;

TEST_CASE("every source has a name and columns of its own") {
  std::map<std::string_view, int> names;
  for (const Source& source : sources()) {
    CHECK(++names[source.name] == 1);
    const std::vector<std::string> header(source.columns.begin(), source.columns.end());
    REQUIRE(recognise(header) != nullptr);
    CHECK(recognise(header)->name == source.name);
  }
  CHECK(recognise({"id", "gpu", "something"}) == nullptr);
}

TEST_CASE("a row of vTrain's table") {
  const CsvTable table = read_csv_text(
      "Parameters (billion),# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence "
      "length,tensor parallelism,"
      "data parallelism,pipeline parallelism,iteration time (ms)\n3.6,64,512,8,3072,32,30,2048,2,32,1,3975.2\n",
      "vtrain_multi.csv");
  const Measurement m = map_table(*recognise(table.header), table).at(0);
  CHECK(m.id == "vtrain_multi_000");
  CHECK(m.step_time_s == Approx(3.9752));
  CHECK_FALSE(m.out_of_memory);
  CHECK(m.plan == "{tensor: 2, data: 32, micro_batch: 8, recompute: full}");
  CHECK(load_scenario_text("cluster: " + m.cluster + "\nworkload: " + m.workload + "\nstrategies: [megatron]\n", "row",
                           ".")
            .variants.size() == 1);
}

TEST_CASE("a run that went out of memory, and one that could not start") {
  const CsvTable table = read_csv_text(
      "id,sweep,model,n_layers,d_model,n_heads,d_ffn,seq_len,n_gpus,tp,pp,dp,mbs,gbs,act_ckpt,kernel,status,step_time_"
      "s,trial_id\n"
      "a,main,llama-13B,40,5120,40,13824,2048,64,2,2,16,8,2048,disabled,torch,OOM Error,,1\n"
      "b,main,llama-13B,40,5120,40,13824,2048,64,2,2,16,8,2048,disabled,fused,Kernel not available,,2\n",
      "x.csv");
  const auto rows = map_table(*recognise(table.header), table);
  CHECK(rows[0].out_of_memory == true);
  CHECK_FALSE(rows[0].step_time_s);
  CHECK(rows[0].unmapped.empty());
  CHECK(rows[1].unmapped == "the run ended with: Kernel not available");
}

TEST_CASE("rows of hybrid models and of diffusion") {
  const CsvTable hybrids = read_csv_text(
      "id,recipe_release,also_in,task,framework,model,gpu,n_gpus,precision,seq_len,gbs,mbs,fsdp,tp,pp,cp,vp,ep,step_time_s,samples_s,note\n"
      "a,v25.05,,pretrain,nemo,Nemotron-H 56b,H100,32,FP8,8192,96,1,,8,1,1,NA,NA,15.119,,\n",
      "x.csv");
  const Measurement hybrid = map_table(*recognise(hybrids.header), hybrids).at(0);
  CHECK(hybrid.unmapped.empty());
  CHECK(hybrid.plan == "{tensor: 8, data: 4, micro_batch: 1}");
  const CsvTable images = read_csv_text(
      "id,round,benchmark,accelerator,n_accel,gbs,mbs,ttt_min_mean,iter_time_s,train_step_s,max_mem_GB,cfg_check\n"
      "a,v5.1,flux1,NVIDIA Blackwell GPU (B200-SXM-180GB),32,1024,32,92.8,,0.62,,mismatch\n"
      "b,v5.1,flux1,NVIDIA Blackwell GPU (B200-SXM-180GB),32,1024,,92.8,,0.62,,\n"
      "c,v5.0,stable_diffusion,NVIDIA Blackwell GPU (B200-SXM-180GB),8,256,32,10,,0.12,,\n",
      "x.csv");
  const auto rows = map_table(*recognise(images.header), images);
  CHECK(rows[0].plan == "{tensor: 1, data: 32, micro_batch: 32}");
  CHECK(rows[0].step_time_s == 0.62);
  CHECK(rows[1].unmapped == "the micro-batch is not printed");
  CHECK(rows[2].plan == "{tensor: 1, data: 8, micro_batch: 32}");
  CHECK(rows[2].workload.find("unet: {channels: [320, 640, 1280, 1280]") != std::string::npos);
}

TEST_CASE("published names of one model") {
  for (const char* name : {"LLAMA3.1_405B", "Llama 3.1 405b", "llama31_405b", "LLAMA3-405B"})
    CHECK(published_model(name).name == "llama-3-405b");
  CHECK(published_model("NeMo Megatron").name == "gpt3-175b");
  CHECK_THROWS_WITH(published_model("Paxml GPT5B"), "sizes of the model \"Paxml GPT5B\" are not printed");
  CHECK_THROWS_WITH(refuse_other_workloads("MoE 352B"), "workload: mixture of experts whose sizes are not printed");
}

TEST_CASE("near-copies of a job in several of NVIDIA's tables stand on one side") {
  Measurement one, other;
  one.group = other.group = "nvidia/H100-SXM5-80GB/llama-3-70b";
  one.source = "bridge";
  other.source = "dgxc";
  CHECK(split_of(one) == split_of(other));
}

TEST_CASE("the published tables, where they are") {
  const std::string folder = std::string(TRAINYARD_SOURCE_DIR) + "/../shared/data/validation";
  if (!std::filesystem::exists(folder)) return;
  std::map<std::string, std::pair<int, int>> mapped;
  for (const Measurement& m : read_data_set(folder).measurements) {
    auto& [all, with_scenario] = mapped[m.source];
    ++all;
    with_scenario += m.unmapped.empty() ? 1 : 0;
  }
  CHECK(mapped.size() == sources().size());
  for (const auto& [source, count] : mapped) {
    INFO(source);
    CHECK(count.second > 0);
  }
}

TEST_CASE("the measurements of the repository are read") {
  const DataSet data = read_data_set(default_measurements());
  CHECK(data.measurements.size() > 2000);
  for (const Measurement& m : data.measurements) {
    INFO(m.source << " " << m.id);
    REQUIRE_FALSE(m.citation.empty());
    REQUIRE((m.step_time_s || m.peak_memory_bytes || m.out_of_memory));
  }
}
