// Tables as published: CSV files (RFC 4180) with a header line.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Why a row cannot become a scenario; caught by the reader of its table.
struct Unmapped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One row. A column that the table does not have, or an empty cell, is "".
class CsvRow {
 public:
  CsvRow(std::shared_ptr<const std::vector<std::string>> header, std::vector<std::string> cells, int number)
      : header_(std::move(header)), cells_(std::move(cells)), number_(number) {}

  [[nodiscard]] const std::string& operator[](std::string_view column) const;
  /// A finite number; nothing for an empty cell and for words.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  /// Throws Unmapped unless the cell holds a whole number of at least `low`.
  [[nodiscard]] int count(std::string_view column, int low = 1) const;
  [[nodiscard]] int count_or(std::string_view column, int fallback) const;
  [[nodiscard]] bool is(std::string_view column, std::string_view text) const { return (*this)[column] == text; }
  [[nodiscard]] bool has(std::string_view column, std::string_view part) const;
  /// 0 for the first row below the header.
  [[nodiscard]] int row_number() const { return number_; }

 private:
  std::shared_ptr<const std::vector<std::string>> header_;
  std::vector<std::string> cells_;
  int number_;
};

struct CsvTable {
  std::string name;  ///< of the file, without its folder
  std::vector<std::string> header;
  std::vector<CsvRow> rows;
};

/// Throws UserError for a file that cannot be read, a quote that does not end and a row with more cells than the
/// header.
[[nodiscard]] CsvTable read_csv(const std::string& path);
[[nodiscard]] CsvTable read_csv_text(const std::string& text, const std::string& name);

/// A cell as CSV, quoted where it must be.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace trainyard
