#include "sim/report/record.hpp"
#include "sim/report/result_text.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_json(const std::vector<CaseResult>& results, const ResultHead& head) {
  Json document;
  document["schema"] = "trainyard/result/1";
  document["version"] = head.version;
  document["catalogue_hash"] = head.catalogue_hash;
  document["results"] = Json::array();
  const bool over_horizon = any_over_horizon(results);
  for (const CaseResult& result : results) document["results"].push_back(to_record(result, head.timings, over_horizon));
  // Text that is no UTF-8 (last words of a crashed process) must not stop the whole document.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json_line(const CaseResult& result) { return line(to_record(result, false)); }

std::string to_json_lines(const std::vector<SavedRecord>& records) {
  std::string text;
  for (const SavedRecord& saved : records) {
    Json object;
    object["set"] = Json::object();
    for (const auto& [key, value] : saved.settings) object["set"][key] = value;
    object.update(Json::parse(saved.record));
    text += line(object) + "\n";
  }
  return text;
}

}  // namespace trainyard
