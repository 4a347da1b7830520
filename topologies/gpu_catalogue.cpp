#include "topologies/catalogue_reader.hpp"

namespace trainyard {

using namespace schema;

namespace {

constexpr Bytes kReserved = Bytes(2.5 * 1024 * 1024 * 1024);  // see gpu_fits.yaml
constexpr double kMemoryEfficiency = 0.72;
constexpr Seconds kKernelLaunch = Seconds(2e-6);

Schema rate(std::string help) { return quantity(Dimension::flops_per_second, above(0, 1e18), std::move(help)); }
Schema bandwidth(std::string help) { return quantity(Dimension::bytes_per_second, above(0, 1e14), std::move(help)); }

Schema peaks_schema() {
  std::vector<SchemaField> fields;
  for (const char* type : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"})
    fields.push_back(optional(type, rate("dense peak")));
  return object(std::move(fields), "dense peak of each data type");
}

Schema attention_schema() {
  const Schema half = number(between(0, 1e6), "tokens at half the rate");
  return object({required("forward", rate("large sequences")), required("forward_half_length", half),
                 required("backward", rate("large sequences")), required("backward_half_length", half)},
                "curve of an attention kernel");
}

Schema fit_schema() {
  std::vector<SchemaField> gemms{required("default", gemm_curve_schema())};
  for (const char* type : {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"})
    gemms.push_back(optional(type, gemm_curve_schema()));
  std::vector<SchemaField> kernels;
  for (const char* kernel : {"flash_1", "flash_triton", "flash_2", "cudnn"})
    kernels.push_back(optional(kernel, attention_schema()));
  return object({required("name", text("key")), required("peak", rate("16-bit peak the attention rates belong to")),
                 required("gemm", object(std::move(gemms), "by data type")),
                 optional("grouped_gemm", gemm_curve_schema()),
                 required("attention", object(std::move(kernels), "by kernel")),
                 required("source", text("where the numbers come from"))},
                "fitted parameters of a generation");
}

Schema gpu_schema() {
  const Schema nvlink = object(
      {required("transport", text("catalogue key")), required("bandwidth", bandwidth("all links, one direction")),
       optional("link", bandwidth("one link of a mesh"))},
      "direct links");
  return object(
      {required("name", text("key")), optional("aliases", list(text("other name"), between(0, 20), "other names")),
       optional("vendor", text("maker"), "NVIDIA"), required("generation", text("architecture")),
       required("memory", quantity(Dimension::bytes, above(0, 1e13), "as the device reports it")),
       required("multiprocessors", integer(between(1, 10000), "count")), required("peak", peaks_schema()),
       required("memory_bandwidth", bandwidth("of device memory")), optional("nvlink", nvlink),
       required("pcie", text("catalogue key of a transport")),
       optional("interference", object({required("collective_share", number(between(0, 0.95), "of the multiprocessors, that a collective takes")),
                                        required("source", text("where the number comes from"))},
                                       "what collectives and kernels do to each other")),
       required("power", number(above(0, 1e5), "watts of the board")), required("fit", text("name of a fit")),
       optional("extrapolated", boolean("the fit is another generation's"), "false"),
       optional("flash_attention", boolean("such kernels exist for it"), "true"), required("host", host_schema()),
       required("confidence", confidence_schema()),
       required("source", text("where the numbers come from"))},
      "a GPU");
}

AttentionCurve attention_curve(const View& v, double scale) {
  return {v["forward"].quantity<FlopsPerSecond>() * scale, v["backward"].quantity<FlopsPerSecond>() * scale,
          v["forward_half_length"].number(), v["backward_half_length"].number()};
}

FlopsPerSecond sixteen_bit_peak(const DeviceType& type) {
  for (const DataType kind : {DataType::fp16, DataType::bf16})
    if (const auto found = type.peak.find(kind); found != type.peak.end()) return found->second;
  return {};
}

double share_of_peak(const GemmCurve& curve) { return curve.efficiency * curve.sustained; }

/// Products of experts in 16 bits were measured, in training on two GPUs, where large ones run as single products do (B200 +7 %, A100
/// -7 %), and in the kernels of inference, alone and cold, on the others. So none runs at a larger share of the peak than single
/// products, nor, in another type, at a larger share of those of that type.
GemmCurve grouped_curve(GemmCurve measured, const DeviceType& device, DataType type) {
  const auto wide = device.gemm.find(DataType::bf16) != device.gemm.end() ? device.gemm.find(DataType::bf16) : device.gemm.begin();
  const GemmCurve& single = device.gemm.at(type);
  const double share = std::min(1.0, share_of_peak(measured) / share_of_peak(wide->second));
  measured.efficiency = single.efficiency * share;
  measured.sustained = single.sustained;
  measured.k_half = std::max(measured.k_half, single.k_half);
  return measured;
}

void apply_fit(const View& fit, bool flash_attention, DeviceType& type) {
  for (const auto& [data_type, peak] : type.peak) {
    const View own = fit["gemm"][name(data_type)];
    type.gemm[data_type] = gemm_curve(own ? own : fit["gemm"]["default"]);
  }
  if (const View grouped = fit["grouped_gemm"])
    for (const auto& [data_type, peak] : type.peak) type.grouped_gemm[data_type] = grouped_curve(gemm_curve(grouped), type, data_type);
  if (!flash_attention) return;
  const double scale = type.extrapolated ? sixteen_bit_peak(type) / fit["peak"].quantity<FlopsPerSecond>() : 1.0;
  for (const std::string& kernel : fit["attention"].keys())
    if (const auto known = attention_kernel_from(kernel))
      type.attention[*known] = attention_curve(fit["attention"][kernel], scale);
}

View fit_named(const View& fits, const std::string& wanted) {
  for (std::size_t i = 0; i < fits.size(); ++i)
    if (fits.at(i)["name"].text() == wanted) return fits.at(i);
  return {};
}

DeviceType facts(const View& item) {
  DeviceType type;
  type.name = item["name"].text();
  type.vendor = item["vendor"].text_or("NVIDIA");
  type.generation = item["generation"].text();
  type.memory = item["memory"].quantity<Bytes>();
  type.reserved = kReserved;
  type.multiprocessors = static_cast<int>(item["multiprocessors"].integer());
  for (const std::string& word : item["peak"].keys())
    if (const auto known = data_type_from(word)) type.peak[*known] = item["peak"][word].quantity<FlopsPerSecond>();
  type.memory_bandwidth = item["memory_bandwidth"].quantity<BytesPerSecond>();
  type.memory_efficiency = kMemoryEfficiency;
  type.kernel_launch = kKernelLaunch;
  if (const View interference = item["interference"]) {
    type.collective_share = interference["collective_share"].number();
    type.interference_source = interference["source"].text();
  }
  type.power_watts = item["power"].number();
  type.extrapolated = item["extrapolated"].boolean_or(false);
  return type;
}

}  // namespace

Schema gemm_curve_schema() {
  const Schema positive = number(between(0, 1e6), "fitted");
  return object({required("efficiency", number(above(0, 1), "share of the peak of large products")),
                 required("k_half", positive), required("quantisation", positive),
                 required("sustained", number(above(0, 1), "training against isolated kernels")),
                 required("launch", quantity(Dimension::seconds, between(0, 1), "fixed time"))},
                "curve of matrix products");
}

GemmCurve gemm_curve(const View& v) {
  return {v["efficiency"].number(), v["k_half"].number(), v["quantisation"].number(), v["sustained"].number(),
          v["launch"].quantity<Seconds>()};
}

Schema fit_file_schema() {
  return object({required("fits", list(fit_schema(), between(1, 1000), "fits"))}, "fits of generations");
}

Schema gpu_file_schema() { return object({required("gpus", list(gpu_schema(), between(1, 1000), "GPUs"))}, "GPUs"); }

GpuEntry gpu_entry(const View& item, const View& fits, Diagnostics& diagnostics) {
  GpuEntry entry;
  entry.type = facts(item);
  for (std::size_t i = 0; i < item["aliases"].size(); ++i) entry.aliases.push_back(item["aliases"].at(i).text());
  if (const View nvlink = item["nvlink"])
    entry.nvlink = NvlinkEntry{nvlink["transport"].text(), nvlink["bandwidth"].quantity<BytesPerSecond>(),
                               nvlink["link"].quantity_or(BytesPerSecond{})};
  entry.pcie = item["pcie"].text();
  entry.fit = item["fit"].text();
  entry.confidence = item["confidence"].text();
  entry.source = item["source"].text();
  read_host(item["host"], entry.host);
  if (const View fit = fit_named(fits, entry.fit))
    apply_fit(fit, item["flash_attention"].boolean_or(true), entry.type);
  else
    diagnostics.add(item["fit"].place(), "no fit \"" + entry.fit + "\"");
  return entry;
}

}  // namespace trainyard
