#include <nlohmann/json.hpp>

#include "sim/report/page/page.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 6'000;

}  // namespace

std::string validation_page(const std::string& comparison_json, const ResultHead& head) {
  const Json comparison = Json::parse(comparison_json);
  Json document{{"kind", "validation"},
                {"version", head.version},
                {"catalogue_hash", head.catalogue_hash},
                {"groups", comparison.at("groups")}};
  const Json& rows = comparison.at("rows");
  document["all"] = rows.size();
  document["rows"] = Json::array();
  const std::size_t every = 1 + rows.size() / kMostRows;
  document["every"] = every;
  for (std::size_t i = 0; i < rows.size(); i += every) {
    Json row;
    for (const char* key : {"id", "source", "gpu", "gpus", "model", "measured_step_time_s", "predicted_step_time_s",
                            "measured_peak_memory_bytes", "predicted_peak_memory_bytes", "status", "reason", "split"})
      row.push_back(rows[i].at(key));
    document["rows"].push_back(std::move(row));
  }
  return page_around(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace trainyard
