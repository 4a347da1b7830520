#include "sim/report/record.hpp"
#include "sim/report/result_text.hpp"

namespace trainyard {

std::string to_json(const std::vector<CaseResult>& results, const ResultHead& head) {
  nlohmann::ordered_json document;
  document["schema"] = "trainyard/result/1";
  document["version"] = head.version;
  document["catalogue_hash"] = head.catalogue_hash;
  document["results"] = nlohmann::ordered_json::array();
  for (const CaseResult& result : results) document["results"].push_back(to_record(result, head.timings));
  // Text that is no UTF-8 (last words of a crashed process) must not stop the whole document.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace trainyard
