// SqliteHeader: the first bytes of a file, read before SQLite opens it, so that opening a file of
// another kind changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

class SqliteHeader {
 public:
  // The file must exist. permission_denied, not_found or io_error.
  static Result<SqliteHeader> read(const std::string& path, std::uint64_t file_bytes);

  // The file is empty.
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // The file has only zero bytes: a process may be creating the database.
  [[nodiscard]] bool blank() const;
  // It is an SQLite database. The members below are for databases only.
  [[nodiscard]] bool is_database() const;
  [[nodiscard]] std::uint32_t application_id() const;
  [[nodiscard]] std::uint32_t user_version() const;
  // It is in WAL mode.
  [[nodiscard]] bool wal() const;
  // How long the file must be; empty when the header does not show it.
  [[nodiscard]] std::optional<std::uint64_t> expected_bytes() const;

 private:
  explicit SqliteHeader(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string bytes_;
};

}  // namespace holdfast
