// The SQLite file of a sweep.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

struct sqlite3;

namespace trainyard {

/// What was asked, by name: version, catalogues, scenario, grid, .. Two stores belong to one sweep if all of it is
/// equal.
using SweepIdentity = std::map<std::string, std::string>;

/// One record of a point: `row` counts its variants and strategies in file order.
struct SweepRow {
  std::size_t point = 0, row = 0;
  std::string record;  ///< JSON object
  friend bool operator==(const SweepRow&, const SweepRow&) = default;
};

/// One sweep in one file. Several processes may use it at once; each write is a transaction, so that a process which is
/// killed leaves whole points only. Throws UserError for a file that is no store, OutputError where the disk refuses.
class SweepStore {
 public:
  /// Opens `path`, or makes it for the sweep `identity`. UserError if it holds another sweep, with what differs.
  static SweepStore open(const std::string& path, const SweepIdentity& identity);
  /// An existing one, to read.
  static SweepStore open_to_read(const std::string& path);

  [[nodiscard]] const SweepIdentity& identity() const { return identity_; }
  /// The points that are done.
  [[nodiscard]] std::set<std::size_t> points() const;
  /// In order of point and row.
  [[nodiscard]] std::vector<SweepRow> rows() const;
  /// All rows of one or several points; rows that are there already stay. All or nothing.
  void add(const std::vector<SweepRow>& rows);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  SweepStore(std::string path, int flags);
  void read_identity();
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
  SweepIdentity identity_;
};

}  // namespace trainyard
