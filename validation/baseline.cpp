#include "validation/baseline.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/job/case.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/record.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/scenario_cases.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "trainyard/baseline/1";
/// Keys of a result that are compared; parts of a key follow a dot.
constexpr const char* kFigures[] = {"step_time_s",
                                    "first_step_s",
                                    "tokens_per_s",
                                    "model_tflops_per_gpu",
                                    "mfu",
                                    "hfu",
                                    "bubble_fraction",
                                    "exposed_communication_fraction",
                                    "peak_memory_bytes",
                                    "peak_host_memory_bytes",
                                    "price_usd_per_h",
                                    "alone_step_time_s",
                                    "usd_per_million_tokens",
                                    "goodput_tokens_per_s",
                                    "usd_total",
                                    "useful_s",
                                    "lost_work_s",
                                    "checkpoint_s",
                                    "reconfiguration_s",
                                    "preemptions"};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !fs::is_regular_file(path) || !(text << in.rdbuf()))
    throw UserError(fmt::format("cannot read {:?}", path));
  return text.str();
}

BaselineCase case_of(const CaseResult& result) {
  const Json record = to_record(result, false);
  BaselineCase kept{result.variant, result.strategy, record.at("status").get<std::string>(), {}};
  for (const char* key : kFigures)
    if (record.contains(key) && record[key].is_number()) kept.figures[key] = record[key].get<double>();
  for (const JobResult& job : result.jobs) {
    kept.figures["jobs." + job.name + ".step_time_s"] = job.step.step_time.value;
    kept.figures["jobs." + job.name + ".alone_step_time_s"] = job.alone_step_time.value;
  }
  return kept;
}

std::vector<BaselineCase> simulate(const Scenario& scenario, int jobs, const WorkerNursery& nursery) {
  std::vector<Case> cases;
  for (const Variant& variant : scenario.variants)
    for (const StrategyChoice& choice : scenario.strategies) cases.push_back(case_of(scenario, variant, choice));
  std::vector<BaselineCase> kept;
  for (const CaseResult& result : run_cases(cases, CaseOptions{}, jobs, nursery, {})) kept.push_back(case_of(result));
  return kept;
}

/// Whether a text names a whole folder: its path, and nothing of a longer one behind it.
bool names_folder(const std::string& text, const std::string& folder) {
  if (folder.empty()) return false;
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
    const std::size_t end = at + folder.size();
    if (end == text.size() || std::string_view(",}\"' \n").find(text[end]) != std::string_view::npos) return true;
  }
  return false;
}

/// Files below `folder` whose paths the text names; folders that it does not name are not entered.
void collect_named(const fs::path& folder, const fs::path& below, const fs::path& scenario_file, const std::string& text,
                   std::map<std::string, std::string>& files) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path path = below / entry.path().filename();
    if (entry.is_directory() && (text.find(path.string() + "/") != std::string::npos || names_folder(text, path.string())))
      collect_named(entry.path(), path, scenario_file, text, files);
    const bool other = entry.is_regular_file() && path != scenario_file.filename();
    if (other && (text.find(path.string()) != std::string::npos || names_folder(text, path.parent_path().string()))) files[path.string()] = read_text(entry.path().string());
  }
}

/// Files beside the scenario that its text names: a baseline must not need them later.
std::map<std::string, std::string> files_beside(const std::string& scenario_file, const std::string& text) {
  std::map<std::string, std::string> files;
  const fs::path folder = fs::path(scenario_file).parent_path();
  collect_named(folder.empty() ? fs::path(".") : folder, {}, scenario_file, text, files);
  return files;
}

/// A folder for the files of a baseline, removed at the end.
class Unpacked {
 public:
  explicit Unpacked(const Baseline& baseline) {
    std::string pattern = (fs::temp_directory_path() / "trainyard-check-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw OutputError("cannot make a temporary folder");
    path_ = pattern;
    for (const auto& [name, text] : baseline.files) {
      const fs::path file = inside(name);
      fs::create_directories(file.parent_path());
      write_file(file.string(), text);
    }
  }
  ~Unpacked() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  /// Never outside the folder, whatever the baseline says.
  [[nodiscard]] fs::path inside(const std::string& name) const {
    const fs::path path = fs::path(name).lexically_normal();
    const bool leaves = path.is_absolute() || path.begin() == path.end() || *path.begin() == "..";
    return fs::path(path_) / (leaves ? path.filename() : path);
  }

  std::string path_;
};

std::string name_of(const BaselineCase& which) {
  return which.variant.empty() ? which.strategy : which.variant + " · " + which.strategy;
}

void compare_figures(const BaselineCase& was, const BaselineCase& is, const Tolerance& tolerance,
                     std::vector<std::string>& drift) {
  for (const auto& [key, before] : was.figures) {
    const auto found = is.figures.find(key);
    if (found == is.figures.end()) {
      drift.push_back(fmt::format("{}: {} is gone, was {:.6g}", name_of(was), key, before));
      continue;
    }
    const double change = found->second - before, allowed = tolerance.for_figure(key);
    if (std::abs(change) > allowed * std::abs(before))
      drift.push_back(fmt::format("{}: {} {:.6g} -> {:.6g}{}; tolerance {:.4g} %", name_of(was), key, before, found->second,
                                  before == 0 ? "" : fmt::format(" ({:+.2f} %)", 100 * change / std::abs(before)), 100 * allowed));
  }
  for (const auto& [key, value] : is.figures)
    if (!was.figures.contains(key)) drift.push_back(fmt::format("{}: {} is new: {:.6g}", name_of(was), key, value));
}

}  // namespace

