#include "validation/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"

namespace trainyard {
namespace {

constexpr const char* kKinds[] = {"all", "source", "gpu", "model class", "architecture", "architecture and split", "split"};

Schema budget_schema() {
  using namespace schema;
  const auto error = [](const char* help) { return number(between(0, 1e9), help); };
  const Schema limits = object(
      {optional("median", error("of the step time's error, a share")), optional("p90", error("90th percentile of it")),
       optional("memory_median", error("of the peak memory's error")),
       optional("memory_p90", error("90th percentile of it")),
       optional("predicted", integer(between(0, 1e9), "least number of rows predicted"))},
      "limits of one group");
  std::vector<SchemaField> kinds;
  for (const char* kind : kKinds) kinds.push_back(optional(kind, mapping("group", limits, "limits by group")));
  return object(std::move(kinds), "limits on the errors of validation");
}

struct Limit {
  const char* key;
  const char* figure;
  std::optional<ErrorSummary> GroupErrors::*of;
  double ErrorSummary::*value;
};
constexpr Limit kLimits[] = {
    {"median", "median step time error", &GroupErrors::time, &ErrorSummary::median},
    {"p90", "90th percentile of the step time error", &GroupErrors::time, &ErrorSummary::p90},
    {"memory_median", "median memory error", &GroupErrors::memory, &ErrorSummary::median},
    {"memory_p90", "90th percentile of the memory error", &GroupErrors::memory, &ErrorSummary::p90}};

void check_group(const View& limits, const std::string& name, const GroupErrors* group,
                 std::vector<std::string>& past) {
  if (!group) return past.push_back(fmt::format("{}: no rows", name));
  for (const Limit& limit : kLimits) {
    if (!limits[limit.key]) continue;
    const double allowed = limits[limit.key].number();
    const auto& summary = group->*limit.of;
    if (!summary)
      past.push_back(
          fmt::format("{}: {} is limited to {:.1f} %, but nothing is compared", name, limit.figure, 100 * allowed));
    else if ((*summary).*limit.value > allowed)
      past.push_back(fmt::format("{}: {} {:.1f} %, allowed {:.1f} %", name, limit.figure, 100 * (*summary).*limit.value,
                                 100 * allowed));
  }
  if (const auto least = limits["predicted"].integer_or(0); group->predicted < static_cast<std::size_t>(least))
    past.push_back(fmt::format("{}: {} rows predicted, at least {} wanted", name, group->predicted, least));
}

}  // namespace

std::vector<std::string> past_budget(const std::string& file, const std::vector<ComparedRow>& rows) {
  Diagnostics diagnostics;
  const ConfigValue document = read_yaml_file(file, diagnostics);
  if (diagnostics.empty()) check(document, budget_schema(), diagnostics);
  diagnostics.throw_if_any();
  const std::vector<GroupErrors> groups = group_errors(rows);
  std::vector<std::string> past;
  const View root(document);
  for (const std::string& kind : root.keys())
    for (const std::string& name : root[kind].keys()) {
      const auto found = std::find_if(groups.begin(), groups.end(),
                                      [&](const GroupErrors& g) { return g.kind == kind && g.name == name; });
      check_group(root[kind][name], kind + " " + name, found == groups.end() ? nullptr : &*found, past);
    }
  return past;
}

}  // namespace trainyard
