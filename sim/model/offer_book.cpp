#include "sim/model/offer_book.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>

namespace trainyard {

OfferBook::OfferBook(const OfferedGroup& group)
    : since_(group.zones.size()),
      offers_(group.zones.size()),
      end_(group.end),
      draws_(seed_for(group.seed, "victims of " + group.name)) {}

void OfferBook::open(std::size_t node, Seconds at) {
  count_change(changes_);
  since_[node] = at;
}

void OfferBook::close(std::size_t node, Seconds at) {
  count_change(changes_);
  if (*since_[node] < at) offers_[node].push_back({*since_[node], at, true});
  since_[node].reset();
}

std::vector<std::size_t> OfferBook::all_open() const {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < size(); ++node)
    if (is_open(node)) nodes.push_back(node);
  return nodes;
}

std::optional<std::size_t> OfferBook::first_closed() const {
  for (std::size_t node = 0; node < size(); ++node)
    if (!is_open(node)) return node;
  return std::nullopt;
}

std::size_t OfferBook::newest() const {
  const std::vector<std::size_t> nodes = all_open();
  return *std::max_element(nodes.begin(), nodes.end(),
                           [&](std::size_t a, std::size_t b) { return std::pair(*since_[a], a) < std::pair(*since_[b], b); });
}

void OfferBook::set_level(Seconds at, int nodes, Victims victims) {
  const std::size_t wanted = std::min(static_cast<std::size_t>(nodes), size());
  std::size_t there = all_open().size();
  for (; there < wanted; ++there) open(*first_closed(), at);
  if (victims == Victims::random && there > wanted) {
    close_drawn(all_open(), there - wanted, at);
    return;
  }
  for (; there > wanted; --there) close(newest(), at);
}

std::vector<std::size_t> OfferBook::close_drawn(std::vector<std::size_t> among, std::size_t count, Seconds at) {
  std::erase_if(among, [&](std::size_t node) { return !is_open(node); });
  std::vector<std::size_t> drawn;
  for (; drawn.size() < count && !among.empty();) {
    const auto pick = boost::random::uniform_int_distribution<std::size_t>(0, among.size() - 1)(draws_);
    drawn.push_back(among[pick]);
    among.erase(among.begin() + static_cast<std::ptrdiff_t>(pick));
    close(drawn.back(), at);
  }
  return drawn;
}

Offers OfferBook::finish() && {
  for (std::size_t node = 0; node < size(); ++node)
    if (is_open(node) && *since_[node] < end_) offers_[node].push_back({*since_[node], end_, false});
  return std::move(offers_);
}

}  // namespace trainyard