std::vector<std::string> drift_between(const std::vector<BaselineCase>& stored, const std::vector<BaselineCase>& now,
                                       const Tolerance& tolerance) {
  std::vector<std::string> drift;
  if (stored.size() != now.size()) drift.push_back(fmt::format("{} cases, were {}", now.size(), stored.size()));
  for (std::size_t i = 0; i < std::min(stored.size(), now.size()); ++i) {
    if (name_of(stored[i]) != name_of(now[i]))
      drift.push_back(fmt::format("case {} is {}, was {}", i + 1, name_of(now[i]), name_of(stored[i])));
    if (stored[i].status != now[i].status)
      drift.push_back(fmt::format("{}: status {} -> {}", name_of(stored[i]), stored[i].status, now[i].status));
    compare_figures(stored[i], now[i], tolerance, drift);
  }
  return drift;
}

std::string other_maker(const Maker& kept, const Maker& now) {
  if (kept == now) return "";
  if (kept.version != now.version) return fmt::format("kept by version {}, this is {}", kept.version, now.version);
  if (kept.catalogue_hash.empty()) return "kept without a hash of its catalogues";
  return fmt::format("kept with other catalogues ({}, now {})", kept.catalogue_hash, now.catalogue_hash);
}

std::vector<std::string> baseline_figures() { return {std::begin(kFigures), std::end(kFigures)}; }

Baseline make_baseline(const std::string& scenario_file, const Maker& maker, int jobs,
                       const WorkerNursery& nursery) {
  const Scenario scenario = load_scenario(scenario_file);
  Baseline baseline{scenario.name, maker, read_text(scenario_file), {}, {}};
  baseline.files = files_beside(scenario_file, baseline.scenario);
  baseline.cases = simulate(scenario, jobs, nursery);
  return baseline;
}

BaselineOutcome check_baseline(const std::string& file, const CheckOptions& options, const WorkerNursery& nursery) {
  const Baseline baseline = from_baseline_json(read_text(file), file);
  const Unpacked folder(baseline);
  const Scenario scenario = load_scenario_text(baseline.scenario, baseline.name + ".yaml", folder.path());
  BaselineOutcome outcome{baseline.name, baseline.cases.size(), 0, {}};
  for (const BaselineCase& one : baseline.cases) outcome.figures += one.figures.size();
  if (const std::string other = other_maker(baseline.maker, options.now); !other.empty() && !options.figures_only)
    outcome.drift.push_back(other + ": figures may differ for that reason (--figures-only compares them alone, --update keeps new ones)");
  for (std::string& line : drift_between(baseline.cases, simulate(scenario, options.jobs, nursery), options.tolerance))
    outcome.drift.push_back(std::move(line));
  return outcome;
}

std::string to_baseline_json(const Baseline& baseline) {
  Json cases = Json::array();
  for (const BaselineCase& one : baseline.cases)
    cases.push_back(
        {{"variant", one.variant}, {"strategy", one.strategy}, {"status", one.status}, {"figures", one.figures}});
  const Json document{{"schema", kSchema},           {"name", baseline.name},
                      {"version", baseline.maker.version}, {"catalogue_hash", baseline.maker.catalogue_hash},
                      {"scenario", baseline.scenario}, {"files", baseline.files},     {"cases", cases}};
  return document.dump(1) + "\n";
}

Baseline from_baseline_json(const std::string& text, const std::string& file) {
  try {
    const Json document = Json::parse(text);
    if (document.at("schema") != kSchema) throw UserError(fmt::format("{}: schema is not {}", file, kSchema));
    Baseline baseline{document.at("name"), {document.at("version"), document.value("catalogue_hash", "")}, document.at("scenario"),
                      document.at("files"), {}};
    for (const Json& one : document.at("cases"))
      baseline.cases.push_back({one.at("variant"), one.at("strategy"), one.at("status"), one.at("figures")});
    return baseline;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{}: not a baseline: {}", file, error.what()));
  }
}

}  // namespace trainyard
