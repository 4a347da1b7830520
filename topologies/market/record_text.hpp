// A file of lines, with the place of everything in it; private to topologies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"

namespace trainyard {

/// A piece of a line: text without blanks around it, and its column.
struct RecordCell {
  std::string_view text;
  int column = 1;
};

/// The lines of a file without line ends and byte-order mark.
class RecordText {
 public:
  RecordText(const std::string& name, const std::string& text);
  [[nodiscard]] std::size_t size() const { return file_->lines.size(); }
  [[nodiscard]] std::string_view line(std::size_t i) const { return file_->lines[i]; }
  [[nodiscard]] bool blank(std::size_t i) const;
  /// The line at commas; quotes keep commas.
  [[nodiscard]] std::vector<RecordCell> cells(std::size_t i) const;
  [[nodiscard]] SourcePlace place(std::size_t i, int column = 1) const;

 private:
  std::shared_ptr<const SourceFile> file_;
};

/// The whole text as a finite number, or nothing.
[[nodiscard]] std::optional<double> number_in(std::string_view text);
/// Seconds since 1970 of `2021-07-26T18:42:00Z`, `2021-09-17 04:00:00`, `2020-02-20T22:06:16.000Z`; nothing for another form or no date.
[[nodiscard]] std::optional<double> instant_in(std::string_view text);
/// The same of `2/24/2020`.
[[nodiscard]] std::optional<double> day_in(std::string_view text);

}  // namespace trainyard
