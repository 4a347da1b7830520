// Error bands and memory verdicts drawn from validation; the file that results read is theirs and not stale.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/config/view.hpp"
#include "sim/engine/workers.hpp"
#include "validation/bands.hpp"
#include "validation/data_set.hpp"
#include "validation/verdicts.hpp"
#include "validation/yardsticks.hpp"

using namespace trainyard;

namespace {

ComparedRow row(const std::string& source, const Ground& ground, double error) {
  ComparedRow row;
  row.measured.source = source;
  row.measured.id = "r";
  row.measured.step_time_s = 1;
  row.predicted.step_time_s = 1 + error;
  row.predicted.ideal_time_s = 0.5;
  row.predicted.ground = ground;
  return row;
}

const Ground kSmallAmpere{"Ampere", "under 3 B", "1 node"};

/// Errors of +1, +2, .. +21 % in two sources.
std::vector<ComparedRow> graded() {
  std::vector<ComparedRow> rows;
  for (int i = 1; i <= 21; ++i) {
    rows.push_back(row(i % 2 == 0 ? "a" : "b", kSmallAmpere, i / 100.0));
    rows.back().measured.id = std::to_string(i);
  }
  return rows;
}

ComparedRow known(bool out, double fill, const std::string& group) {
  ComparedRow row;
  row.measured.out_of_memory = out;
  row.measured.group = group;
  row.predicted.fill = fill;
  return row;
}

/// A group of each split.
std::string group_of(const std::string& split) {
  Measurement m;
  for (int i = 0;; ++i) {
    m.group = "g" + std::to_string(i);
    if (split_of(m) == split) return m.group;
  }
}

std::string text_of(const std::string& path) {
  std::ifstream in(TRAINYARD_SOURCE_DIR "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a band has the quantiles of its group's errors: 21 errors of 1 to 21 %") {
  std::string text = error_bands_text(graded(), "0");
  const auto band = nearest_band(read_error_bands(text, "bands"), kSmallAmpere);
  REQUIRE(band);
  CHECK(band->group == "Ampere, under 3 B, 1 node");
  CHECK(band->rows == 21);
  CHECK(band->median == Approx(0.11));
  CHECK(band->low == Approx(0.03));
  CHECK(band->high == Approx(0.19));
  CHECK(band->eight_of_ten == Approx(0.17));
}

TEST_CASE("too few rows or one source are no group: a run takes its nearest group that is one") {
  std::vector<ComparedRow> rows = graded();
  for (int i = 0; i < 30; ++i) rows.push_back(row("a", {"Hopper", "under 3 B", "2 to 8 nodes"}, 0.5));  // one source
  const ErrorBands bands{draw_bands(rows), {}};
  CHECK(nearest_band(bands, {"Ampere", "3 to 15 B", "1 node"})->group.empty());  // groups are named when they are read
  CHECK(nearest_band(bands, {"Ampere", "3 to 15 B", "1 node"})->rows == 21);    // Ampere on one node, any model
  CHECK(nearest_band(bands, {"Hopper", "under 3 B", "2 to 8 nodes"})->rows == 51);  // all runs
  CHECK_FALSE(nearest_band(bands, {}));
}

TEST_CASE("classes of models and of node counts") {
  CHECK(model_class_of(2.9e9) == "under 3 B");
  CHECK(model_class_of(3e9) == "3 to 15 B");
  CHECK(model_class_of(80e9) == "80 B and more");
  CHECK(model_class_of(0).empty());
  CHECK(node_class_of(1) == "1 node");
  CHECK(node_class_of(8) == "2 to 8 nodes");
  CHECK(node_class_of(64) == "9 to 64 nodes");
  CHECK(node_class_of(65) == "more than 64 nodes");
}

TEST_CASE("mistakes in a file of bands name their line") {
  CHECK_THROWS_WITH(read_error_bands("memory_fill: {fits_below: 1}\nbands: []\nwitnesses: {}\n", "b.yaml"), Catch::Contains("b.yaml:1:14"));
}

TEST_CASE("bounds of the memory verdict come from the rows that may be fitted on") {
  const std::string fitted_on = group_of("calibrate"), kept = group_of("test");
  const std::vector<ComparedRow> rows{known(true, 0.9, fitted_on), known(true, 1.4, fitted_on), known(false, 1.1, fitted_on),
                                      known(false, 0.4, fitted_on), known(true, 0.5, kept),      known(true, 1.05, kept)};
  const FillBounds bounds = draw_fill_bounds(rows);
  CHECK(bounds.fits_below == Approx(0.9 + 0.02 * 0.5));
  CHECK(bounds.out_above == Approx(1.1 - 0.02 * 0.7));
  CHECK(fit_verdict(0.8, bounds) == FitVerdict::fits);
  CHECK(fit_verdict(1.0, bounds) == FitVerdict::uncertain);
  CHECK(fit_verdict(1.2, bounds) == FitVerdict::out);
  const UncertainVerdicts v = uncertain_verdicts(rows, bounds);
  CHECK(v.out_out == 1);
  CHECK(v.out_fit == 1);  // 1.1 lies above its own 98 %
  CHECK(v.uncertain_out == 1);
  CHECK(v.fits_out == 2);
  CHECK(v.fits_fit == 1);
}

TEST_CASE("one source left out: its factor is the median of the others of its generation") {
  // b runs 2 x as long as predicted, c 4 x: a gets the factor 3; d's generation stands alone and keeps its own.
  const auto errors = left_out_errors({1, 2, 4, 1}, {1, 1, 1, 1}, {"x", "x", "x", "y"}, {"a", "b", "c", "d"});
  CHECK(errors[0] == Approx(2));
  CHECK(errors[1] == Approx(2.5 / 2 - 1));
  CHECK(errors[3] == Approx(0).margin(1e-12));
}

TEST_CASE("validation/error_bands.yaml is what this version predicts: its witnesses, simulated again, are within half a percent") {
  Diagnostics diagnostics;
  const ConfigValue document = read_yaml_text(text_of("validation/error_bands.yaml"), "error_bands.yaml", diagnostics);
  REQUIRE(diagnostics.empty());
  const View kept = View(document)["witnesses"];
  std::vector<Measurement> rows;
  for (const Measurement& m : read_data_set(default_measurements()).measurements)
    if (kept[m.source + "/" + m.id]) rows.push_back(m);
  REQUIRE(rows.size() == kept.size());
  REQUIRE(rows.size() >= 15);
  const WorkerNursery nursery = WorkerNursery::start();
  const std::vector<Prediction> predictions = predict(rows, 2, nursery, nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].source << "/" << rows[i].id << ": draw the bands anew with trainyard validate --write-bands validation/error_bands.yaml");
    REQUIRE(predictions[i].step_time_s);
    CHECK(*predictions[i].step_time_s == Approx(kept[rows[i].source + "/" + rows[i].id].number()).epsilon(0.005));
  }
  CHECK(error_bands().entries.size() > 20);
}

