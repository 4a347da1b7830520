// `workload.profile`: our own form, the tables of other programs, and the exact words for what is wrong.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

/// A folder of small files for one test.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name, std::ios::binary) << text; }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_ = fs::temp_directory_path() / ("trainyard_profile_" + std::to_string(::getpid()));
};

struct Outcome {
  Workload workload;
  std::string error;  ///< the first line of each mistake, without the folder
};

Outcome outcome_of(const std::string& yaml, const std::string& directory) {
  Diagnostics diagnostics;
  Outcome outcome;
  const ConfigValue section = read_yaml_text(yaml, "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics))
    outcome.workload = build_workload(section, directory, diagnostics);
  for (const Diagnostic& one : diagnostics.all()) {
    const std::string file = one.place.file ? fs::path(one.place.file->name).filename().string() : "";
    outcome.error += file + ":" + std::to_string(one.place.line) + ": " + one.message + "\n";
  }
  return outcome;
}

const std::string kLayers = R"(layers:
  - {name: conv, parameters: 8 MB, output: 2 MB, saved: 3 MB, forward_flops: 10 GFLOP, backward_flops: 20 GFLOP}
  - {name: fc, parameters: 40 MB, output: 1 kB, saved: 1 kB}
)";

std::string own(const std::string& times, const std::string& layers = kLayers, const std::string& more = "") {
  return "profile: net\nsource: a test\nprecision: fp32\n" + more + layers + "times:\n" + times;
}

const std::string kTimes = "  - {gpu: V100, micro_batch: 2, forward: [2 ms, 1 ms], backward: [4 ms, 2 ms]}\n";

std::string error_of(const std::string& profile, const std::string& section = "{profile: p.yaml, global_batch: 8}") {
  const Folder folder;
  folder.write("p.yaml", profile);
  return outcome_of(section, folder.path()).error;
}

const LayerProfile& profile_of(const Workload& workload, std::size_t layer) {
  const Module& module = workload.modules.at(0);
  return module.types[index(module.layers.at(layer).type)].profile.value();
}

const fs::path kSamples = fs::path(TRAINYARD_SOURCE_DIR) / "../shared/data/traces";

bool absent(const std::string& folder) {
  const bool is_absent = !fs::exists(kSamples / folder);
  if (is_absent) WARN("skipped: no ../shared/data/traces/" + folder);
  return is_absent;
}

TEST_CASE("A profile in our own form is a workload") {
  const Folder folder;
  folder.write("p.yaml", own("  - {gpu: V100, micro_batch: 4, forward: [3 ms, 1 ms], backward: [6 ms, 2 ms]}\n" + kTimes));
  const Outcome outcome = outcome_of("{profile: p.yaml, global_batch: 8}", folder.path());
  REQUIRE(outcome.error.empty());
  const Workload& w = outcome.workload;
  CHECK(w.model == "net");
  CHECK(w.precision == DataType::fp32);
  CHECK(w.data.sequence_length == 0);
  CHECK(tokens_per_step(w) == 0);
  CHECK(parameter_count(w.modules.at(0)) == 12e6);
  CHECK_FALSE(knows_flops(w));
  REQUIRE(w.modules[0].layers.size() == 2);
  CHECK(w.modules[0].layers[1].name == "fc");
  const LayerProfile& conv = profile_of(w, 0);
  CHECK(conv.output == 2_MB);
  REQUIRE(conv.curves.size() == 1);
  CHECK(conv.curves[0].points == std::vector<MeasuredPoint>{{2, 2_ms, 4_ms, 6_MB}, {4, 3_ms, 6_ms, 12_MB}});
}

TEST_CASE("A tensor size has its own bytes, a scaled type its stated rule") {
  const Folder folder;
  folder.write("p.yaml",
               own(kTimes + "  - {gpu: V100, tensor: 2, micro_batch: 2, forward: [1 ms, 1 ms], backward: [2 ms, 2 ms], "
                            "saved: [5 MB, 1 kB], parameters: [4 MB, 20 MB]}\n"
                            "scaled: [{gpu: P100, from: V100, times: 2.5, because: peak rates}]\n"));
  const Outcome outcome = outcome_of("{profile: p.yaml, global_batch: 8}", folder.path());
  REQUIRE(outcome.error.empty());
  const LayerProfile& conv = profile_of(outcome.workload, 0);
  CHECK(conv.parameters == std::map<int, double>{{1, 2e6}, {2, 1e6}});
  CHECK(conv.find("V100", 2)->points[0].saved == 5_MB);
  REQUIRE(conv.find("P100", 2) != nullptr);
  CHECK(conv.find("P100", 1)->points[0].forward == 5_ms);
  CHECK(conv.find("P100", 1)->rule == "times of V100 x 2.5 (peak rates)");
  CHECK(conv.find("P100", 4) == nullptr);
}

