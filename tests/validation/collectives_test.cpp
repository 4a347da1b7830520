// The catalogue's times of collectives against measurements: the figures reached, as budgets. Both halves of the sizes are looked at:
// those fitted to (validation/fit) and those held out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>

#include "topologies/catalogue.hpp"
#include "validation/fit/collectives_fit.hpp"

using namespace trainyard;
using fit::Measurement;

namespace {

constexpr double kMiB = 1024 * 1024;

/// Of ../shared; none, with a message, where it is absent.
std::string data_folder() {
  const auto path = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/data/validation";
  if (std::filesystem::exists(path / "nccl_intranode_measured.csv") && std::filesystem::exists(path / "network_nccl_tests.csv"))
    return path.string();
  WARN("skipped: no ../shared/data/validation");
  return "";
}

const Transport& catalogued(const std::string& name) { return catalogue().transport(name)->transport; }

std::vector<double> ratios(const std::vector<Measurement>& all, const std::function<bool(const Measurement&)>& wanted) {
  std::vector<double> found;
  for (Measurement m : all) {
    if (!wanted(m)) continue;
    if (m.shape.inside) m.shape.inside->transport = catalogued(m.shape.inside->transport.name);
    found.push_back(fit::ratio(m, catalogued(m.transport)));
  }
  return found;
}

/// Value of |model / measured - 1| below which the share lies.
double error_at(const std::vector<double>& ratios, double share) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1));
  std::ranges::sort(errors);
  return errors.at(std::min(errors.size() - 1, static_cast<std::size_t>(share * double(errors.size()))));
}

double within_half_again(const std::vector<double>& ratios) {
  return double(std::ranges::count_if(ratios, [](double r) { return r <= 1.5 && r >= 1 / 1.5; })) / double(ratios.size());
}

bool is_large(const Measurement& m) { return m.size.value >= kMiB && m.size.value <= 512 * kMiB; }
bool is_small(const Measurement& m) { return m.size.value >= 1024 && m.size.value <= kMiB; }

}  // namespace

TEST_CASE("collectives inside a node, sizes held out") {
  const std::string folder = data_folder();
  if (folder.empty()) return;
  const std::vector<Measurement> all = fit::intra_node(folder);
  const auto large = ratios(all, [](const Measurement& m) { return m.held_out && is_large(m); });
  REQUIRE(large.size() == 500);
  CHECK(error_at(large, 0.5) < 0.06);
  CHECK(error_at(large, 0.9) < 0.21);
  CHECK(within_half_again(ratios(all, [](const Measurement& m) { return m.held_out && is_small(m); })) > 0.96);
}

TEST_CASE("all-reduces between nodes, sizes held out") {
  const std::string folder = data_folder();
  if (folder.empty()) return;
  const std::vector<Measurement> all = fit::inter_node(folder);
  const auto large = ratios(all, [](const Measurement& m) { return m.held_out && m.size.value > kMiB; });
  REQUIRE(large.size() > 35);
  CHECK(error_at(large, 0.5) < 0.07);
  CHECK(error_at(large, 0.9) < 0.15);
  CHECK(within_half_again(ratios(all, [](const Measurement& m) { return m.held_out && is_small(m); })) > 0.94);
}

TEST_CASE("1 GiB all-reduces on 16 to 128 A100 are within 6 %") {
  const std::string folder = data_folder();
  if (folder.empty()) return;
  const auto gibibytes = ratios(fit::inter_node(folder), [](const Measurement& m) {
    return m.series.starts_with("echo_a100") && m.size.value == 1024 * kMiB;
  });
  REQUIRE(gibibytes.size() == 4);
  CHECK(error_at(gibibytes, 1) < 0.06);
}
