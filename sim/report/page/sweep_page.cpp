#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/page/page.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 10'000;
/// Figures of a record that a page can draw.
constexpr std::array kFigures{
    "tokens_per_s",    "samples_per_s", "goodput_tokens_per_s", "usd_per_million_tokens",
    "step_time_s",     "mfu",           "bubble_fraction",      "exposed_communication_fraction",
    "price_usd_per_h", "usd_total",     "peak_memory_bytes"};

bool any_number(const std::vector<Json>& records, const char* key) {
  return std::ranges::any_of(records,
                             [&](const Json& record) { return record.contains(key) && record[key].is_number(); });
}

Json settings_of(const SavedRecord& saved) {
  Json values = Json::array();
  for (const auto& [key, value] : saved.settings) values.push_back(value);
  return values;
}

Json row_of(const SavedRecord& saved, const Json& record, const Json& figures) {
  Json row{{"set", settings_of(saved)}, {"strategy", record.value("strategy", "")}, {"status", record.at("status")}};
  row["variant"] = record.at("variant").is_string() ? record["variant"] : Json("");
  row["reason"] = record.at("reason");
  row["figures"] = Json::array();
  for (const auto& key : figures) row["figures"].push_back(record.value(key.get<std::string>(), Json(nullptr)));
  return row;
}

}  // namespace

std::string sweep_page(const std::vector<SavedRecord>& saved, const ResultHead& head) {
  std::vector<Json> records;
  for (std::size_t i = 0; i < std::min(saved.size(), kMostRows); ++i) records.push_back(Json::parse(saved[i].record));
  Json document{
      {"kind", "sweep"}, {"version", head.version}, {"catalogue_hash", head.catalogue_hash}, {"all", saved.size()}};
  document["scenario"] = records.empty() ? Json("") : records.front().at("scenario");
  document["keys"] = Json::array();
  if (!saved.empty())
    for (const auto& [key, value] : saved.front().settings) document["keys"].push_back(key);
  document["figures"] = Json::array();
  for (const char* key : kFigures)
    if (any_number(records, key)) document["figures"].push_back(key);
  document["rows"] = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i)
    document["rows"].push_back(row_of(saved[i], records[i], document["figures"]));
  return page_around(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace trainyard
