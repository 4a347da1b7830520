// Importers: small files by hand, real samples where they are, damage of every kind.
#include <filesystem>
#include <fstream>
#include <random>

#include "sim/routing/router.hpp"
#include "sim/units/error.hpp"
#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::string written(const std::string& name, const std::string& text) {
  std::ofstream(name, std::ios::binary) << text;
  return name;
}

/// The cluster that the imported YAML builds.
Cluster built_from(const std::string& yaml) {
  Diagnostics diagnostics;
  const ConfigValue root = read_yaml_text(yaml, "imported.yaml", diagnostics);
  REQUIRE(diagnostics.empty());
  const ConfigValue* section = root.find("cluster");
  REQUIRE(section != nullptr);
  check(*section, cluster_schema(), diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.empty());
  Cluster cluster = build_cluster(*section, ".", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.empty());
  return cluster;
}

Cluster imported(const std::string& kind, const std::string& file) { return built_from(import_topology(kind, file)); }

/// What is wrong with this text.
std::string refusal(const std::string& kind, const std::string& text) {
  const std::string file = written("damaged." + kind, text);
  try {
    static_cast<void>(import_topology(kind, file));
  } catch (const UserError& error) {
    const std::string message = error.what();
    REQUIRE(message.find('\n') == std::string::npos);
    REQUIRE(message.find(file + ": ") == 0);
    return message.substr(file.size() + 2);
  }
  return "";
}

const char* const kSystem =
    "<system version=\"1\"><cpu numaid=\"0\">\n"
    "<pci busid=\"01\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n"
    "  <pci busid=\"02\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">stray<gpu dev=\"0\" "
    "sm=\"70\">"
    "<nvlink target=\"03\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>\n"
    "  <pci busid=\"03\" class=\"0x030200\" link_speed=\"\" link_width=\"0\"><gpu dev=\"1\" sm=\"70\"><nvlink "
    "target=\"02\" "
    "count=\"2\" tclass=\"0x030200\"/></gpu></pci>\n"
    "  <pci busid=\"04\" class=\"0x020700\" link_speed=\"8 GT/s\" link_width=\"16\"><nic><net dev=\"0\" "
    "speed=\"100000\"/></nic></pci>\n"
    "</pci></cpu></system>";

const char* const kMatrix =
    "\t\033[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
    "GPU0\t X \tNV12\tPXB\t0-63\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tSYS\t64-127\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \t\t\t\t\n";

const char* const kNetwork =
    "topology: [Switch, Ring]\nnpus_count: [2, 3]\nbandwidth: [400, 50]\nlatency: [900, 1000]\n";

const char* const kSimai =
    "7 2 2 1 8 A100\n"
    "4 5 6 \n"
    "0 4 2400Gbps 0.000025ms 0\n1 4 2400Gbps 0.000025ms 0\n2 5 2400Gbps 0.000025ms 0\n3 5 2400Gbps 0.000025ms 0\n"
    "0 6 100Gbps 0.0005ms 0\n1 6 100Gbps 0.0005ms 0\n2 6 100Gbps 0.0005ms 0\n3 6 100Gbps 0.0005ms 0\n";

const char* const kTorus =
    "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><cluster id=\"c\" topology=\"TORUS\" "
    "topo_parameters=\"3,2,2\" prefix=\"n\" radical=\"0-11\" suffix=\"\" speed=\"1Gf\" bw=\"125MBps\" "
    "lat=\"50us\"/></zone></platform>";

std::string sample(const std::string& kind) {
  switch (kind.size()) {
    case 13:
      return kSystem;
    case 15:
      return kMatrix;
    case 9:
      return kNetwork;
    case 5:
      return kSimai;
    default:
      return kTorus;
  }
}

}  // namespace

TEST_CASE("NCCL topology: PCI tree, direct NVLinks, NIC") {
  const Cluster c = imported("nccl-topology", written("system.xml", kSystem));
  REQUIRE(c.gpus().size() == 2);
  REQUIRE(c.type_of(c.gpus()[0]).name == "V100-SXM2-16GB");
  REQUIRE(links_with(c, "nvlink2") == 4);
  REQUIRE(link_named(c, "imported.0.nic0>imported.0.switch0").nominal.value == Approx(8e9 * 16 * 128 / 130 / 8));
  const Router router(c);
  REQUIRE(router.route(c.gpus()[0], c.gpus()[1]).links.size() == 1);
  REQUIRE(router.route(c.gpus()[0], device_named(c, "imported.0.nic0")).links.size() == 2);
  REQUIRE(router.rings(c.gpus()).rings == 2);
  const Cluster inside = build(
      "nodes: [{name: a, gpu: V100-16, gpus_per_node: 2, nics: 1, nic: 100 Gbps, count: 2, inside: "
      "./system.xml}]");
  REQUIRE(Router(inside).rings(inside.gpus()).nodes == 2);
}

