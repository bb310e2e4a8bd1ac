#include "delivery/broker/store_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "base/owned_fd.h"
#include "delivery/broker/sqlite_broker_file.h"
#include "holdfast/assert.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast::delivery {

namespace {

// Of messages with large bodies too.
constexpr std::int64_t kPageRows = 64;
constexpr std::chrono::milliseconds kCopyBusyTime{5000};

struct Column {
  std::string name;
  char type = 't';  // of a parameter: t, i, b
  bool nullable = false;
  std::int64_t key_part = 0;  // from 1; 0: not of the primary key
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::size_t> key;  // places of the primary key, in its order

  // The database numbers the rows by itself.
  [[nodiscard]] bool numbered() const {
    return key.size() == 1 && columns[key.front()].type == 'i';
  }
};

Result<Table> read_table(SqlSession& sqlite, std::string name) {
  Table table{std::move(name), {}, {}};
  HOLDFAST_TRY(const SqlRows rows,
               sqlite.query("SELECT name, type, \"notnull\", pk FROM pragma_table_info($1t) "
                            "ORDER BY cid",
                            {table.name}));
  for (const auto& row : rows) {
    const bool in_key = row[3].integer > 0;
    table.columns.push_back({row[0].bytes,
                             row[1].bytes == "INTEGER" ? 'i'
                             : row[1].bytes == "BLOB"  ? 'b'
                                                       : 't',
                             row[2].integer == 0 && !in_key, row[3].integer});
    if (in_key) {
      table.key.push_back(table.columns.size() - 1);
    }
  }
  std::ranges::sort(table.key, {}, [&](std::size_t at) { return table.columns[at].key_part; });
  HOLDFAST_ASSERT(!table.key.empty());
  return table;
}

// In the order in which they were created: a table follows those that it refers to.
Result<std::vector<Table>> read_tables(SqlSession& sqlite) {
  HOLDFAST_TRY(const SqlRows rows,
               sqlite.query("SELECT name FROM sqlite_schema WHERE type = 'table' "
                            "AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
                            {}));
  std::vector<Table> tables;
  for (const auto& row : rows) {
    HOLDFAST_TRY(Table table, read_table(sqlite, row[0].bytes));
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string column_names(const Table& table) {
  std::string names;
  for (const Column& column : table.columns) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
  }
  return names;
}

std::string key_names(const Table& table) {
  std::string names;
  for (const std::size_t at : table.key) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", table.columns[at].name);
  }
  return names;
}

// There is no parameter for NULL: an empty value of a column that may be NULL is one.
std::string insert_sql(const Table& table, SqlDialect dialect) {
  const bool postgres = dialect == SqlDialect::postgres;
  std::string values;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const std::string parameter = fmt::format("${}{}", i + 1, column.type);
    const std::string_view nothing = column.type == 'i'   ? "0"
                                     : column.type == 't' ? "''"
                                     : postgres           ? "''::bytea"
                                                          : "x''";
    values += i == 0 ? "" : ", ";
    values += column.nullable ? fmt::format("NULLIF({}, {})", parameter, nothing) : parameter;
  }
  return fmt::format("INSERT INTO @.{}({}) {}VALUES ({})", table.name, column_names(table),
                     postgres ? "OVERRIDING SYSTEM VALUE " : "", values);
}

// The rows behind the last one.
std::string page_sql(const Table& table, bool first) {
  std::string behind;
  if (!first) {
    std::string parameters;
    for (std::size_t i = 0; i < table.key.size(); ++i) {
      parameters +=
          fmt::format("{}${}{}", i == 0 ? "" : ", ", i + 1, table.columns[table.key[i]].type);
    }
    behind = fmt::format(" WHERE ({}) > ({})", key_names(table), parameters);
  }
  return fmt::format("SELECT {} FROM @.{}{} ORDER BY {} LIMIT {}", column_names(table), table.name,
                     behind, key_names(table), kPageRows);
}

SqlValue value_of(const Column& column, const SqlCell& cell) {
  switch (column.type) {
    case 'i':
      return cell.integer;
    case 'b':
      return SqlBytes{cell.bytes};
    default:
      return std::string_view(cell.bytes);
  }
}

Result<std::uint64_t> copy_rows(SqlSession& from, SqlSession& to, const Table& table) {
  const std::string insert = insert_sql(table, to.dialect());
  const std::string next_page = page_sql(table, /*first=*/false);
  HOLDFAST_TRY(SqlRows page, from.query(page_sql(table, /*first=*/true), {}));
  std::uint64_t copied = 0;
  while (!page.empty()) {
    std::vector<SqlParams> all;
    for (const auto& row : page) {
      SqlParams& params = all.emplace_back();
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        params.push_back(value_of(table.columns[i], row[i]));
      }
    }
    HOLDFAST_CHECK(to.query_each(insert, all));
    copied += page.size();
    const auto last = std::move(page.back());
    SqlParams key;
    for (const std::size_t at : table.key) {
      key.push_back(value_of(table.columns[at], last[at]));
    }
    HOLDFAST_TRY(page, from.query(next_page, key));
  }
  return copied;
}

Result<std::uint64_t> count_rows(SqlSession& session, const Table& table) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query(fmt::format("SELECT count(*) FROM @.{}", table.name), {}));
  return static_cast<std::uint64_t>(rows[0][0].integer);
}

