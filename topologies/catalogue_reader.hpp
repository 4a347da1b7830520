// How the catalogue files become entries; private to this folder.
#pragma once

#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard {

[[nodiscard]] Schema transport_file_schema();
[[nodiscard]] Schema fit_file_schema();
[[nodiscard]] Schema gpu_file_schema();
[[nodiscard]] Schema instance_file_schema();
/// found, partly found or recalled.
[[nodiscard]] Schema confidence_schema();
/// cores, memory, dram, storage: the same in catalogues and scenarios.
[[nodiscard]] Schema host_schema();

[[nodiscard]] TransportEntry transport_entry(const View& item);
/// `fits`: the list of gpu_fits.yaml. References to nothing go to `diagnostics`.
[[nodiscard]] GpuEntry gpu_entry(const View& item, const View& fits, Diagnostics& diagnostics);
[[nodiscard]] InstanceEntry instance_entry(const View& item);
/// efficiency, k_half, quantisation, sustained, launch: a curve of products.
[[nodiscard]] Schema gemm_curve_schema();
[[nodiscard]] GemmCurve gemm_curve(const View& item);
/// Keys that are absent keep their value in `host`.
void read_host(const View& item, HostEntry& host);

inline const std::string& entry_name(const TransportEntry& e) { return e.transport.name; }
inline const std::string& entry_name(const GpuEntry& e) { return e.type.name; }
inline const std::string& entry_name(const InstanceEntry& e) { return e.name; }
inline std::vector<std::string> entry_aliases(const TransportEntry&) { return {}; }
inline const std::vector<std::string>& entry_aliases(const GpuEntry& e) { return e.aliases; }
inline const std::vector<std::string>& entry_aliases(const InstanceEntry& e) { return e.aliases; }

}  // namespace trainyard
