#include "workloads/route_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using Json = nlohmann::json;

/// Equal choices in a row that no real tokens make.
constexpr std::size_t kWarmUpRun = 16;
constexpr int kMostExperts = 100000;
constexpr std::uint64_t kMostLayers = 100000;

struct Route {
  int layer = 0;
  std::vector<int> experts;
};

/// "" or what is wrong.
std::string read_route(const Json& line, Route& route) {
  const auto layer = line.find("layer"), experts = line.find("topk_ids");
  if (layer == line.end() || !layer->is_number_unsigned() || layer->get<std::uint64_t>() >= kMostLayers) return "a route without `layer`";
  if (experts == line.end() || !experts->is_array() || experts->empty()) return "a route without `topk_ids`";
  route.layer = layer->get<int>();
  for (const Json& expert : *experts) {
    if (!expert.is_number_unsigned() || expert.get<std::uint64_t>() >= kMostExperts) return fmt::format("`topk_ids` holds {}, which is no expert", expert.dump());
    route.experts.push_back(expert.get<int>());
  }
  return "";
}

void count(const std::vector<Route>& run, bool skip_warm_up, RouteLog& log) {
  if (skip_warm_up && run.size() >= kWarmUpRun) return;
  for (const Route& route : run)
    for (const int expert : route.experts) {
      std::vector<double>& hits = log.hits[route.layer];
      if (hits.size() <= std::size_t(expert)) hits.resize(std::size_t(expert) + 1, 0);
      ++hits[std::size_t(expert)];
    }
}

}  // namespace

RouteLog read_route_log(std::string_view text, bool skip_warm_up) {
  RouteLog log;
  std::vector<Route> run;                    // equal choices in a row
  int number = 0;
  for (std::size_t from = 0; from < text.size() && log.problem.empty();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) return {{}, fmt::format("line {}: no JSON object", number)};
    if (const auto type = object.find("type"); type == object.end() || *type != "route") continue;
    Route route;
    if (const std::string problem = read_route(object, route); !problem.empty()) return {{}, fmt::format("line {}: {}", number, problem)};
    if (!run.empty() && (run.back().layer != route.layer || run.back().experts != route.experts)) {
      count(run, skip_warm_up, log);
      run.clear();
    }
    run.push_back(std::move(route));
  }
  count(run, skip_warm_up, log);
  if (log.hits.empty()) log.problem = "holds no routes";
  return log;
}

}  // namespace trainyard
