#include "validation/data_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/report/output_file.hpp"
#include "sim/units/error.hpp"
#include "validation/csv.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  if (error) throw UserError(fmt::format("cannot read the folder {:?}: {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

void read_table(const fs::path& path, DataSet& data) {
  const CsvTable table = read_csv(path.string());
  const Source* source = recognise(table.header);
  if (!source) return data.unknown.push_back(table.name);
  for (Measurement& measurement : map_table(*source, table)) data.measurements.push_back(std::move(measurement));
}

}  // namespace

DataSet read_data_set(const std::string& folder) {
  DataSet data;
  for (const fs::path& path : files_of(folder)) {
    if (path.extension() == ".csv") read_table(path, data);
    if (path.extension() != ".yaml") continue;
    for (Measurement& measurement : read_measurement_yaml(path.string()))
      data.measurements.push_back(std::move(measurement));
  }
  return data;
}

std::string default_measurements() { return TRAINYARD_SOURCE_FOLDER "/validation/measurements"; }

std::vector<std::string> write_data_set(const DataSet& data, const std::string& folder) {
  std::map<std::string, std::vector<Measurement>> by_source;
  for (const Measurement& measurement : data.measurements)
    if (measurement.unmapped.empty()) by_source[measurement.source].push_back(measurement);
  make_folders(folder);
  std::vector<std::string> files;
  for (const auto& [source, measurements] : by_source) {
    files.push_back((fs::path(folder) / (source + ".yaml")).string());
    write_file(files.back(), to_measurement_yaml(measurements));
  }
  return files;
}

}  // namespace trainyard
