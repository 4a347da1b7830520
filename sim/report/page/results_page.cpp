#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/describe.hpp"
#include "sim/report/page/page.hpp"
#include "sim/report/page/views.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/record.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

/// So that a page stays below 3 MB: its drawing program takes half a megabyte, a span 25 bytes, a case's courses 15 kB.
constexpr std::size_t kMostSpans = 50'000, kMostSteps = 16;
constexpr std::size_t kMostYaml = 400'000;  ///< bytes of all Plans
constexpr std::size_t kJobPoints = 400, kMostRejected = 50;

/// What is left of a page's room.
struct Room {
  PageBudget each;
  std::size_t steps = kMostSteps, yaml = kMostYaml;
};

Room room_for(const std::vector<TableBlock>& blocks) {
  std::size_t traced = 0;
  for (const TableBlock& block : blocks)
    traced += std::size_t(
        std::ranges::count_if(block.results, [](const CaseResult& result) { return result.trace.has_value(); }));
  Room room;
  if (traced > 0) room.each.spans = std::min(room.each.spans, kMostSpans / std::min(traced, kMostSteps));
  return room;
}

std::string plan_text(const ResultsPage& page, const CaseResult& result, Room& room) {
  if (result.plan_json.empty() || !page.plan_yaml) return "";
  std::string text = page.plan_yaml(result.plan_json);
  if (text.size() > room.yaml) return "";
  room.yaml -= text.size();
  return text;
}

/// The record without what the page holds in another form.
Json lean_record(const CaseResult& result, const ResultHead& head, Json& job) {
  Json record = to_record(result, head.timings);
  job = job_view(record, kJobPoints);
  record.erase("plan");
  record.erase("timeline");
  for (Json& other : record["jobs"]) other.erase("plan");
  Json& rejected = record["rejected"];
  if (rejected.size() > kMostRejected) rejected.erase(rejected.begin() + kMostRejected, rejected.end());
  return record;
}

Json row_of(const ResultsPage& page, const CaseResult& result, Room& room) {
  Json job;
  Json row{{"record", lean_record(result, page.head, job)},
           {"plan_yaml", plan_text(page, result, room)},
           {"has_plan", !result.plan_json.empty()},
           {"job", job}};
  const bool draws = result.trace && room.steps > 0;
  if (draws) --room.steps;
  row["step"] = draws ? step_view(*result.trace, room.each) : Json(nullptr);
  row["step_left_out"] = result.trace && !draws;
  return row;
}

Json block_of(const ResultsPage& page, const TableBlock& block, Room& room) {
  const std::vector<std::size_t> order = ranked(block);
  const std::vector<std::string> names = row_names(block);
  const int best_price = cheapest(block);
  Json made{{"scenario", block.scenario},
            {"variant", block.variant},
            {"objective", block.objective},
            {"cluster", one_line(*block.cluster)},
            {"fabric", block.cluster->fabric},
            {"workload", one_line(*block.workload)},
            {"sentence", comparison(block, order)},
            {"gaps", gaps_text(block, order)},
            {"topology", topology_view(*block.cluster)},
            {"rows", Json::array()}};
  for (const std::size_t i : order) {
    Json row = row_of(page, block.results[i], room);
    row["name"] = names[i];
    row["cheapest"] = int(i) == best_price;
    made["rows"].push_back(std::move(row));
  }
  return made;
}

}  // namespace

std::string results_page(const ResultsPage& page) {
  Json document{{"kind", "results"}, {"version", page.head.version}, {"catalogue_hash", page.head.catalogue_hash}};
  document["blocks"] = Json::array();
  Room room = room_for(page.blocks);
  for (const TableBlock& block : page.blocks) document["blocks"].push_back(block_of(page, block, room));
  document["sources"] = Json::array();
  for (const PageSource& source : page.sources)
    document["sources"].push_back({{"scenario", source.scenario}, {"text", source.text}});
  return page_around(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace trainyard
