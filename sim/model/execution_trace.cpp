#include "sim/model/execution_trace.hpp"

namespace trainyard {

const char* name(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::all_reduce:
      return "all-reduce";
    case ExchangeKind::reduce:
      return "reduce";
    case ExchangeKind::all_gather:
      return "all-gather";
    case ExchangeKind::gather:
      return "gather";
    case ExchangeKind::scatter:
      return "scatter";
    case ExchangeKind::broadcast:
      return "broadcast";
    case ExchangeKind::all_to_all:
      return "all-to-all";
    case ExchangeKind::reduce_scatter:
      return "reduce-scatter";
    case ExchangeKind::barrier:
      return "barrier";
  }
  return "";
}

}  // namespace trainyard
