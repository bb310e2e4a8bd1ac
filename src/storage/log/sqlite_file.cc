#include "storage/log/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/encoding.h"

namespace holdfast {

namespace {

constexpr std::int64_t kApplicationId = 0x484c4446;  // "HLDF"
constexpr std::size_t kHeaderSize = 100;
constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr std::size_t kPageSizeOffset = 16;
constexpr std::size_t kWriteVersionOffset = 18;
constexpr std::size_t kReadVersionOffset = 19;
constexpr char kWalVersion = 2;
constexpr std::size_t kChangeCounterOffset = 24;
constexpr std::size_t kPageCountOffset = 28;
constexpr std::size_t kUserVersionOffset = 60;
constexpr std::size_t kApplicationIdOffset = 68;
constexpr std::size_t kValidForOffset = 92;

// The file format of the log, version 1. Shipped: never edited; docs/format.md explains it.
constexpr const char* kSchema = R"sql(
CREATE TABLE log_state(
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  log_id BLOB NOT NULL,
  start INTEGER NOT NULL,
  anchor BLOB NOT NULL,
  head INTEGER NOT NULL,
  head_chain BLOB NOT NULL
);
CREATE TABLE batches(
  position INTEGER PRIMARY KEY,
  body_hash BLOB NOT NULL,
  chain BLOB NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE side(
  key TEXT PRIMARY KEY,
  value BLOB NOT NULL
);
CREATE VIEW entries AS
SELECT batches.position AS position,
       item.key AS idx,
       json_extract(item.value, '$.thread') AS thread,
       json_extract(item.value, '$.seq') AS seq,
       json_extract(item.value, '$.kind') AS kind,
       json_extract(item.value, '$.at') AS at,
       json_extract(item.value, '$.data') AS data
  FROM batches, json_each(batches.body) AS item;
)sql";

Error system_error(const std::string& path, int number) {
  const std::string why = std::strerror(number);
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Error{ErrorCode::permission_denied, path + ": " + why};
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::not_found, path + ": " + why};
    default:
      return Error{ErrorCode::io_error, path + ": " + why};
  }
}

std::uint32_t big_endian(std::string_view header, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(header[offset + i]);
  }
  return value;
}

Result<SqliteFileKind> judge_header(const std::string& path, std::string_view header) {
  // Looked for after the header was read: a header that says WAL without a rollback journal beside
  // it is then one that was committed.
  const bool changing = file_exists(path + "-journal");
  const bool blank = header.find_first_not_of('\0') == std::string_view::npos;
  if (header.empty() || (blank && changing)) {
    return SqliteFileKind::empty;
  }
  if (header.size() < kHeaderSize || !header.starts_with(kSqliteMagic)) {
    return Error{ErrorCode::not_a_journal, path + " is not a Holdfast journal"};
  }
  if (big_endian(header, kApplicationIdOffset) != kApplicationId) {
    return Error{ErrorCode::not_a_journal,
                 path + " is an SQLite database, but not a Holdfast journal"};
  }
  const std::uint32_t format = big_endian(header, kUserVersionOffset);
  if (format > kLogFormat) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has journal format {}; this program knows formats up to {}: use "
                             "a newer holdfast",
                             path, format, kLogFormat)};
  }
  const bool wal =
      header[kWriteVersionOffset] == kWalVersion && header[kReadVersionOffset] == kWalVersion;
  return wal && !changing ? SqliteFileKind::journal : SqliteFileKind::unfinished;
}

// A process is writing to the file, or has died while it did.
bool is_unsettled(const std::string& path) {
  struct stat status {};
  return (stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0) ||
         file_exists(path + "-journal");
}

// SQLite notices a lost end only when it needs a page from there. The header says how long the
// file must be, unless there is still something to be moved into it or to be undone.
Result<void> check_length(const std::string& path, std::string_view header, std::uint64_t size) {
  const bool count_valid =
      big_endian(header, kChangeCounterOffset) == big_endian(header, kValidForOffset);
  const std::uint64_t page_size = big_endian(header, kPageSizeOffset) >> 16U;
  const std::uint64_t expected = page_size * big_endian(header, kPageCountOffset);
  if (!is_unsettled(path) && count_valid && size < expected) {
    return Error{ErrorCode::corrupt_log,
                 fmt::format("{} is cut off: it has {} of {} bytes", path, size, expected)}
        .with("reason", "truncated_file");
  }
  return {};
}

// Read as SQLite reads. A descriptor of our own must not be used: closing it would take away the
// locks that connections of this process hold on the file, and another process that closes its
// connection would then delete the write-ahead log under them.
Result<std::string> read_header(const std::string& path, std::uint64_t bytes) {
  if (euidaccess(path.c_str(), R_OK) != 0) {
    return system_error(path, errno);
  }
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  const auto storage = std::make_unique<std::max_align_t[]>(
      static_cast<std::size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(storage.get());
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();  // no symbolic links
  if (failed) {
    return system_error(path, failed.value());
  }
  const std::string name = real + '\0';  // the VFS wants two zeros at the end
  if (vfs->xOpen(vfs, name.c_str(), file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr) !=
      SQLITE_OK) {
    return Error{ErrorCode::io_error, path + " cannot be opened"};
  }
  std::string header(bytes, '\0');
  const int code = file->pMethods->xRead(file, header.data(), static_cast<int>(bytes), 0);
  file->pMethods->xClose(file);
  return code == SQLITE_OK ? Result<std::string>(std::move(header))
                           : Error{ErrorCode::io_error, path + " cannot be read"};
}

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<void> fill_new_log(SqliteDb& db, const StoreOrigin& origin) {
  HOLDFAST_CHECK(db.exec(kSchema));
  HOLDFAST_TRY(auto insert, db.prepare("INSERT INTO log_state VALUES (1, ?1, ?2, ?3, ?4, ?3)"));
  insert.bind_blob(1, view_of(origin.log_id.bytes))
      .bind(2, static_cast<std::int64_t>(origin.start.value))
      .bind_blob(3, view_of(origin.anchor))
      .bind(4, static_cast<std::int64_t>(origin.start.value) - 1);
  HOLDFAST_CHECK(insert.run());
  HOLDFAST_CHECK(db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str()));
  return db.exec(fmt::format("PRAGMA user_version = {}", kLogFormat).c_str());
}

}  // namespace

