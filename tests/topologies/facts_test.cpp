// The catalogues beside the tables their facts were taken from, field by field; every difference stands here with its reason.
#include <filesystem>
#include <map>

#include "tests/topologies/build.hpp"
#include "topologies/catalogue.hpp"
#include "validation/csv.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// The rows of a table of ../shared; none, with a message, where it is absent.
std::vector<CsvRow> rows_of(const std::string& file) {
  const auto path = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/data/validation" / file;
  if (std::filesystem::exists(path)) return read_csv(path.string()).rows;
  WARN("skipped: no ../shared/data/validation/" << file);
  return {};
}

const std::map<std::string, std::string> kGpuOf{
    {"P100 SXM2 16GB", "P100-SXM2-16GB"},
    {"P100 PCIe 16GB", "P100-PCIe-16GB"},
    {"T4", "T4-16GB"},
    {"V100 SXM2 16GB", "V100-SXM2-16GB"},
    {"V100 SXM2/SXM3 32GB", "V100-SXM2-32GB"},
    {"V100 PCIe", "V100-PCIe-32GB"},
    {"RTX 2080", "RTX-2080-8GB"},
    {"Titan RTX", "TITAN-RTX-24GB"},
    {"RTX 3090", "RTX-3090-24GB"},
    {"RTX 3090 Ti", "RTX-3090-Ti-24GB"},
    {"RTX 4090", "RTX-4090-24GB"},
    {"RTX 5090", "RTX-5090-32GB"},
    {"RTX A6000", "RTX-A6000-48GB"},
    {"A10G", "A10G-24GB"},
    {"A10", "A10-24GB"},
    {"A30", "A30-24GB"},
    {"A40", "A40-48GB"},
    {"L4", "L4-24GB"},
    {"L40S", "L40S-48GB"},
    {"RTX PRO 6000 Blackwell Server", "RTX-PRO-6000-96GB"},
    {"A100 SXM4 40GB", "A100-SXM4-40GB"},
    {"A100 SXM4 80GB", "A100-SXM4-80GB"},
    {"A100 PCIe 40GB", "A100-PCIe-40GB"},
    {"A100 PCIe 80GB", "A100-PCIe-80GB"},
    {"A800 SXM 80GB", "A800-SXM4-80GB"},
    {"H20", "H20-SXM-96GB"},
    {"H100 PCIe", "H100-PCIe-80GB"},
    {"H100 SXM", "H100-SXM5-80GB"},
    {"H100 SXM 96GB (Meta, 500-650 W)", "H100-SXM5-96GB"},
    {"H100 NVL (per GPU)", "H100-NVL-94GB"},
    {"H800 SXM", "H800-SXM5-80GB"},
    {"H200 SXM", "H200-SXM-141GB"},
    {"GH200 96GB", "GH200-96GB"},
    {"GH200 141GB", "GH200-141GB"},
    {"B200 SXM", "B200-SXM-180GB"},
    {"B300 SXM", "B300-SXM-288GB"},
    {"GB200 (per GPU)", "GB200-186GB"},
    {"GB300 (per GPU)", "GB300-288GB"},
    {"MI250X (2 GCDs)", "MI250X-GCD-64GB"},
    {"MI250 (2 GCDs)", "MI250-GCD-64GB"},
    {"MI300X", "MI300X-192GB"},
    {"MI325X", "MI325X-256GB"},
    {"MI350X", "MI350X-288GB"},
    {"MI355X", "MI355X-288GB"},
    {"TPU v4", "TPU-v4-32GB"},
    {"TPU v5e", "TPU-v5e-16GB"},
    {"TPU v5p", "TPU-v5p-95GB"},
    {"TPU v6e (Trillium)", "TPU-v6e-32GB"},
    {"TPU v7x (Ironwood)", "TPU-v7x-192GB"},
    {"Trainium1", "Trainium1-32GB"},
    {"Trainium2", "Trainium2-96GB"},
    {"Trainium3", "Trainium3-144GB"},
    {"Gaudi2", "Gaudi2-96GB"},
    {"Gaudi3", "Gaudi3-128GB"},
    {"Ascend 910A", "Ascend-910A-32GB"},
    {"Ascend 910B (910B1..B4)", "Ascend-910B-64GB"},
    {"Ascend 910C (2 dies)", "Ascend-910C-128GB"}};

