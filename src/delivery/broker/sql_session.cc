#include "delivery/broker/sql_session.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "holdfast/assert.h"
#include "storage/postgres/postgres_client.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kForUpdate = "#for_update";

class SqliteSession final : public SqlSession {
 public:
  explicit SqliteSession(SqliteDb& db) : db_(db) {}

  [[nodiscard]] SqlDialect dialect() const override { return SqlDialect::sqlite; }

  Result<std::vector<SqlRows>> query_each(std::string_view sql,
                                          std::span<const SqlParams> params) override {
    HOLDFAST_TRY(Prepared * prepared, prepare(sql));
    std::vector<SqlRows> all;
    all.reserve(params.size());
    for (const SqlParams& each : params) {
      bind(prepared->statement, each);
      HOLDFAST_TRY(SqlRows rows, read_rows(*prepared));
      all.push_back(std::move(rows));
    }
    return all;
  }

  Result<std::uint64_t> execute(std::string_view sql, const SqlParams& params) override {
    HOLDFAST_TRY(Prepared * prepared, prepare(sql));
    bind(prepared->statement, params);
    HOLDFAST_CHECK(prepared->statement.run());
    return static_cast<std::uint64_t>(db_.changes());
  }

  Result<void> run(std::string_view sql) override {
    return db_.exec(translate_sql(sql, SqlDialect::sqlite, "").c_str());
  }

 private:
  struct Prepared {
    SqliteStatement statement;
    int columns;
  };

  Result<Prepared*> prepare(std::string_view sql) {
    const auto found = prepared_.find(sql);
    if (found != prepared_.end()) {
      return &found->second;
    }
    HOLDFAST_TRY(SqliteStatement statement,
                 db_.prepare(translate_sql(sql, SqlDialect::sqlite, "").c_str()));
    const int columns = statement.columns();
    return &prepared_.emplace(sql, Prepared{std::move(statement), columns}).first->second;
  }

  static void bind(SqliteStatement& statement, const SqlParams& params) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      const int at = static_cast<int>(i) + 1;
      if (const auto* number = std::get_if<std::int64_t>(&params[i])) {
        HOLDFAST_ASSERT(*number >= 0);
        statement.bind(at, *number);
      } else if (const auto* text = std::get_if<std::string_view>(&params[i])) {
        statement.bind_text(at, *text);
      } else {
        statement.bind_blob(at, std::get<SqlBytes>(params[i]).bytes);
      }
    }
  }

  static Result<SqlRows> read_rows(Prepared& prepared) {
    SqlRows rows;
    for (;;) {
      HOLDFAST_TRY(const bool more, prepared.statement.step());
      if (!more) {
        prepared.statement.reset();
        return rows;
      }
      auto& row = rows.emplace_back();
      for (int column = 0; column < prepared.columns; ++column) {
        SqlCell& cell = row.emplace_back();
        cell.null = prepared.statement.is_null(column);
        cell.integer = prepared.statement.column_integer(column);
        cell.bytes = prepared.statement.column_bytes(column);
      }
    }
  }

  SqliteDb& db_;
  std::map<std::string, Prepared, std::less<>> prepared_;
};

class PostgresSession final : public SqlSession {
 public:
  PostgresSession(PgConnection& connection, std::string prefix)
      : connection_(connection), prefix_(std::move(prefix)) {}

  [[nodiscard]] SqlDialect dialect() const override { return SqlDialect::postgres; }

  Result<std::vector<SqlRows>> query_each(std::string_view sql,
                                          std::span<const SqlParams> params) override {
    const PgStatement& statement = prepare(sql);
    std::vector<SqlRows> all;
    if (params.size() == 1) {
      HOLDFAST_TRY(const PgRows rows, connection_.query(statement, bind(params[0])));
      all.push_back(read_rows(rows));
      return all;
    }
    HOLDFAST_CHECK(connection_.begin_pipeline({&statement}));
    for (const SqlParams& each : params) {
      connection_.send(statement, bind(each));
    }
    PgReplies replies = connection_.finish_pipeline();
    if (replies.failure.has_value()) {
      return *std::move(replies.failure);
    }
    for (const PgRows& rows : replies.rows) {
      all.push_back(read_rows(rows));
    }
    return all;
  }