// New rows are numbered behind the copied ones. Without a sequence nothing happens.
Result<void> continue_numbers(SqlSession& to, const Table& table) {
  if (to.dialect() == SqlDialect::postgres && table.numbered()) {
    HOLDFAST_CHECK(to.query(
        fmt::format("SELECT setval(pg_get_serial_sequence('@.{0}', '{1}'), max({1})) FROM @.{0}",
                    table.name, key_names(table)),
        {}));
  }
  return {};
}

Result<CopyReport> copy_tables(SqlSession& from, SqlSession& to) {
  HOLDFAST_ASSERT(from.dialect() == SqlDialect::sqlite || to.dialect() == SqlDialect::sqlite);
  HOLDFAST_TRY(const std::vector<Table> tables,
               read_tables(from.dialect() == SqlDialect::sqlite ? from : to));
  for (const Table& table : tables) {
    HOLDFAST_TRY(const std::uint64_t present, count_rows(to, table));
    if (present > 0) {
      return Error{ErrorCode::already_exists,
                   fmt::format("the store is not empty: {} has {} rows; nothing was changed",
                               table.name, present)};
    }
  }
  CopyReport report;
  for (const Table& table : tables) {
    HOLDFAST_TRY(const std::uint64_t copied, copy_rows(from, to, table));
    HOLDFAST_TRY(const std::uint64_t there, count_rows(from, table));
    HOLDFAST_TRY(const std::uint64_t here, count_rows(to, table));
    if (copied != there || copied != here) {
      return Error{ErrorCode::io_error,
                   fmt::format("{} of {} rows of {} were copied, and {} arrived; nothing was "
                               "changed",
                               copied, there, table.name, here)};
    }
    HOLDFAST_CHECK(continue_numbers(to, table));
    report.push_back({table.name, copied});
  }
  return report;
}

// A file that is removed, with what SQLite keeps beside it, unless it got its name.
class TemporaryStore {
 public:
  explicit TemporaryStore(std::string path) : path_(std::move(path)) { remove(); }
  ~TemporaryStore() { remove(); }
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  // After its connections are closed: all of it in one file, on disk, under its name.
  Result<void> finish(const std::string& name) {
    {
      HOLDFAST_TRY(const auto db,
                   SqliteDb::open(path_, SqliteAccess::read_write, "", kCopyBusyTime));
      HOLDFAST_CHECK(db->query_text("PRAGMA journal_mode = DELETE"));
    }
    HOLDFAST_CHECK(sync(path_));
    // Unlike rename, link does not replace a file.
    if (link(path_.c_str(), name.c_str()) != 0) {
      return errno == EEXIST ? Error{ErrorCode::already_exists, name + " already exists"}
                             : file_error(name, errno);
    }
    return sync(folder_of(name));
  }

 private:
  static Result<void> sync(const std::string& path) {
    const OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open() || fsync(file.get()) != 0) {
      return file_error(path, errno);
    }
    return {};
  }

  void remove() const {
    for (const char* const end : {"", "-wal", "-shm", "-journal", "-lock"}) {
      static_cast<void>(unlink((path_ + end).c_str()));
    }
  }

  std::string path_;
};

std::string temporary_name(const std::string& file) {
  return fmt::format("{}.{}.partial", file, getpid());
}

// A backup of an older program is brought up to date in a copy: backups are not changed.
Result<std::unique_ptr<BrokerStore>> open_backup(const std::string& file,
                                                 const TemporaryStore& copy) {
  auto opened = open_sqlite_broker_snapshot(file);
  if (opened.ok() || opened.error().code() != ErrorCode::conflict) {
    return opened;
  }
  std::error_code failed;
  if (!std::filesystem::copy_file(file, copy.path(), failed)) {
    return file_error(copy.path(), failed.value());
  }
  return open_sqlite_broker_store(copy.path(), {});
}

}  // namespace

Result<CopyReport> copy_store(BrokerStore& from, BrokerStore& to) {
  CopyReport report;
  HOLDFAST_CHECK(from.scan([&](SqlSession& source) {
    return to.write([&](SqlSession& target) -> Result<void> {
      HOLDFAST_TRY(report, copy_tables(source, target));
      return {};
    });
  }));
  return report;
}

Result<CopyReport> back_up_store(BrokerStore& from, const std::string& file) {
  if (file_exists(file)) {
    return Error{ErrorCode::already_exists, file + " already exists"};
  }
  TemporaryStore temporary(temporary_name(file));
  CopyReport report;
  {
    HOLDFAST_TRY(const auto to, open_sqlite_broker_store(temporary.path(), {}));
    HOLDFAST_TRY(report, copy_store(from, *to));
  }
  HOLDFAST_CHECK(temporary.finish(file));
  return report;
}

Result<CopyReport> restore_store(const std::string& file, BrokerStore& to) {
  const TemporaryStore copy(temporary_name(file));
  HOLDFAST_TRY(const auto from, open_backup(file, copy));
  HOLDFAST_CHECK(from->read([&](SqlSession& session) -> Result<void> {
    const auto checked = session.query("PRAGMA quick_check(1)", {});
    const bool whole = checked.ok() && checked.value().size() == 1 &&
                       checked.value().front().front().bytes == "ok";
    return whole ? Result<void>()
                 : Error{ErrorCode::invalid_export, file + " is damaged; nothing was restored"};
  }));
  return copy_store(*from, to);
}

}  // namespace holdfast::delivery
