// The catalogues of this folder as values. They are compiled in, read once, and checked like any input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// A class of links: what a Cluster's Transport holds, and the share of the nominal bandwidth that bulk traffic
/// reaches.
struct TransportEntry {
  Transport transport;
  double efficiency = 1;
  BytesPerSecond fast_from{};  ///< links at least this fast reach fast_efficiency instead; 0: none
  double fast_efficiency = 1;
  Seconds latency{};  ///< of one link
  std::string source;
  [[nodiscard]] double efficiency_at(BytesPerSecond nominal) const;
};

/// Direct links of a GPU, one direction.
struct NvlinkEntry {
  std::string transport;
  BytesPerSecond bandwidth{};  ///< all links together
  BytesPerSecond link{};       ///< one link, for meshes; 0: only behind a switch
};

/// What a node holds besides its GPUs.
struct HostEntry {
  double cores = 0;
  Bytes memory{};
  BytesPerSecond dram{};
  BytesPerSecond storage{};  ///< local drives; 0: none
};

struct GpuEntry {
  DeviceType type;
  std::vector<std::string> aliases;
  std::optional<NvlinkEntry> nvlink;
  std::string pcie;  ///< transport of its slot
  HostEntry host;    ///< default: cores and memory for each GPU, dram for each socket
  std::string fit;
  std::string confidence;  ///< of the facts: found, partly found, recalled
  std::string source;
  /// The inside that nodes of so many have unless they say otherwise.
  [[nodiscard]] std::string default_inside(int gpus) const;
  /// Whether direct links join them without a switch.
  [[nodiscard]] bool meshes() const { return nvlink && nvlink->link.value > 0; }
};

/// A price of a whole node.
struct PriceEntry {
  DollarsPerSecond price{};
  std::string source;
  std::string date = {};        ///< when it held, e.g. "2025"; "": the scenario's
  std::string confidence = {};  ///< found, partly found, recalled; "": the scenario's
};

struct InstanceEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string gpu;
  int gpus = 1;
  std::string inside;  ///< "": the GPU's default
  int nics = 0;
  BytesPerSecond nic{};
  std::string transport;
  HostEntry host;
  Seconds notice{};
  std::optional<PriceEntry> on_demand, spot, reserved;
  std::string confidence;  ///< of the hardware: found, partly found, recalled
  std::string source;
  [[nodiscard]] const std::optional<PriceEntry>& price(MarketKind market) const;
};

struct Catalogue {
  std::vector<TransportEntry> transports;
  std::vector<GpuEntry> gpus;
  std::vector<InstanceEntry> instances;
  /// By name or alias; null where there is none.
  [[nodiscard]] const TransportEntry* transport(std::string_view name) const;
  [[nodiscard]] const GpuEntry* gpu(std::string_view name) const;
  [[nodiscard]] const InstanceEntry* instance(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> transport_names() const;
  [[nodiscard]] std::vector<std::string> gpu_names() const;       ///< with aliases
  [[nodiscard]] std::vector<std::string> instance_names() const;  ///< with aliases
};

/// One catalogue file: its path from the repository's root, for messages, and its text.
struct CatalogueFile {
  std::string path, text;
};
/// The files as compiled in or, in tests, otherwise. A name may stand once in all files of a kind.
struct CatalogueTexts {
  std::vector<CatalogueFile> gpus, instances;
  CatalogueFile fits, transports;
};
[[nodiscard]] CatalogueTexts embedded_catalogue();

/// Mistakes (a wrong type, an unknown key, a reference to nothing, a name or alias taken twice) go to `diagnostics`
/// with file and line.
[[nodiscard]] Catalogue read_catalogue(const CatalogueTexts& texts, Diagnostics& diagnostics);

/// The embedded catalogue, read at the first call. Throws UserError with every mistake's line if it is wrong.
[[nodiscard]] const Catalogue& catalogue();

}  // namespace trainyard