bool file_exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

std::string real_file(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::filesystem::path at = path;
  std::error_code failed;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(at, failed); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(at, failed);
    at = at.parent_path() / target;  // an absolute target replaces the rest
  }
  return at.string();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Result<SqliteFileKind> inspect_sqlite_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return SqliteFileKind::missing;
    }
    return system_error(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::not_a_journal, path + " is not a regular file"};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  HOLDFAST_TRY(const std::string seen,
               read_header(path, std::min<std::uint64_t>(size, kHeaderSize)));
  HOLDFAST_TRY(const SqliteFileKind kind, judge_header(path, seen));
  if (kind == SqliteFileKind::journal || kind == SqliteFileKind::unfinished) {
    HOLDFAST_CHECK(check_length(path, seen, size));
  }
  return kind;
}

Result<SqliteFileKind> settle_sqlite_file(const std::string& path, const std::string& vfs,
                                          std::chrono::milliseconds busy_timeout) {
  const SqliteAccess how =
      euidaccess(path.c_str(), W_OK) == 0 ? SqliteAccess::read_write : SqliteAccess::read_only;
  HOLDFAST_TRY(auto db, SqliteDb::open(path, how, vfs, busy_timeout));
  // Any read waits for the lock of a creator. Other failures are for those who open the file.
  const auto seen = db->query_text("SELECT count(*) FROM sqlite_schema");
  if (!seen.ok() && seen.error().code() == ErrorCode::busy) {
    return seen.error();
  }
  return inspect_sqlite_file(path);
}

// A creator holds SQLite's exclusive lock on the file from before its first look until WAL mode is
// on. BEGIN waits for that lock; the change to WAL mode would not, which is why the lock is kept
// (locking_mode) over the end of the first transaction. A creator that is killed leaves an empty
// file, a transaction to be rolled back, or tables without WAL mode: each is completed here.
Result<void> create_sqlite_log(const std::string& path, const StoreOrigin* origin,
                               const std::string& vfs, std::chrono::milliseconds busy_timeout) {
  const SqliteAccess how = origin != nullptr ? SqliteAccess::create : SqliteAccess::read_write;
  HOLDFAST_TRY(auto db, SqliteDb::open(path, how, vfs, busy_timeout));
  // 8 kB pages: measured best over all group sizes (docs/adr/0001). The tables and the application
  // id become durable in one transaction, so the header that inspect_sqlite_file reads is never
  // half made.
  HOLDFAST_CHECK(db->exec("PRAGMA page_size = 8192; BEGIN EXCLUSIVE"));
  HOLDFAST_TRY(const std::string tables, db->query_text("SELECT count(*) FROM sqlite_schema"));
  HOLDFAST_TRY(const std::string mode, db->query_text("PRAGMA journal_mode"));
  if (mode == "wal" && tables != "0") {
    return db->exec("ROLLBACK");  // another process has created it
  }
  if (tables == "0") {
    if (origin == nullptr) {
      return Error{ErrorCode::not_found, "the file is empty"};
    }
    HOLDFAST_CHECK(fill_new_log(*db, *origin));
  }
  HOLDFAST_CHECK(db->exec("PRAGMA locking_mode = EXCLUSIVE; COMMIT"));
  HOLDFAST_TRY(const std::string now, db->query_text("PRAGMA journal_mode = WAL"));
  if (now != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  return {};
}

void announce_sqlite_commit(const std::string& path) {
  const int descriptor = open((path + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    close(descriptor);
  }
}

Result<std::unique_ptr<SqliteFileWatch>> SqliteFileWatch::create(const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) {
    return system_error(path, errno);
  }
  std::unique_ptr<SqliteFileWatch> watch(new SqliteFileWatch(descriptor, name + "-wal"));
  if (inotify_add_watch(descriptor, folder.c_str(), IN_CLOSE_NOWRITE) < 0) {
    return system_error(path, errno);
  }
  return watch;
}

SqliteFileWatch::~SqliteFileWatch() { close(fd_); }

Result<void> SqliteFileWatch::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd watched{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&watched, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      return {};
    }
    if (ready < 0) {
      return system_error(name_, errno);
    }
    alignas(inotify_event) std::array<char, 4096> events;
    bool ours = false;
    ssize_t got = 0;
    while ((got = read(fd_, events.data(), events.size())) > 0) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
        const std::string_view file = event->len > 0 ? event->name : "";
        ours = ours || file == name_ || (event->mask & IN_Q_OVERFLOW) != 0;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (ours) {
      return {};
    }
  }
}

}  // namespace holdfast
