#include "topologies/rate_matrix.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

namespace trainyard {
namespace {

constexpr std::size_t kMostNodes = 512;
constexpr double kGigabit = 1e9 / 8;

/// The numbers of one line; nothing if a word is none.
std::optional<std::vector<double>> numbers_of(const std::string& line) {
  std::vector<double> numbers;
  const char* at = line.data();
  const char* const end = at + std::min(line.find('#'), line.size());
  while (at != end) {
    if (std::string_view(" \t,;\r").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    numbers.push_back(value);
    at = next;
  }
  return numbers;
}

std::string shape_mistake(const std::vector<std::vector<double>>& rows) {
  if (rows.size() < 2 || rows.size() > kMostNodes)
    return fmt::format("{} rows; a matrix has 2 to {}", rows.size(), kMostNodes);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].size() != rows.size())
      return fmt::format("row {} has {} numbers, and there are {} rows", r + 1, rows[r].size(), rows.size());
    for (std::size_t c = 0; c < rows.size(); ++c)
      if (c != r && (rows[r][c] <= 0 || rows[r][c] > 1e6))
        return fmt::format("row {}, column {}: {:g} Gbps is not above 0 and at most 1e6", r + 1, c + 1, rows[r][c]);
  }
  return "";
}

}  // namespace

std::vector<std::vector<double>> read_rate_matrix(const std::string& directory, const View& file,
                                                  Diagnostics& diagnostics) {
  const std::string path = (std::filesystem::path(directory) / file.text()).string();
  std::ifstream in(path);
  if (!std::filesystem::is_regular_file(path) || !in)
    return diagnostics.add(file.place(), "no file " + path), std::vector<std::vector<double>>{};
  std::vector<std::vector<double>> rows;
  std::string line, mistake;
  for (int number = 1; mistake.empty() && std::getline(in, line); ++number) {
    auto row = numbers_of(line);
    if (!row) mistake = fmt::format("line {} holds something other than numbers", number);
    if (row && !row->empty()) rows.push_back(*std::move(row));
  }
  if (mistake.empty()) mistake = shape_mistake(rows);
  if (!mistake.empty()) diagnostics.add(file.place(), path + ": " + mistake);
  for (auto& row : rows)
    for (double& rate : row) rate *= kGigabit;
  return rows;
}

}  // namespace trainyard
