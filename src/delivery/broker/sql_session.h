// SqlSession: one connection to SQLite or PostgreSQL, with SQL that both understand, so that what
// is not on the hot path is written once.
//
// In the texts "@." stands for the schema, and a parameter has its number and type: $1t is a text,
// $2i an integer, $3b bytes. There is no parameter for NULL; the texts use NULLIF. Integers are
// not negative. "#for_update" at the end of a query locks its rows where others may change them.
//
// One thread at a time. Errors are those of storage/sqlite and storage/postgres.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "holdfast/result.h"

namespace holdfast {
class PgConnection;
class SqliteDb;
}  // namespace holdfast

namespace holdfast::delivery {

struct SqlBytes {
  std::string_view bytes;
};

// Views must outlive the call.
using SqlValue = std::variant<std::int64_t, std::string_view, SqlBytes>;
using SqlParams = std::vector<SqlValue>;

struct SqlCell {
  std::string bytes;         // of a text or bytes
  std::int64_t integer = 0;  // of an integer
  bool null = false;
};
using SqlRows = std::vector<std::vector<SqlCell>>;

enum class SqlDialect : std::uint8_t { sqlite, postgres };

class SqlSession {
 public:
  virtual ~SqlSession() = default;

  [[nodiscard]] virtual SqlDialect dialect() const = 0;

  // The rows of the statement once for each set of parameters: one round trip for all.
  virtual Result<std::vector<SqlRows>> query_each(std::string_view sql,
                                                  std::span<const SqlParams> params) = 0;
  // How many rows were changed.
  virtual Result<std::uint64_t> execute(std::string_view sql, const SqlParams& params) = 0;
  // Statements without parameters or rows.
  virtual Result<void> run(std::string_view sql) = 0;

  Result<SqlRows> query(std::string_view sql, const SqlParams& params);
};

// The text as the database reads it. prefix: what "@." stands for.
std::string translate_sql(std::string_view sql, SqlDialect dialect, std::string_view prefix);

// The connection must outlive the session.
std::unique_ptr<SqlSession> make_sqlite_session(SqliteDb& db);
std::unique_ptr<SqlSession> make_postgres_session(PgConnection& connection, std::string prefix);

inline SqlBytes sql_bytes(const Digest& digest) {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}
// A digest that was read back; the column is checked to have 32 bytes.
Digest digest_of(const SqlCell& cell);

}  // namespace holdfast::delivery
