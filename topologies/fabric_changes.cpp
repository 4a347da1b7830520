// Links whose bandwidth changes over time.
#include <unordered_map>

#include "topologies/fabric.hpp"

namespace trainyard {
namespace {

/// A name without the number of parallel links: a>b#1 -> a>b.
std::string without_number(const std::string& name) { return name.substr(0, name.find('#')); }

/// Parallel links have one name here; a numbered one is found under its own name too.
std::unordered_multimap<std::string, LinkId> links_by_name(const Cluster& cluster) {
  std::unordered_multimap<std::string, LinkId> links;
  for (std::size_t l = 0; l < cluster.links.size(); ++l) {
    const std::string name = cluster.name_of(id_at<LinkId>(l));
    links.emplace(name, id_at<LinkId>(l));
    if (const std::string plain = without_number(name); plain != name) links.emplace(plain, id_at<LinkId>(l));
  }
  return links;
}

void apply(const TimedChange& change, LinkId link, Cluster& cluster) {
  if (change.at.value > 0 || change.factor == 0) return cluster.events.push_back({change.at, LinkChange{link, change.factor}});
  cluster.links[index(link)].bandwidth = cluster.links[index(link)].bandwidth * change.factor;
}

}  // namespace

void apply_changes(const FabricSpec& spec, Cluster& cluster, Diagnostics& diagnostics) {
  const auto links = links_by_name(cluster);
  for (const TimedChange& change : spec.changes)
    for (const std::string& name : {change.link, change.back}) {
      if (name.empty()) continue;
      const auto [first, last] = links.equal_range(name);
      if (first == last)
        diagnostics.add(change.place, "no link \"" + name + "\"; `trainyard explain --dot FILE` writes all names");
      for (auto link = first; link != last; ++link) apply(change, link->second, cluster);
    }
}

}  // namespace trainyard
