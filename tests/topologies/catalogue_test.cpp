#include "topologies/catalogue.hpp"

#include <set>

#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("every GPU of the catalogue has a curve for each of its data types and a source") {
  for (const GpuEntry& gpu : catalogue().gpus) {
    INFO(gpu.type.name);
    REQUIRE(gpu.type.gemm.size() == gpu.type.peak.size());
    REQUIRE(gpu.type.peak.count(DataType::fp16) + gpu.type.peak.count(DataType::bf16) >= 1);
    REQUIRE(gpu.type.reserved < gpu.type.memory);
    REQUIRE_FALSE(gpu.source.empty());
  }
}

TEST_CASE("the GPUs and instances that scenarios name are there") {
  for (const char* name : {"T4-16GB",        "V100-SXM2-16GB", "V100-SXM2-32GB", "A100-SXM4-40GB", "A100-SXM4-80GB",
                           "A100-PCIe-80GB", "H100-SXM5-80GB", "H20-SXM-96GB",   "H200-SXM-141GB", "B200-SXM-180GB",
                           "L4-24GB",        "A10G-24GB",      "A100-40",        "V100-16",        "P100",
                           "RTX-2080",       "TITAN-RTX",      "RTX-3090",       "RTX-4090",       "RTX-5090",
                           "A6000",          "L40S",           "A100-PCIe-40",   "A800",           "H20",
                           "H100-PCIe",      "H100-NVL",       "H800",           "GH200",          "B300",
                           "GB200",          "GB300",          "MI250X",         "MI300X",         "MI325X",
                           "MI355X",         "Gaudi2",         "Gaudi3",         "Ascend-910B",    "TPU-v4",
                           "TPU-v5e",        "TPU-v5p",        "TPU-v6e",        "Trainium1",      "Trainium2"})
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
  REQUIRE(type.attention.at(AttentionKernel::flash_2).backward == FlopsPerSecond(189e12));
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

TEST_CASE("products of experts reach no larger share of the peak than single products") {
  const DeviceType& b200 = catalogue().gpu("B200-SXM-180GB")->type;
  CHECK(b200.grouped_gemm.at(DataType::fp8).efficiency == b200.gemm.at(DataType::fp8).efficiency);
  CHECK(b200.grouped_gemm.at(DataType::fp8).sustained == b200.gemm.at(DataType::fp8).sustained);
  // A100 in training: 0.737 of the peak where single products sustain 0.871 x 0.91
  const DeviceType& a100 = catalogue().gpu("A100-SXM4-80GB")->type;
  CHECK(a100.grouped_gemm.at(DataType::bf16).efficiency * 0.91 == Approx(0.737));
  CHECK(a100.grouped_gemm.at(DataType::bf16).k_half == 256);
}

TEST_CASE("borrowed attention rates scale with the peak") {
  const DeviceType& h20 = catalogue().gpu("H20")->type;
  const AttentionCurve &lent = catalogue().gpu("H100-SXM5-80GB")->type.attention.at(AttentionKernel::cudnn), &own = h20.attention.at(AttentionKernel::cudnn);
  REQUIRE(own.forward.value == Approx(lent.forward.value * 148 / 989));
  REQUIRE(own.forward_half_length == lent.forward_half_length);
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
  REQUIRE(fabric_catalogue().size() >= 8);
  REQUIRE(topology_catalogue_text().find("aws.p4d.24xlarge") != std::string::npos);
}

TEST_CASE("a wrong catalogue is reported with its line") {
  CatalogueTexts texts = embedded_catalogue();
  std::string& text = texts.transports.text;
  const auto lines = std::count(text.begin(), text.end(), '\n');
  text += "  - name: nvlink3\n    efficiency: 2\n    setup: 1 us\n    step: 1 us\n    ramp: 1 us\n    source: none\n";
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
  replace(texts.instances[0].text, "gpu: T4-16GB", "gpu: T5-16GB");
  replace(texts.gpus[0].text, "fit: H200", "fit: H201");
  Diagnostics diagnostics;
  static_cast<void>(read_catalogue(texts, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  REQUIRE(diagnostics.text().find("no fit \"H201\"") != std::string::npos);
  REQUIRE(diagnostics.text().find("no GPU \"T5-16GB\"; did you mean \"T4-16GB\"?") != std::string::npos);
}

TEST_CASE("a name that another file has already is reported where it stands again") {
  CatalogueTexts texts = embedded_catalogue();
  std::string& text = texts.gpus[1].text;
  text.replace(text.find("[RTX-A6000"), 1, "[H100, ");
  std::string& instances = texts.instances[1].text;
  instances.replace(instances.find("gcp.a2-highgpu-1g"), 17, "aws.p4d.24xlarge");
  Diagnostics diagnostics;
  static_cast<void>(read_catalogue(texts, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  REQUIRE(diagnostics.text().find("topologies/gpus_workstation.yaml:") == 0);
  REQUIRE(diagnostics.text().find("the name \"H100\" is taken already") != std::string::npos);
  REQUIRE(diagnostics.text().find("the name \"aws.p4d.24xlarge\" is taken already") != std::string::npos);
}

TEST_CASE("a price is positive, dated and sourced; a market without one has none") {
  for (const InstanceEntry& instance : catalogue().instances)
    for (const auto* price : {&instance.on_demand, &instance.spot, &instance.reserved}) {
      if (!*price) continue;
      INFO(instance.name);
      CHECK((*price)->price.value > 0);
      CHECK_FALSE((*price)->date.empty());
      CHECK_FALSE((*price)->source.empty());
    }
  CHECK_FALSE(catalogue().instance("aws.trn2.48xlarge")->on_demand);
  CHECK(catalogue().instance("aws.p5e.48xlarge")->spot);
  CHECK(catalogue().instance("aws.p3.2xlarge")->notice == Seconds(120));
  CHECK(catalogue().instance("azure.Standard_ND96isr_MI300X_v5")->notice == Seconds(30));
}

TEST_CASE("accelerators of other makers borrow their curves and say so") {
  for (const GpuEntry& gpu : catalogue().gpus)
    if (gpu.type.vendor != "NVIDIA") {
      INFO(gpu.type.name);
      CHECK(gpu.type.extrapolated);
      CHECK(gpu.source.find("no kernels of it were measured") != std::string::npos);
    }
  const DeviceType& v5p = catalogue().gpu("TPU-v5p")->type;
  const double lent = catalogue().gpu("A100-SXM4-80GB")->type.attention.at(AttentionKernel::flash_2).forward.value;
  CHECK(v5p.attention.at(AttentionKernel::flash_2).forward.value == Approx(lent * 459 / 312));
}

TEST_CASE("the tables of measured Blackwell kernels") {
  CHECK(catalogue().gpu("B300")->type.gemm.at(DataType::bf16).efficiency == 0.723);
  CHECK(catalogue().gpu("GB200")->type.gemm.at(DataType::bf16).efficiency == 0.652);
  CHECK(catalogue().gpu("GB300")->type.gemm.at(DataType::bf16).efficiency == 0.768);
  CHECK(catalogue().gpu("GB300")->type.gemm.at(DataType::fp8).efficiency == 0.762);
  CHECK(catalogue().gpu("H100-500W")->type.gemm.at(DataType::bf16).sustained == 0.72);
  CHECK_FALSE(catalogue().gpu("GB300")->type.extrapolated);
}

TEST_CASE("protocols carry a library's names alone, and its expectations are whole") {
  for (const char* name : {"nvlink3", "nvlink4", "nvlink5", "pcie4", "pcie4_staged", "pcie5", "pcie5_bridge", "infiniband", "efa", "efa2"}) {
    INFO(name);
    const Transport& transport = catalogue().transport(name)->transport;
    REQUIRE(transport.ring);
    for (const auto& way : {transport.ring, transport.tree, transport.in_network, transport.exchange}) {
      if (!way) continue;
      for (const Protocol& protocol : way->protocols) {
        CHECK((protocol.name.empty() || protocol.name == "ll" || protocol.name == "ll128" || protocol.name == "simple"));
        CHECK(protocol.expected.has_value() == way->protocols.front().expected.has_value());
        CHECK(protocol.times.rate <= 1 / catalogue().transport(name)->efficiency + 1e-3);  // none beats the nominal bandwidth
      }
    }
  }
}