TEST_CASE("no parameter of the catalogues names a model, a number of GPUs or a row; presets hold only switches") {
  std::vector<std::string> forbidden{"model", "models", "gpus", "count", "row", "rows", "id", "layers", "hidden"};
  for (const Measurement& m : read_data_set(default_measurements()).measurements) {
    forbidden.push_back(m.model);
    forbidden.push_back(m.id);
  }
  std::sort(forbidden.begin(), forbidden.end());
  const std::function<void(const View&)> walk = [&](const View& value) {
    for (std::size_t i = 0; value.is_list() && i < value.size(); ++i) walk(value.at(i));
    if (!value.is_map()) return;
    for (const std::string& key : value.keys()) {
      INFO(key);
      CHECK_FALSE(std::binary_search(forbidden.begin(), forbidden.end(), key));
      if (key == "name") CHECK_FALSE(std::binary_search(forbidden.begin(), forbidden.end(), value[key].text()));
      walk(value[key]);
    }
  };
  Diagnostics diagnostics;
  for (const char* file : {"topologies/gpu_fits.yaml", "topologies/transports.yaml"}) walk(View(read_yaml_text(text_of(file), file, diagnostics)));
  const ConfigValue presets = read_yaml_text(text_of("workloads/software.yaml"), "software.yaml", diagnostics);
  REQUIRE(diagnostics.empty());
  for (const std::string& preset : View(presets).keys())
    for (const std::string& key : View(presets)[preset].keys()) {
      const std::string word = View(presets)[preset][key].text();
      INFO(preset << "." << key << ": " << word);
      if (key != "source") CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos);
      if (key != "source") CHECK(std::isalpha(static_cast<unsigned char>(word[0])));
    }
}
