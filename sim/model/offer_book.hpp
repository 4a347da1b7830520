// Keeps who is there while the offers of a group are worked out. Private to sim/model.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/model/node_offers.hpp"

namespace trainyard {

/// Places that open and close in order of time.
class OfferBook {
 public:
  explicit OfferBook(const OfferedGroup& group);

  void open(std::size_t node, Seconds at);
  void close(std::size_t node, Seconds at);
  [[nodiscard]] bool is_open(std::size_t node) const { return since_[node].has_value(); }
  [[nodiscard]] std::size_t size() const { return since_.size(); }
  [[nodiscard]] std::vector<std::size_t> all_open() const;
  [[nodiscard]] std::optional<std::size_t> first_closed() const;
  /// Opens the lowest places or closes victims until so many are open.
  void set_level(Seconds at, int nodes, Victims victims);
  /// Closes so many, drawn from those of `among` that are open; returns them.
  std::vector<std::size_t> close_drawn(std::vector<std::size_t> among, std::size_t count, Seconds at);
  /// All offers, those still open until the end.
  [[nodiscard]] Offers finish() &&;

 private:
  [[nodiscard]] std::size_t newest() const;

  std::vector<std::optional<Seconds>> since_;
  Offers offers_;
  Seconds end_{};
  std::size_t changes_ = 0;
  boost::random::mt19937_64 draws_;
};

}  // namespace trainyard
