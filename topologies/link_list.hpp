// Links written out one by one: insides and fabrics that no kind describes; private to this folder.
#pragma once

#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/units/quantity.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard {

/// Links of one class, one direction each.
struct LinkClass {
  Transport transport;
  BytesPerSecond nominal{};
  BytesPerSecond bandwidth{};  ///< what bulk traffic reaches
  Seconds latency{};
};

/// One entry of `links:`.
struct ListedLink {
  std::string a, b;
  int count = 1;
  LinkClass kind;  ///< of one link, one direction
};

/// Of `links:`; `names` says what may stand under `between`.
[[nodiscard]] Schema link_list_schema(const std::string& names);

/// `transport`: of entries that name none. Names of transports that do not exist go to `diagnostics`.
[[nodiscard]] std::vector<ListedLink> listed_links(const View& list, const std::string& transport,
                                                   Diagnostics& diagnostics);

/// latency, efficiency, setup, step, ramp: keys that replace the catalogue's parameters of a class of links.
[[nodiscard]] std::vector<SchemaField> link_fields();
/// A class of links from the catalogue, changed by what `over` (which may be empty or a scalar) says; `own_name` is the
/// transport's when its times change.
[[nodiscard]] LinkClass link_class(const TransportEntry& entry, BytesPerSecond nominal, const View& over,
                                   const std::string& own_name);
/// Throws InternalError if the catalogue has none.
[[nodiscard]] const TransportEntry& known_transport(const std::string& name);

/// The class of links that the catalogue knows under this name, at a nominal rate.
[[nodiscard]] LinkClass catalogue_link(const std::string& transport, BytesPerSecond nominal);
/// A link whose rate is what bulk traffic reaches.
[[nodiscard]] LinkClass measured_link(const std::string& transport, BytesPerSecond rate, Seconds latency);

/// The map that `file` holds, checked: the text of a scenario's key kept in a file of its own. Mistakes go to
/// `diagnostics`; nothing is then returned that could be read.
[[nodiscard]] ConfigValue read_part(const std::string& directory, const View& file, const Schema& schema,
                                    Diagnostics& diagnostics);

}  // namespace trainyard
