#include "topologies/catalogue.hpp"

#include <set>

#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("every GPU of the catalogue has a curve for each of its data types and a source") {
  for (const GpuEntry& gpu : catalogue().gpus) {
    INFO(gpu.type.name);
    REQUIRE(gpu.type.gemm.size() == gpu.type.peak.size());
    REQUIRE(gpu.type.peak.count(DataType::fp16) == 1);
    REQUIRE(gpu.type.reserved < gpu.type.memory);
    REQUIRE_FALSE(gpu.source.empty());
  }
}

TEST_CASE("the GPUs and instances that scenarios name are there") {
  for (const char* name : {"T4-16GB", "V100-SXM2-16GB", "V100-SXM2-32GB", "A100-SXM4-40GB", "A100-SXM4-80GB",
                           "A100-PCIe-80GB", "H100-SXM5-80GB", "H20-SXM-96GB", "H200-SXM-141GB", "B200-SXM-180GB",
                           "L4-24GB", "A10G-24GB", "A100-40", "V100-16"})
    REQUIRE(catalogue().gpu(name) != nullptr);
  for (const char* name :
       {"aws.p3.2xlarge", "aws.p3.16xlarge", "aws.p3dn.24xlarge", "aws.p4d.24xlarge", "aws.p4de.24xlarge",
        "aws.p5.48xlarge", "aws.g4dn.12xlarge", "aws.g5.48xlarge", "gcp.a2-highgpu-8g", "gcp.a3-highgpu-8g",
        "azure.Standard_ND96asr_v4", "azure.Standard_ND96isr_H100_v5"})
    REQUIRE(catalogue().instance(name) != nullptr);
}

TEST_CASE("the A100's numbers") {
  const DeviceType& type = catalogue().gpu("A100-80")->type;
  REQUIRE(type.name == "A100-SXM4-80GB");
  REQUIRE(type.peak.at(DataType::bf16) == FlopsPerSecond(312e12));
  REQUIRE(type.memory.value == Approx(79.2 * 1073741824.0));
  REQUIRE(type.gemm.at(DataType::bf16).efficiency == 0.871);
  REQUIRE(type.gemm.at(DataType::bf16).sustained == 0.91);
  REQUIRE(type.attention.at(AttentionKernel::flash_2).backward == FlopsPerSecond(180e12));
  REQUIRE_FALSE(type.extrapolated);
}

TEST_CASE("old GPUs lack bf16 and flash kernels and say that their fit is borrowed") {
  for (const char* name : {"V100-16", "T4"}) {
    const DeviceType& type = catalogue().gpu(name)->type;
    REQUIRE(type.peak.count(DataType::bf16) == 0);
    REQUIRE(type.attention.empty());
    REQUIRE(type.extrapolated);
  }
}

TEST_CASE("borrowed attention rates scale with the peak") {
  const DeviceType& h20 = catalogue().gpu("H20")->type;
  REQUIRE(h20.attention.at(AttentionKernel::cudnn).forward.value == Approx(550e12 * 148 / 989));
  REQUIRE(h20.attention.at(AttentionKernel::cudnn).forward_half_length == 900);
}

TEST_CASE("a fast network card reaches another share") {
  const TransportEntry& infiniband = *catalogue().transport("infiniband");
  REQUIRE(infiniband.efficiency_at(BytesPerSecond(25e9)) == 0.63);
  REQUIRE(infiniband.efficiency_at(BytesPerSecond(50e9)) == 0.80);
}

TEST_CASE("names and aliases are unique, lists have an entry each") {
  const auto names = catalogue().gpu_names();
  REQUIRE(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  REQUIRE(gpu_catalogue().size() == catalogue().gpus.size());
  REQUIRE(instance_catalogue().size() == catalogue().instances.size());
  REQUIRE(fabric_catalogue().size() == 2);
  REQUIRE(topology_catalogue_text().find("aws.p4d.24xlarge") != std::string::npos);
}

TEST_CASE("a wrong catalogue is reported with its line") {
  CatalogueTexts texts = embedded_catalogue();
  const auto lines = std::count(texts.transports.begin(), texts.transports.end(), '\n');
  texts.transports +=
      "  - name: nvlink3\n    efficiency: 2\n    setup: 1 us\n    step: 1 us\n    ramp: 1 us\n    source: none\n";
  Diagnostics diagnostics;
  static_cast<void>(read_catalogue(texts, diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  REQUIRE(diagnostics.all()[0].place.line == lines + 2);
  REQUIRE(diagnostics.text().find("topologies/transports.yaml:") == 0);
}

TEST_CASE("a catalogue that refers to nothing is reported") {
  CatalogueTexts texts = embedded_catalogue();
  const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(texts.instances, "gpu: T4-16GB", "gpu: T5-16GB");
  replace(texts.gpus, "fit: H200", "fit: H201");
  Diagnostics diagnostics;
  static_cast<void>(read_catalogue(texts, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  REQUIRE(diagnostics.text().find("no fit \"H201\"") != std::string::npos);
  REQUIRE(diagnostics.text().find("no GPU \"T5-16GB\"; did you mean \"T4-16GB\"?") != std::string::npos);
}