TEST_CASE("Mistakes in a profile have exact words") {
  CHECK(error_of(own(kTimes + kTimes)) == "p.yaml:9: V100 at tensor 1 with micro-batches of 2 stands twice\n");
  CHECK(error_of(own("  - {gpu: V100, micro_batch: 2, forward: [2 ms], backward: [4 ms, 2 ms]}\n")) == "p.yaml:8: 1 entries for 2 layers\n");
  CHECK(error_of(own("  - {gpu: V100, tensor: 2, micro_batch: 2, forward: [2 ms, 1 ms], backward: [4 ms, 2 ms]}\n")) ==
        "p.yaml:8: tensor 2: `saved` and `parameters` of a device are missing\n");
  CHECK(error_of(own(kTimes, "layers:\n  - {name: a, parameters: 1 MB, output: 1 MB, saved: 1 MB}\n  - {name: a, parameters: 1 MB, output: 1 MB, saved: 1 MB, inputs: [b]}\n")) ==
        "p.yaml:6: layer \"a\" stands twice\np.yaml:6: layer \"a\" reads \"b\", which is no layer before it\n");
  CHECK(error_of(own(kTimes, "layers:\n  - {name: a, parameters: 1 MB, saved: 1 MB}\n  - {name: 1-2, parameters: 1 MB, output: 1 MB, saved: 1 MB}\n")) ==
        "p.yaml:6: \"1-2\" is no name of a layer: a Plan would read it as a range\n"
        "p.yaml:5: layer \"a\" has no `output`, which a profile without `model` must give\n");
  CHECK(error_of(own(kTimes + "scaled: [{gpu: P100, from: A100, times: 2, because: none}]\n")) == "p.yaml:9: no times of \"A100\"\n");
  CHECK(error_of(own(kTimes), "{profile: q.yaml, global_batch: 8}").find("q.yaml\" no such file\n") != std::string::npos);
}

TEST_CASE("Tables of kernels and of collectives are no profile of layers") {
  const std::string model = "{model: gpt2-xl, sequence_length: 1024, precision: fp32, global_batch: 8, profile: {format: ";
  const std::string files = "files: [{file: p.yaml, gpu: A100, tensor: 1, micro_batch: 1}]}}";
  for (const std::string table : {"time_stats.emb.min,n_head,num_tokens\n0.1,8,0\n", "\xEF\xBB\xBF# GPUs,time(ns),time(ns)\r\n8,1,2\r\n", R"({"inter": {"A100": {"2": [[-1, 2, 3], 9e9]}}})"}) {
    CHECK(error_of(table, model + "sailor, " + files).find("p.yaml:") == 0);
    CHECK(error_of(table, model + "metis, forward_share: 0.3, " + files).find("no execution_time.layer_compute_total_ms: this is no profile of Metis\n") != std::string::npos);
    CHECK(error_of(table, model + "galvatron, backward_ratio: 2, " + files).find("p.yaml:") == 0);
  }
}

TEST_CASE("A section that contradicts its profile is refused") {
  CHECK(error_of(own(kTimes), "{profile: p.yaml, global_batch: 8, precision: bf16}") == "w.yaml:1: the profile was measured in fp32, not bf16\n");
  CHECK(error_of(own(kTimes, kLayers, "sequence_length: 512\n"), "{profile: p.yaml, global_batch: 8, sequence_length: 1024}") ==
        "w.yaml:1: the profile was measured at sequences of 512, not 1024\n");
  const std::string file = "files: [{file: p.yaml, gpu: V100}]";
  CHECK(error_of("{}", "{profile: {format: sailor, " + file + "}, precision: fp32, global_batch: 8}") ==
        "w.yaml:1: format sailor gives times only: `model` is missing\n");
  CHECK(error_of("{}", "{model: gpt2-xl, sequence_length: 1024, profile: {format: metis, " + file + "}, precision: fp32, global_batch: 8}")
            .find("w.yaml:1: `forward_share` is missing: Metis measures both passes together\n") != std::string::npos);
  CHECK(error_of("node1 -- Conv -- nothing", "{profile: {format: dapple, files: [{file: p.yaml, gpu: V100, micro_batch: 2}]}, precision: fp32, global_batch: 8}")
            .find("p.yaml:1: neither a node") == 0);
}

