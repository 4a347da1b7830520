#include <array>
#include <cctype>
#include <utility>

#include "workloads/traces/readers.hpp"

namespace trainyard {
namespace {

/// Longer words first: "reducescatter" holds "scatter" and "reduce".
constexpr std::array<std::pair<std::string_view, ExchangeKind>, 11> kWords{
    {{"reducescatter", ExchangeKind::reduce_scatter},
     {"allreduce", ExchangeKind::all_reduce},
     {"allgather", ExchangeKind::all_gather},
     {"gatherintotensor", ExchangeKind::all_gather},
     {"alltoall", ExchangeKind::all_to_all},
     {"broadcast", ExchangeKind::broadcast},
     {"barrier", ExchangeKind::barrier},
     {"bcast", ExchangeKind::broadcast},
     {"scatter", ExchangeKind::scatter},
     {"gather", ExchangeKind::gather},
     {"reduce", ExchangeKind::reduce}}};

}  // namespace

bool exchange_named(std::string_view text, ExchangeKind& kind) {
  std::string letters;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += char(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [word, meaning] : kWords)
    if (letters.find(word) != std::string::npos) return kind = meaning, true;
  return false;
}

}  // namespace trainyard