/// Not in the catalogue: Kepler has no 16-bit arithmetic, and no figure of the TPU v3 was read anywhere.
const std::vector<std::string> kLeftOut{"K80 (per card, 2 GPUs)", "TPU v3 (chip)"};

/// A board of two dies, each of which is a device: half of everything.
double share_of(const std::string& published) { return published.find("2 GCDs") == std::string::npos ? 1 : 0.5; }

void compare_peaks(const CsvRow& row, const DeviceType& type, double share) {
  const std::map<DataType, std::string> columns{
      {DataType::fp32, "fp32_tflops"}, {DataType::tf32, "tf32_tflops"}, {DataType::fp16, "fp16_tflops"},
      {DataType::bf16, "bf16_tflops"}, {DataType::fp8, "fp8_tflops"},   {DataType::fp4, "fp4_tflops"},
      {DataType::int8, "int8_tops"}};
  for (const auto& [kind, column] : columns) {
    INFO(column);
    const auto published = row.number(column);
    CHECK(type.peak.contains(kind) == published.has_value());
    // The table repeats the B200's int8; the note beside it says that hardly any is left.
    const bool cut = type.name == "B300-SXM-288GB" && kind == DataType::int8;
    if (published && type.peak.contains(kind))
      CHECK(type.peak.at(kind).value == Approx(1e12 * (cut ? 153 : share * *published)));
  }
}

/// Links of PCIe cards and bridges between pairs are no direct links of the catalogue.
bool has_direct_links(const CsvRow& row) {
  return !row["link"].starts_with("PCIe") && !row.has("link", "bridge") && row.number("link_GBps_per_dir") &&
         row["name"] != "Ascend 910A";  // HCCS of fours, and a ring beyond: not modelled
}

std::string confidence_of(const std::string& published) {
  if (published.starts_with("memory")) return "recalled";
  return published == "found" ? "found" : "partly found";
}

void compare(const CsvRow& row, const GpuEntry& gpu) {
  const DeviceType& type = gpu.type;
  const double share = share_of(row["name"]);
  compare_peaks(row, type, share);
  CHECK(type.vendor == row["vendor"]);
  CHECK(type.generation == row["arch"]);
  CHECK(type.memory_bandwidth.value == Approx(1e9 * share * row.number("mem_bw_GBps").value()));
  // What the device reports is below what is sold, by the pages of error correction and of the driver.
  const double sold = share * row.number("mem_GB").value() * 1073741824.0;
  CHECK(type.memory.value <= sold);
  CHECK(type.memory.value >= 0.9 * sold);
  if (const auto power = row.number("tdp_W")) CHECK(type.power_watts == Approx(share * *power));
  CHECK(gpu.nvlink.has_value() == has_direct_links(row));
  if (gpu.nvlink) CHECK(gpu.nvlink->bandwidth.value == Approx(1e9 * share * row.number("link_GBps_per_dir").value()));
  for (const char* generation : {"3", "4", "5"})
    if (row["pcie"] == std::string("Gen") + generation + "x16") CHECK(gpu.pcie == std::string("pcie") + generation);
  CHECK(gpu.confidence == confidence_of(row["confidence"]));
}

struct InstanceOf {
  std::string name;
  int nodes = 1;
};

InstanceOf instance_of(const CsvRow& row) {
  const std::string& name = row["instance"];
  if (name == "g2 (1 L4)") return {"gcp.g2-standard-4"};
  if (name == "g2 (4 L4)") return {"gcp.g2-standard-48"};
  if (name == "tpu-v6e-8 (ct6e)") return {"gcp.ct6e-standard-8t"};
  if (name == "tpu-v6e-256") return {"gcp.ct6e-standard-8t", 32};  // a slice of so many
  return {row["cloud"] + "." + name};
}

std::string transport_of(const std::string& nic) {
  for (const auto& [begin, transport] : std::map<std::string, std::string>{
           {"EFA", "efa"}, {"IB", "infiniband"}, {"RoCE", "roce"}, {"ENA", "ethernet"}})
    if (nic.starts_with(begin)) return transport;
  return "ethernet";
}