TEST_CASE("nvidia-smi: terminal codes, NVLinks, switches and sockets") {
  const Cluster c = imported("nvidia-smi-topo", written("matrix.smi", kMatrix));
  REQUIRE(c.type_of(c.gpus()[0]).name == "A100-SXM4-80GB");
  REQUIRE(link_named(c, "imported.0.0>imported.0.nvswitch").nominal.value == Approx(300e9));
  const Router router(c);
  REQUIRE(router.route(c.gpus()[0], device_named(c, "imported.0.nic0")).links.size() == 2);
  REQUIRE(router.route(c.gpus()[1], device_named(c, "imported.0.nic0")).links.size() == 6);
}

TEST_CASE("ASTRA-sim: the innermost dimension inside, the others between NICs") {
  const Cluster c = imported("astra-sim", written("network.yml", kNetwork));
  REQUIRE(c.nodes.size() == 3);
  REQUIRE(c.gpus().size() == 6);
  const Router router(c);
  const Route& inside = router.route(device_named(c, "imported.0.0"), device_named(c, "imported.0.1"));
  REQUIRE(inside.bottleneck.value == Approx(400e9));
  REQUIRE(inside.latency.value == Approx(1.8e-6));
  const Route& across = router.route(device_named(c, "imported.0.1"), device_named(c, "imported.2.1"));
  REQUIRE(across.bottleneck.value == Approx(50e9));
  REQUIRE(across.latency.value == Approx(1e-6));
}

TEST_CASE("SimAI: servers, NVSwitches, and switches") {
  const Cluster c = imported("simai", written("simai.topo", kSimai));
  REQUIRE(c.nodes.size() == 2);
  REQUIRE(c.type_of(c.gpus()[0]).name.starts_with("A100"));
  const Router router(c);
  REQUIRE(router.route(c.gpus()[0], c.gpus()[1]).bottleneck.value == Approx(300e9));
  REQUIRE(router.route(c.gpus()[0], c.gpus()[3]).bottleneck.value == Approx(12.5e9));
}

TEST_CASE("SimGrid: a cluster, or hosts and routes") {
  REQUIRE(imported("simgrid", written("torus.xml", kTorus)).fabric == "torus 3 x 2 x 2 of 12 nodes");
  const Cluster hosts = imported(
      "simgrid",
      written("hosts.xml",
              "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"Cpu A\" speed=\"1f\"/><host "
              "id=\"Cpu B\" speed=\"1f\"/><link id=\"1\" bandwidth=\"10MBps\" latency=\"200ms\"/><link id=\"2\" "
              "bandwidth=\"100Mbps\" latency=\"1us\"/><route src=\"Cpu A\" dst=\"Cpu B\"><link_ctn "
              "id=\"1\"/><link_ctn id=\"2\"/></route></zone></platform>"));
  const Router router(hosts);
  const Route& route = router.route(hosts.gpus()[0], hosts.gpus()[1]);
  REQUIRE(route.bottleneck.value == Approx(10e6));
  REQUIRE(route.latency.value == Approx(0.200001));
}

TEST_CASE("files of another kind, with exact messages") {
  REQUIRE(refusal("nccl-topology", "<graphs version=\"1\"/>") ==
          "holds NCCL's graphs (<graphs>), not a topology (<system>)");
  REQUIRE(refusal("nccl-topology", "<a/>") == "its root is <a>; an NCCL topology has <system>");
  REQUIRE(refusal("nccl-topology", "<system><cpu><pci/></cpu></system>") ==
          "names no GPU: 0 NICs and 1 PCI devices of unknown class");
  REQUIRE(refusal("nvidia-smi-topo", "nothing\n") == "no line names GPU0: not the output of nvidia-smi topo -m");
  REQUIRE(refusal("nvidia-smi-topo", "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV2\tX\n") ==
          "GPU0 to GPU1 is NV4 one way and NV2 the other");
  REQUIRE(refusal("nvidia-smi-topo", "\tGPU0\tGPU1\nGPU0\tX\n") == "row GPU0 has 1 of 2 cells");
  REQUIRE(refusal("astra-sim", "topology: [Ring]\nnpus_count: [8]\nbandwidth: [tbd]\nlatency: [1]\n") ==
          "line 3: bandwidth[0]: expected a number, got text \"tbd\"");
  REQUIRE(refusal("astra-sim", "topology: [Ring, Ring]\nnpus_count: [8]\nbandwidth: [1, 1]\nlatency: [1, 1]\n") ==
          "npus_count has 1 entries for 2 dimensions");
  REQUIRE(refusal("astra-sim", "{\"logical-dims\": [\"8\"]}") ==
          "holds logical dimensions for ns-3, without rates: import its topology file as simai");
  REQUIRE(refusal("simai", "") == "the file is empty");
  REQUIRE(refusal("simai", "7 2 2 1 8 A100\n4 5 \n") == "line 2 lists 2 switches, line 1 says 3");
  REQUIRE(refusal("simai", "3 2 1 0 1 A100\n2\n0 2 24furlongs 1ms 0\n") ==
          "line 3: no link (source, destination, rate, latency, error rate)");
  REQUIRE(refusal("simgrid", "<platform><zone/></platform>") ==
          "0 clusters and 1 zones; one <cluster>, or one zone of hosts and routes, is read");
  REQUIRE(refusal("simgrid", "<platform><cluster id=\"c\" radical=\"0-1\" bw=\"-1Bps\" lat=\"0\"/></platform>") ==
          "cluster \"c\": bw or lat is no rate or time");
  REQUIRE_THROWS_WITH(import_topology("simai", "nowhere"), "nowhere: no such file");
}

