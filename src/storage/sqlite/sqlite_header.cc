#include "storage/sqlite/sqlite_header.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "storage/sqlite/sqlite_path.h"

namespace holdfast {

namespace {

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

std::uint32_t big_endian(std::string_view header, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(header[offset + i]);
  }
  return value;
}

// Read through SQLite's VFS. A descriptor of our own must not be used: closing it would release
// the locks that connections of this process hold on the file, and another process that closes its
// connection would then delete the write-ahead log under them.
Result<std::string> read_bytes(const std::string& path, std::uint64_t count) {
  if (euidaccess(path.c_str(), R_OK) != 0) {
    return file_error(path, errno);
  }
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  const auto storage = std::make_unique<std::max_align_t[]>(
      static_cast<std::size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(storage.get());
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();  // no symbolic links
  if (failed) {
    return file_error(path, failed.value());
  }
  const std::string name = real + '\0';  // the VFS expects two zeros at the end
  if (vfs->xOpen(vfs, name.c_str(), file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr) !=
      SQLITE_OK) {
    return Error{ErrorCode::io_error, path + " cannot be opened"};
  }
  std::string bytes(count, '\0');
  const int code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(count), 0);
  file->pMethods->xClose(file);
  if (code == SQLITE_IOERR_SHORT_READ) {
    // Another process has rolled back the first transaction since the caller took the size.
    return std::string();
  }
  return code == SQLITE_OK ? Result<std::string>(std::move(bytes))
                           : Error{ErrorCode::io_error, path + " cannot be read"};
}

}  // namespace

Result<SqliteHeader> SqliteHeader::read(const std::string& path, std::uint64_t file_bytes) {
  HOLDFAST_TRY(std::string bytes,
               read_bytes(path, std::min<std::uint64_t>(file_bytes, kHeaderSize)));
  return SqliteHeader(std::move(bytes));
}

bool SqliteHeader::blank() const {
  return !bytes_.empty() && bytes_.find_first_not_of('\0') == std::string::npos;
}

bool SqliteHeader::is_database() const {
  return bytes_.size() >= kHeaderSize && bytes_.starts_with(kSqliteMagic);
}

std::uint32_t SqliteHeader::application_id() const {
  return big_endian(bytes_, kApplicationIdOffset);
}

std::uint32_t SqliteHeader::user_version() const { return big_endian(bytes_, kUserVersionOffset); }

bool SqliteHeader::wal() const {
  return bytes_[kWriteVersionOffset] == kWalVersion && bytes_[kReadVersionOffset] == kWalVersion;
}

std::optional<std::uint64_t> SqliteHeader::expected_bytes() const {
  if (big_endian(bytes_, kChangeCounterOffset) != big_endian(bytes_, kValidForOffset)) {
    return std::nullopt;
  }
  const std::uint64_t page_size = big_endian(bytes_, kPageSizeOffset) >> 16U;
  return page_size * big_endian(bytes_, kPageCountOffset);
}

}  // namespace holdfast