TEST_CASE("A graph becomes layers in topological order; what reads samples is dropped") {
  const Folder folder;
  folder.write("graph.txt",
               "node3 -- Add(1, 2) -- forward_compute_time=0.500, backward_compute_time=0.250, activation_size=[64.0; 36.0], parameter_size=0.000\n"
               "node1 -- Input0 -- forward_compute_time=635.902, backward_compute_time=0.000, activation_size=154140672.000, parameter_size=0.000\r\n"
               "node4 -- Conv -- forward_compute_time=1.000, backward_compute_time=2.000, activation_size=400.000, parameter_size=800.000 -- stage_id=1\n"
               "node2 -- Conv -- forward_compute_time=2.000, backward_compute_time=4.000, activation_size=200.000, parameter_size=80.000\n"
               "\tnode1 -- node2\n\tnode2 -- node4\n\tnode4 -- node3\n\tnode2 -- node3\n");
  const Outcome outcome = outcome_of(
      "{profile: {format: pipedream, files: [{file: graph.txt, gpu: V100, micro_batch: 4}]}, precision: fp32, global_batch: 8}", folder.path());
  REQUIRE(outcome.error.empty());
  const Module& module = outcome.workload.modules.at(0);
  REQUIRE(module.layers.size() == 3);
  CHECK(module.layers[0].name == "node2");
  CHECK(module.layers[1].name == "node4");
  CHECK(module.layers[2].name == "node3");
  CHECK(module.layers[2].inputs == std::vector<LayerId>{LayerId(0), LayerId(1)});
  CHECK(parameter_count(module) == 220);
  CHECK(profile_of(outcome.workload, 2).output == Bytes(25));
  CHECK(profile_of(outcome.workload, 0).curves[0].points == std::vector<MeasuredPoint>{{4, Seconds(2.0 * 1e-3), Seconds(4.0 * 1e-3), Bytes(200)}});
}

const std::string kTiny = "model: {layers: 2, hidden: 64, heads: 4, vocabulary: 100, max_positions: 64}, sequence_length: 64, precision: fp32, global_batch: 8";

TEST_CASE("Sailor's times stand on a model's layers; sizes that are all zero were not measured") {
  const Folder folder;
  folder.write("s.json", R"({"4": {"1": {"0": [0.1, 0.2, 0.0], "2": [0.3, 0.6, 0], "1": [0.2, 0.4, 0], "3": [0.01, 0.02, 0], "4": [0.1, 0.1, 0]}},
                             "1": {"1": {"0": [0, 0, 0], "1": [0, 0, 0], "2": [0, 0, 0], "3": [0, 0, 0]}}})");
  const Outcome outcome = outcome_of("{" + kTiny + ", profile: {format: sailor, files: [{file: s.json, gpu: A100}]}}", folder.path());
  REQUIRE(outcome.error.empty());
  const Module& module = outcome.workload.modules.at(0);
  REQUIRE(module.layers.size() == 4);
  CHECK(profile_of(outcome.workload, 0).find("A100", 1)->points[0].backward == Seconds(0.2));
  CHECK(profile_of(outcome.workload, 2).find("A100", 1)->points[0].forward == Seconds(0.3));
  CHECK(profile_of(outcome.workload, 3).find("A100", 1)->points.size() == 1);
  CHECK(profile_of(outcome.workload, 3).find("A100", 1)->points[0].forward.value == Approx(0.11));
  CHECK(knows_flops(outcome.workload));
  CHECK(module.types[index(module.layers[1].type)].operators == module.types[index(module.layers[2].type)].operators);
  folder.write("s.json", R"({"4": {"1": {"0": [0.1, 0.2, 0], "1": [0.2, 0.4, 0]}}})");
  CHECK(outcome_of("{" + kTiny + ", profile: {format: sailor, files: [{file: s.json, gpu: A100}]}}", folder.path()).error ==
        "w.yaml:1: the profile has 2 layers, the model 4 with embedding and head\n");
}

TEST_CASE("Metis' times are of both passes, and its sizes stand in the file's name") {
  const Folder folder;
  const std::string text = "{\t\"model\": {},\n  \"execution_time\": {\t\"total_time_ms\": 9, \"layer_compute_total_ms\": [1.0, 4.0, 4.0, 2.0]}}";
  folder.write("DeviceType.A100_tp2_bs8.json", text);
  const Outcome outcome = outcome_of(
      "{" + kTiny + ", profile: {format: metis, forward_share: 0.25, files: [{file: DeviceType.A100_tp2_bs8.json, gpu: A100}]}}", folder.path());
  REQUIRE(outcome.error.empty());
  const MeasuredCurve* curve = profile_of(outcome.workload, 1).find("A100", 2);
  REQUIRE(curve != nullptr);
  CHECK(curve->points[0].samples == 8);
  CHECK(curve->points[0].forward.value == Approx(1e-3));
  CHECK(curve->points[0].backward.value == Approx(3e-3));
  CHECK(curve->rule == "both passes were measured together, 0.25 of the time is taken as forward");
}

