#include "sim/sweep/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <string_view>

#include "sim/report/output_file.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr int kPatience = 60'000;  ///< milliseconds that another process may keep the file
constexpr const char* kFormat = "trainyard/sweep/1";
constexpr const char* kTables =
    "CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE result (point INTEGER NOT NULL, row INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (point, "
    "row));";

bool is_no_store(int code) { return code == SQLITE_NOTADB || code == SQLITE_CORRUPT; }

[[noreturn]] void fail(sqlite3* database, int code, const std::string& path) {
  if (is_no_store(code)) throw UserError(fmt::format("{}: no sweep store: {}", path, ::sqlite3_errmsg(database)));
  throw OutputError(fmt::format("{}: {}", path, database != nullptr ? ::sqlite3_errmsg(database) : "out of memory"));
}

/// One prepared statement.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, std::string_view text) : database_(database), path_(path) {
    const int code = ::sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &statement_, nullptr);
    if (code == SQLITE_ERROR) throw UserError(fmt::format("{}: no sweep store: {}", path, ::sqlite3_errmsg(database)));
    if (code != SQLITE_OK) fail(database, code, path);
  }
  ~Statement() { ::sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int place, const std::string& text) {
    ::sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int place, std::size_t number) {
    ::sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(number));
  }
  /// Whether there is a row.
  bool step() {
    const int code = ::sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, code, path_);
    return code == SQLITE_ROW;
  }
  void reset() { ::sqlite3_reset(statement_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* start = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, column));
    return start == nullptr ? ""
                            : std::string(start, static_cast<std::size_t>(::sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] std::size_t number(int column) const {
    return static_cast<std::size_t>(::sqlite3_column_int64(statement_, column));
  }

 private:
  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

void execute(sqlite3* database, const std::string& path, const char* text) {
  const int code = ::sqlite3_exec(database, text, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database, code, path);
}

/// Undone unless committed.
class Transaction {
 public:
  Transaction(sqlite3* database, const std::string& path) : database_(database), path_(path) {
    execute(database, path, "BEGIN IMMEDIATE");
  }
  ~Transaction() {
    if (!committed_) ::sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    execute(database_, path_, "COMMIT");
    committed_ = true;
  }

 private:
  sqlite3* database_;
  const std::string& path_;
  bool committed_ = false;
};

void write_identity(sqlite3* database, const std::string& path, const SweepIdentity& identity) {
  execute(database, path, kTables);
  Statement insert(database, path, "INSERT INTO identity VALUES (?1, ?2)");
  SweepIdentity all = identity;
  all["format"] = kFormat;
  for (const auto& [name, value] : all) {
    insert.bind(1, name);
    insert.bind(2, value);
    insert.step();
    insert.reset();
  }
}

bool has_tables(sqlite3* database, const std::string& path) {
  Statement count(database, path, "SELECT count(*) FROM sqlite_master");
  return count.step() && count.number(0) > 0;
}

void refuse_other(const std::string& path, const SweepIdentity& stored, const SweepIdentity& asked) {
  for (const auto& [name, value] : asked) {
    const auto found = stored.find(name);
    if (found != stored.end() && found->second == value) continue;
    throw UserError(fmt::format(
        "{}: holds the results of another sweep: its {} differs; give --store another file, or remove this one", path,
        name));
  }
}

}  // namespace

void SweepStore::Close::operator()(sqlite3* database) const { ::sqlite3_close(database); }

SweepStore::SweepStore(std::string path, int flags) : path_(std::move(path)) {
  sqlite3* database = nullptr;
  const int code = ::sqlite3_open_v2(path_.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(database, code, path_);
  ::sqlite3_busy_timeout(database, kPatience);
}

SweepStore SweepStore::open(const std::string& path, const SweepIdentity& identity) {
  SweepStore store(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* database = store.database_.get();
  execute(database, path, "PRAGMA journal_mode = WAL");
  Transaction making(database, store.path_);
  if (!has_tables(database, path)) write_identity(database, path, identity);
  making.commit();
  store.read_identity();
  refuse_other(path, store.identity_, identity);
  return store;
}

SweepStore SweepStore::open_to_read(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UserError(fmt::format("{}: no such file", path));
  SweepStore store(path, SQLITE_OPEN_READWRITE);
  store.read_identity();
  return store;
}

void SweepStore::read_identity() {
  Statement all(database_.get(), path_, "SELECT name, value FROM identity");
  while (all.step()) identity_[all.text(0)] = all.text(1);
  if (identity_["format"] != kFormat)
    throw UserError(
        fmt::format("{}: a store of the form \"{}\", this version reads \"{}\"", path_, identity_["format"], kFormat));
}

std::set<std::size_t> SweepStore::points() const {
  std::set<std::size_t> points;
  Statement all(database_.get(), path_, "SELECT DISTINCT point FROM result");
  while (all.step()) points.insert(all.number(0));
  return points;
}

std::vector<SweepRow> SweepStore::rows() const {
  std::vector<SweepRow> rows;
  Statement all(database_.get(), path_, "SELECT point, row, record FROM result ORDER BY point, row");
  while (all.step()) rows.push_back({all.number(0), all.number(1), all.text(2)});
  return rows;
}

void SweepStore::add(const std::vector<SweepRow>& rows) {
  Transaction adding(database_.get(), path_);
  Statement insert(database_.get(), path_, "INSERT OR IGNORE INTO result VALUES (?1, ?2, ?3)");
  for (const SweepRow& row : rows) {
    insert.bind(1, row.point);
    insert.bind(2, row.row);
    insert.bind(3, row.record);
    insert.step();
    insert.reset();
  }
  adding.commit();
}

}  // namespace trainyard