  Result<std::uint64_t> execute(std::string_view sql, const SqlParams& params) override {
    HOLDFAST_TRY(const PgRows rows, connection_.query(prepare(sql), bind(params)));
    return rows.affected();
  }

  Result<void> run(std::string_view sql) override {
    return connection_.run(translate_sql(sql, SqlDialect::postgres, prefix_));
  }

 private:
  const PgStatement& prepare(std::string_view sql) {
    const auto found = prepared_.find(sql);
    if (found != prepared_.end()) {
      return found->second;
    }
    PgStatement statement{"broker_" + std::to_string(prepared_.size()),
                          translate_sql(sql, SqlDialect::postgres, prefix_)};
    return prepared_.emplace(sql, std::move(statement)).first->second;
  }

  static PgParams bind(const SqlParams& params) {
    PgParams bound;
    for (const SqlValue& value : params) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        HOLDFAST_ASSERT(*number >= 0);
        bound.number(static_cast<std::uint64_t>(*number));
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        bound.bytes(*text);
      } else {
        bound.bytes(std::get<SqlBytes>(value).bytes);
      }
    }
    return bound;
  }

  static SqlRows read_rows(const PgRows& rows) {
    SqlRows all(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (int column = 0; column < rows.columns(); ++column) {
        SqlCell& cell = all[row].emplace_back();
        cell.null = rows.is_null(row, column);
        cell.bytes = rows.bytes(row, column);
        if (cell.bytes.size() <= sizeof(std::uint64_t)) {
          cell.integer = static_cast<std::int64_t>(rows.number(row, column));
        }
      }
    }
    return all;
  }

  PgConnection& connection_;
  std::string prefix_;
  std::map<std::string, PgStatement, std::less<>> prepared_;
};

std::string_view postgres_type(char letter) {
  switch (letter) {
    case 't':
      return "::text";
    case 'i':
      return "::bigint";
    default:
      HOLDFAST_ASSERT(letter == 'b');
      return "::bytea";
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<SqlRows> SqlSession::query(std::string_view sql, const SqlParams& params) {
  HOLDFAST_TRY(std::vector<SqlRows> all, query_each(sql, std::span(&params, 1)));
  HOLDFAST_ASSERT(all.size() == 1);
  return std::move(all.front());
}

std::string translate_sql(std::string_view sql, SqlDialect dialect, std::string_view prefix) {
  std::string out;
  out.reserve(sql.size() + 64);
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql.substr(at, 2) == "@.") {
      out += prefix;
      ++at;
    } else if (sql.substr(at, kForUpdate.size()) == kForUpdate) {
      // SQLite has one writer.
      out += dialect == SqlDialect::sqlite ? std::string_view() : "FOR UPDATE";
      at += kForUpdate.size() - 1;
    } else if (sql[at] == '$' && at + 1 < sql.size() && is_digit(sql[at + 1])) {
      out += dialect == SqlDialect::sqlite ? '?' : '$';
      while (is_digit(sql[at + 1])) {
        out += sql[++at];
      }
      ++at;
      out += dialect == SqlDialect::sqlite ? std::string_view() : postgres_type(sql[at]);
    } else {
      out += sql[at];
    }
  }
  return out;
}

std::unique_ptr<SqlSession> make_sqlite_session(SqliteDb& db) {
  return std::make_unique<SqliteSession>(db);
}

std::unique_ptr<SqlSession> make_postgres_session(PgConnection& connection, std::string prefix) {
  return std::make_unique<PostgresSession>(connection, std::move(prefix));
}

Digest digest_of(const SqlCell& cell) {
  Digest digest{};
  HOLDFAST_ASSERT(cell.bytes.size() == digest.size());
  std::memcpy(digest.data(), cell.bytes.data(), digest.size());
  return digest;
}

}  // namespace holdfast::delivery
