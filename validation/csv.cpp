#include "validation/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Splits a text into records of cells.
class Splitter {
 public:
  Splitter(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  std::vector<std::vector<std::string>> records() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (at_ < text_.size()) {
      record_ = {};
      read_record();
      if (record_.size() > 1 || !record_.front().empty()) all_.push_back(std::move(record_));
    }
    return std::move(all_);
  }

 private:
  void read_record() {
    for (;;) {
      record_.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
      if (at_ >= text_.size()) return;
      const char end = text_[at_++];
      if (end == ',') continue;
      if (end == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      return;
    }
  }

  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string cell = text_.substr(at_, end - at_);
    at_ = end;
    return cell;
  }

  std::string quoted() {
    std::string cell;
    for (++at_;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string::npos)
        throw UserError(fmt::format("{}: a quote in row {} does not end", name_, all_.size() + 1));
      cell += text_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (at_ >= text_.size() || text_[at_] != '"') break;
      cell += '"';
      ++at_;
    }
    return cell + plain();
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::vector<std::string> record_;
  std::vector<std::vector<std::string>> all_;
};

}  // namespace

const std::string& CsvRow::operator[](std::string_view column) const {
  static const std::string none;
  const auto found = std::find(header_->begin(), header_->end(), column);
  const auto at = static_cast<std::size_t>(found - header_->begin());
  return at < cells_.size() ? cells_[at] : none;
}

std::optional<double> CsvRow::number(std::string_view column) const {
  const std::string& text = (*this)[column];
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

int CsvRow::count(std::string_view column, int low) const {
  const std::optional<double> value = number(column);
  if (!value) throw Unmapped(fmt::format("{} is not given", column));
  if (*value != std::round(*value) || *value < low || *value > 1e9)
    throw Unmapped(fmt::format("{} {} is no count of at least {}", column, (*this)[column], low));
  return static_cast<int>(*value);
}

int CsvRow::count_or(std::string_view column, int fallback) const { return number(column) ? count(column) : fallback; }

bool CsvRow::has(std::string_view column, std::string_view part) const {
  return (*this)[column].find(part) != std::string::npos;
}

CsvTable read_csv_text(const std::string& text, const std::string& name) {
  std::vector<std::vector<std::string>> records = Splitter(text, name).records();
  CsvTable table{name, {}, {}};
  if (records.empty()) return table;
  table.header = records.front();
  const auto header = std::make_shared<const std::vector<std::string>>(table.header);
  for (std::size_t r = 1; r < records.size(); ++r) {
    if (records[r].size() > header->size())
      throw UserError(
          fmt::format("{}: row {} has {} cells, the header {}", name, r, records[r].size(), header->size()));
    table.rows.emplace_back(header, std::move(records[r]), static_cast<int>(r) - 1);
  }
  return table;
}

CsvTable read_csv(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !std::filesystem::is_regular_file(path) || !(text << in.rdbuf()))
    throw UserError(fmt::format("cannot read {:?}", path));
  return read_csv_text(text.str(), std::filesystem::path(path).filename().string());
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace trainyard