void compare_network(const CsvRow& row, const InstanceEntry& instance) {
  if (const auto rate = row.number("nic_Gbps")) CHECK(instance.nics * instance.nic.value * 8e-9 == Approx(*rate));
  if (!row["nic_type"].empty()) CHECK_THAT(instance.transport, Catch::StartsWith(transport_of(row["nic_type"])));  // efa, efa2
  const std::size_t times = row["nic_type"].find('x');  // as in EFA 32x100
  if (times == std::string::npos || !std::isdigit(static_cast<unsigned char>(row["nic_type"][times + 1]))) return;
  CHECK(instance.nic.value * 8e-9 == Approx(std::stod(row["nic_type"].substr(times + 1))));
}

double in_usd_per_hour(const std::optional<PriceEntry>& price) { return price ? price->price.value * 3600 : 0; }

/// Of Google's instances the table has the GPUs' part; a whole node adds the virtual machine.
void compare_prices(const CsvRow& row, const InstanceEntry& instance, int nodes) {
  const bool part_only = row.has("note", "GPU part only");
  const auto on_demand = row.number("on_demand_usd_h"), spot = row.number("spot_usd_h_median");
  CHECK(instance.on_demand.has_value() == on_demand.has_value());
  if (on_demand && part_only) {
    CHECK(in_usd_per_hour(instance.on_demand) > *on_demand);
    CHECK_THAT(instance.on_demand->source, Catch::Contains("GPU part"));
  } else if (on_demand) {
    CHECK(nodes * in_usd_per_hour(instance.on_demand) == Approx(*on_demand));
    CHECK(instance.on_demand->confidence == (row["price_confidence"].starts_with("found") ? "found" : "recalled"));
  }
  if (!spot) return;
  CHECK(nodes * in_usd_per_hour(instance.spot) == Approx(*spot));
  CHECK(instance.spot->confidence == "found");
}

void compare(const CsvRow& row, const InstanceEntry& instance, int nodes) {
  CHECK(instance.gpus * nodes == row.count("gpus"));
  if (const auto cores = row.number("vcpu")) CHECK(instance.host.cores == Approx(*cores / 2));
  if (const auto memory = row.number("ram_GiB")) CHECK(instance.host.memory.value == Approx(*memory * 1073741824.0));
  CHECK(instance.notice.value == row.number("preemption_notice_s").value());
  CHECK((instance.confidence != "recalled") == (row["hw_confidence"].starts_with("found") || row.has("note", "found")));
  compare_network(row, instance);
  compare_prices(row, instance, nodes);
}

}  // namespace

TEST_CASE("accelerators are as the table of published facts has them") {
  for (const CsvRow& row : rows_of("gpu_catalogue.csv")) {
    INFO(row["name"]);
    if (std::ranges::find(kLeftOut, row["name"]) != kLeftOut.end()) continue;
    REQUIRE(kGpuOf.contains(row["name"]));
    const GpuEntry* gpu = catalogue().gpu(kGpuOf.at(row["name"]));
    REQUIRE(gpu != nullptr);
    compare(row, *gpu);
  }
}

TEST_CASE("instances of AWS, GCP and Azure are as the table of published facts has them") {
  for (const CsvRow& row : rows_of("cloud_instances.csv")) {
    if (row["cloud"] == "lambda") continue;  // nothing is published about their networks
    const auto [name, nodes] = instance_of(row);
    INFO(name);
    const InstanceEntry* instance = catalogue().instance(name);
    REQUIRE(instance != nullptr);
    compare(row, *instance, nodes);
  }
}

TEST_CASE("every price says when it held and where it was read, and spot is the cheapest market") {
  for (const InstanceEntry& instance : catalogue().instances) {
    INFO(instance.name);
    for (const MarketKind market : {MarketKind::on_demand, MarketKind::spot, MarketKind::reserved})
      if (const auto& price = instance.price(market)) {
        CHECK(price->price.value > 0);
        CHECK_FALSE(price->date.empty());
        CHECK_FALSE(price->confidence.empty());
        CHECK_FALSE(price->source.empty());
      }
    if (instance.spot && instance.on_demand)
      CHECK(in_usd_per_hour(instance.spot) < in_usd_per_hour(instance.on_demand));
    if (instance.reserved && instance.on_demand)
      CHECK(in_usd_per_hour(instance.reserved) < in_usd_per_hour(instance.on_demand));
    CHECK(instance.notice.value >= 30);
    CHECK(instance.nics * instance.nic.value > 0);
  }
}