TEST_CASE("NCCL topology of a virtual machine: no GPU elements, slots of width 0, sockets -1") {
  const Cluster c =
      imported("nccl-topology",
               written("vm.xml",
                       "<!-- as given --><system version=\"1\"><cpu numaid=\"-1\"><pci busid=\"a\" class=\"0x060400\" "
                       "link_speed=\"\" link_width=\"0\">1<pci busid=\"b\" class=\"0x030200\" link_speed=\"16 GT/s "
                       "PCIe/s\" link_width=\"16\"/><pci busid=\"c\" class=\"0x020700\" link_speed=\"\" "
                       "link_width=\"0\"/></pci></cpu></system>"));
  REQUIRE(c.gpus().size() == 1);
  REQUIRE(link_named(c, "imported.0.0>imported.0.switch0").nominal.value == Approx(16e9 * 16 * 128 / 130 / 8));
  REQUIRE(link_named(c, "imported.0.nic0>imported.0.switch0").nominal.value == Approx(31.5e9));  // its slot is assumed
}

TEST_CASE("nvidia-smi with a tab lost before its header, blanks for tabs, bare X") {
  const Cluster c = imported("nvidia-smi-topo", written("pasted.smi", "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n"));
  REQUIRE(c.gpus().size() == 2);
  REQUIRE(Router(c).route(c.gpus()[0], c.gpus()[1]).links.size() == 1);
}

TEST_CASE("ASTRA-sim: a topology of no name, lists of other lengths") {
  REQUIRE(refusal("astra-sim", "topology: [Mesh]\nnpus_count: [8]\nbandwidth: [1]\nlatency: [1]\n") ==
          "line 1: topology[0]: no topology \"Mesh\"; known: Ring, Switch, FullyConnected");
  REQUIRE(refusal("astra-sim", "topology: [Ring]\nnpus_count: [8]\nbandwidth: [1, 2]\nlatency: [1]\n") ==
          "bandwidth has 2 entries for 1 dimensions");
}

TEST_CASE("damaged files end in one line, or in a cluster") {
  std::mt19937 random(7);
  for (const std::string& kind : topology_import_kinds())
    for (int round = 0; round < 200; ++round) {
      std::string text = sample(kind);
      const std::size_t at = random() % text.size();
      if (round % 3 == 0) text.resize(at);
      if (round % 3 == 1) text[at] = static_cast<char>(random() % 256);
      if (round % 3 == 2) text.erase(at, random() % 20);
      INFO(kind << ", round " << round);
      if (refusal(kind, text).empty()) {
        Diagnostics diagnostics;
        const ConfigValue root = read_yaml_text(import_topology(kind, "damaged." + kind), "imported", diagnostics);
        if (root.find("cluster") != nullptr && check(*root.find("cluster"), cluster_schema(), diagnostics))
          static_cast<void>(build_cluster(*root.find("cluster"), ".", diagnostics));
      }
    }
}

TEST_CASE("every sample that is there is read, or refused in one line") {
  const std::filesystem::path samples = std::filesystem::path(__FILE__).parent_path() / "../../../shared/data/traces";
  if (!std::filesystem::exists(samples)) {
    WARN("skipped: ../shared is not there");
    return;
  }
  const std::vector<std::pair<std::string, std::string>> folders{{"nccl-topology", "nccl-topo"},
                                                                 {"nvidia-smi-topo", "nvidia-smi-topo"},
                                                                 {"astra-sim", "astra-sim/network"},
                                                                 {"simai", "simai/topo_generated"},
                                                                 {"simgrid", "simgrid"}};
  for (const auto& [kind, folder] : folders) {
    int read = 0;
    for (const auto& entry : std::filesystem::directory_iterator(samples / folder)) {
      if (!entry.is_regular_file()) continue;
      INFO(kind << " " << entry.path());
      std::string yaml;
      try {
        yaml = import_topology(kind, entry.path().string());
      } catch (const UserError& error) {
        REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
        continue;
      }
      REQUIRE_FALSE(built_from(yaml).gpus().empty());
      ++read;
    }
    REQUIRE(read >= 3);
  }
}
