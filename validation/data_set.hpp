// The measurements of a folder: published tables as CSV, or our own form.
#pragma once

#include <string>
#include <vector>

#include "validation/measurement.hpp"

namespace trainyard {

struct DataSet {
  std::vector<Measurement> measurements;  ///< by file name, then as they stand in the file
  std::vector<std::string> unknown;       ///< files that no source recognises
};

/// Reads every .csv (by its header) and .yaml (our own form) of a folder. Throws UserError for a folder or a file that
/// cannot be read.
[[nodiscard]] DataSet read_data_set(const std::string& folder);

/// The folder of measurements in the source tree that the program was built from.
[[nodiscard]] std::string default_measurements();

/// Our own form, one file a source: clusters and workloads by name, then one line a measurement, quantities with units.
/// Only rows that became scenarios are written. Returns the files written.
std::vector<std::string> write_data_set(const DataSet& data, const std::string& folder);

/// One file of that form.
[[nodiscard]] std::string to_measurement_yaml(const std::vector<Measurement>& measurements);
[[nodiscard]] std::vector<Measurement> read_measurement_yaml(const std::string& path);

}  // namespace trainyard
