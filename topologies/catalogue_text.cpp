// The catalogues as people read them: `trainyard list`.
#include <fmt/format.h>

#include "sim/units/text.hpp"
#include "topologies/catalogue.hpp"
#include "topologies/market.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {
std::string_view topologies_fabrics();

namespace {

std::string peaks_text(const DeviceType& type) {
  std::string text;
  for (const auto& [data_type, peak] : type.peak)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(data_type), to_text(peak));
  return text;
}

std::string gemm_text(const DeviceType& type) {
  std::string text;
  for (const auto& [data_type, curve] : type.gemm)
    text +=
        fmt::format("gemm {}: efficiency {}, k_half {}, quantisation {}, sustained {}, launch {}\n", name(data_type),
                    curve.efficiency, curve.k_half, curve.quantisation, curve.sustained, to_text(curve.launch));
  if (const auto grouped = type.grouped_gemm.find(DataType::bf16); grouped != type.grouped_gemm.end())
    text += fmt::format("grouped gemm: efficiency {}, k_half {}, quantisation {}, sustained {}, launch {}\n", grouped->second.efficiency,
                        grouped->second.k_half, grouped->second.quantisation, grouped->second.sustained, to_text(grouped->second.launch));
  return text;
}

std::string attention_text(const DeviceType& type) {
  if (type.attention.empty()) return "attention: no flash kernels\n";
  std::string text;
  for (const auto& [kernel, curve] : type.attention)
    text += fmt::format("attention {}: forward {} (half at {:.0f} tokens), backward {} (half at {:.0f})\n",
                        name(kernel), to_text(curve.forward), curve.forward_half_length, to_text(curve.backward),
                        curve.backward_half_length);
  return text;
}

CatalogueEntry listed(const GpuEntry& gpu) {
  const DeviceType& type = gpu.type;
  CatalogueEntry entry{type.name, gpu.aliases, {}, {}};
  const DataType shown = type.peak.contains(DataType::fp16) ? DataType::fp16 : DataType::bf16;
  entry.summary = fmt::format("{} {}, {:.1f} GiB, {} {}, memory {}{}", type.vendor, type.generation,
                              type.memory / Bytes(1073741824.0), name(shown), to_text(type.peak.at(shown)),
                              to_text(type.memory_bandwidth), type.extrapolated ? ", extrapolated" : "");
  entry.details = fmt::format("peak: {}\nreserved: {:.1f} GiB\nmultiprocessors: {}\npower: {} W\n", peaks_text(type),
                              type.reserved / Bytes(1073741824.0), type.multiprocessors, type.power_watts);
  if (gpu.nvlink)
    entry.details +=
        fmt::format("direct links: {}, {} a direction\n", gpu.nvlink->transport, to_text(gpu.nvlink->bandwidth));
  entry.details += fmt::format("inside by default (8 GPUs): {}\n", gpu.default_inside(8));
  entry.details += gemm_text(type) + attention_text(type);
  entry.details += fmt::format("fit: {}{}\nfacts: {}\nsource: {}\n", gpu.fit,
                               type.extrapolated ? " (another generation's)" : "", gpu.confidence, gpu.source);
  return entry;
}

std::string price_line(std::string_view market, const std::optional<PriceEntry>& price) {
  if (!price) return fmt::format("{}: unknown\n", market);
  return fmt::format("{}: {:.2f} USD/h in {} ({}: {})\n", market, in_dollars_per_hour(price->price), price->date,
                     price->confidence, price->source);
}

CatalogueEntry listed(const InstanceEntry& instance) {
  CatalogueEntry entry{instance.name, instance.aliases, {}, {}};
  const auto& price = instance.on_demand;
  entry.summary = fmt::format(
      "{} x {}, {} x {:g} Gbps {}, {}", instance.gpus, instance.gpu, instance.nics, instance.nic.value * 8e-9,
      instance.transport,
      price ? fmt::format("{:.2f} USD/h on demand", in_dollars_per_hour(price->price)) : "no on-demand price");
  entry.details = fmt::format("host: {} cores, {:.0f} GiB\nnotice: {}\n", instance.host.cores,
                              instance.host.memory / Bytes(1073741824.0), to_text(instance.notice));
  entry.details += price_line("on demand", instance.on_demand) + price_line("spot", instance.spot) +
                   price_line("reserved", instance.reserved) +
                   fmt::format("facts: {}\nsource: {}\n", instance.confidence, instance.source);
  return entry;
}

template <class Entry>
std::vector<CatalogueEntry> listed_all(const std::vector<Entry>& entries) {
  std::vector<CatalogueEntry> all;
  for (const Entry& entry : entries) all.push_back(listed(entry));
  return all;
}

}  // namespace

std::vector<CatalogueEntry> gpu_catalogue() { return listed_all(catalogue().gpus); }
std::vector<CatalogueEntry> instance_catalogue() { return listed_all(catalogue().instances); }

std::string topology_catalogue_text() {
  const CatalogueTexts texts = embedded_catalogue();
  std::string all = texts.fits.text + texts.transports.text;
  for (const CatalogueFile& file : texts.gpus) all += file.text;
  for (const CatalogueFile& file : texts.instances) all += file.text;
  all += topologies_fabrics();
  return all + failure_catalogue_text();
}

}  // namespace trainyard