TEST_CASE("Galvatron's forward times of a sample become a micro-batch's") {
  const Folder folder;
  folder.write("g.json", R"({"layernum[2]_bsz2_seq64": 15.0, "layertype_0_bsz2_seq64": 4.0, "layertype_other_bsz2_seq64": 6.0, "layertype_0_bsz2_seq32": 1.0})");
  const auto section = [&](int length) {
    return "{model: {layers: 2, hidden: 64, heads: 4, vocabulary: 100, max_positions: 128}, sequence_length: " + std::to_string(length) +
           ", precision: bf16, global_batch: 8, profile: {format: galvatron, backward_ratio: 2, files: [{file: g.json, gpu: A100}]}}";
  };
  const Outcome outcome = outcome_of(section(64), folder.path());
  REQUIRE(outcome.error.empty());
  CHECK(profile_of(outcome.workload, 1).find("A100", 1)->points[0].forward.value == Approx(8e-3));
  CHECK(profile_of(outcome.workload, 2).find("A100", 1)->points[0].backward.value == Approx(16e-3));
  CHECK(profile_of(outcome.workload, 0).find("A100", 1)->points[0].forward.value == Approx(6e-3));
  CHECK(profile_of(outcome.workload, 3).find("A100", 1)->points[0].forward.value == Approx(6e-3));
  CHECK(outcome_of(section(128), folder.path()).error == "w.yaml:1: measured at sequences of 32, 64, not 128\n");
}

TEST_CASE("Real profiles of Sailor load on their models") {
  if (absent("sailor/profiles")) return;
  const auto load = [](const std::string& model, const std::string& file) {
    return outcome_of("{model: " + model + ", sequence_length: 2048, precision: fp32, global_batch: 8, profile: {format: sailor, files: [{file: sailor/profiles/" +
                          file + ", gpu: g}]}}", kSamples.string());
  };
  const std::string opt = "{layers: 24, hidden: 1024, heads: 16, vocabulary: 50272, max_positions: 2048}";
  const std::string neo = "{layers: 32, hidden: 2560, heads: 20, vocabulary: 50257, max_positions: 2048}";
  for (const char* file : {"OPT-350_GH-96.json", "OPT-350_RTX-3090.json", "OPT-350_V100-16.json"}) CHECK(load(opt, file).error.empty());
  CHECK(load(neo, "GPT-Neo-2.7_A100-40.json").error.empty());
  for (const char* file : {"LLAMA-3-8_A100-40.json", "LLAMA-3-8_V100-16.json"}) CHECK(load("llama-3-8b", file).error.empty());
  const Outcome gh = load(opt, "OPT-350_GH-96.json");
  CHECK(profile_of(gh.workload, 1).find("g", 4)->points.front().samples == 1);
  // The file named GPT-Neo on GH-96 holds OPT's 26 layers.
  CHECK(load(neo, "GPT-Neo-2.7_GH-96.json").error.find("the profile has 26 layers, the model 34 with embedding and head") != std::string::npos);
}

TEST_CASE("Real profiles of Metis and Galvatron load on their models") {
  if (absent("sailor/metis_profiles") || absent("galvatron")) return;
  const Outcome neo = outcome_of(
      "{model: {layers: 32, hidden: 2560, heads: 20, vocabulary: 50257, max_positions: 2048}, sequence_length: 2048, precision: fp32, global_batch: 8, "
      "profile: {format: metis, forward_share: 0.333, files: [{file: sailor/metis_profiles/GPT-Neo-2.7_GH-96_mbs1_tmp4.json, gpu: g}, "
      "{file: sailor/metis_profiles/GPT-Neo-2.7_GH-96_mbs4_tmp4.json, gpu: g}]}}", kSamples.string());
  CHECK(neo.error.empty());
  CHECK(profile_of(neo.workload, 1).find("g", 4)->points.size() == 2);
  const Outcome llama = outcome_of(
      "{model: llama-2-7b, sequence_length: 2048, precision: bf16, global_batch: 8, profile: {format: galvatron, backward_ratio: 2, "
      "files: [{file: galvatron/computation_profiling_bf16_llama2-7b_all.json, gpu: g}]}}", kSamples.string());
  CHECK(llama.error.empty());
  const MeasuredCurve* curve = profile_of(llama.workload, 1).find("g", 1);
  REQUIRE(curve != nullptr);
  CHECK(curve->points.size() == 12);
  // Their own layertype_0 is (layernum 4 - layernum 2) / 2 layers / samples.
  CHECK(curve->points[0].forward.value == Approx((23.87112617492676e-3 - 15.0786208152771e-3) / 2));
}

}  // namespace
}  // namespace trainyard
