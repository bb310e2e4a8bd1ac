#include "delivery/broker/sql_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "holdfast/assert.h"
#include "storage/postgres/postgres_client.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kForUpdate = "#for_update";

std::string_view postgres_type(char letter) {
  switch (letter) {
    case 't':
      return "text";
    case 'i':
      return "bigint";
    default:
      HOLDFAST_ASSERT(letter == 'b');
      return "bytea";
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How a parameter is written, from its number and the letter of its type.
using WriteParam = std::function<std::string(std::string_view number, char type)>;

std::string translate(std::string_view sql, SqlDialect dialect, std::string_view prefix,
                      const WriteParam& write_param) {
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
      const std::size_t first = at + 1;
      while (is_digit(sql[at + 1])) {
        ++at;
      }
      ++at;
      out += write_param(sql.substr(first, at - first), sql[at]);
    } else {
      out += sql[at];
    }
  }
  return out;
}

// A query that changes and locks nothing, so that it does not matter when it runs for each set.
bool is_plain_query(std::string_view sql) {
  return sql.starts_with("SELECT") && sql.find(kForUpdate) == std::string_view::npos;
}

// The query for each row of its parameters, which are arrays; the number of the row comes first.
// OFFSET 0 keeps it a query of its own, which is planned for one row of parameters: it uses the
// indexes that the plain query uses, however many rows there are.
std::string set_statement(std::string_view sql, std::string_view prefix) {
  std::map<int, std::string_view> types;
  const std::string each =
      translate(sql, SqlDialect::postgres, prefix, [&](std::string_view number, char type) {
        types.emplace(std::stoi(std::string(number)), postgres_type(type));
        return fmt::format("r.p{}", number);
      });
  std::string arrays;
  std::string names;
  for (const auto& [number, type] : types) {
    arrays += fmt::format("{}${}::{}[]", number == 1 ? "" : ", ", number, type);
    names += fmt::format("p{}, ", number);
  }
  return fmt::format(
      "SELECT r.ord, q.* FROM unnest({}) WITH ORDINALITY AS r({}ord) "
      "CROSS JOIN LATERAL ({} OFFSET 0) q",
      arrays, names, each);
}

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
    if (params.size() > 1 && is_plain_query(sql)) {
      return query_set(sql, params);
    }
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

  // The statement once for all sets of parameters.
  Result<std::vector<SqlRows>> query_set(std::string_view sql, std::span<const SqlParams> params) {
    auto found = prepared_sets_.find(sql);
    if (found == prepared_sets_.end()) {
      PgStatement statement{"broker_set_" + std::to_string(prepared_sets_.size()),
                            set_statement(sql, prefix_)};
      found = prepared_sets_.emplace(sql, std::move(statement)).first;
    }
    HOLDFAST_TRY(const PgRows rows, connection_.query(found->second, bind_set(params)));
    std::vector<SqlRows> all(params.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      all.at(rows.number(row, 0) - 1).push_back(read_row(rows, row, 1));
    }
    return all;
  }

  // Each parameter as an array of what the sets have for it.
  static PgParams bind_set(std::span<const SqlParams> params) {
    PgParams bound;
    for (std::size_t i = 0; i < params.front().size(); ++i) {
      std::vector<std::string_view> values;
      std::deque<std::string> numbers;  // does not move its elements
      PgElement element = PgElement::bigint;
      for (const SqlParams& each : params) {
        if (const auto* number = std::get_if<std::int64_t>(&each.at(i))) {
          HOLDFAST_ASSERT(*number >= 0);
          values.push_back(numbers.emplace_back(pg_bigint(static_cast<std::uint64_t>(*number))));
        } else if (const auto* text = std::get_if<std::string_view>(&each.at(i))) {
          element = PgElement::text;
          values.push_back(*text);
        } else {
          element = PgElement::bytea;
          values.push_back(std::get<SqlBytes>(each.at(i)).bytes);
        }
      }
      bound.list(values, element);
    }
    return bound;
  }

  static std::vector<SqlCell> read_row(const PgRows& rows, std::size_t row, int first_column) {
    std::vector<SqlCell> cells;
    cells.reserve(static_cast<std::size_t>(rows.columns()));
    for (int column = first_column; column < rows.columns(); ++column) {
      SqlCell& cell = cells.emplace_back();
      cell.null = rows.is_null(row, column);
      cell.bytes = rows.bytes(row, column);
      if (cell.bytes.size() <= sizeof(std::uint64_t)) {
        cell.integer = static_cast<std::int64_t>(rows.number(row, column));
      }
    }
    return cells;
  }

  static SqlRows read_rows(const PgRows& rows) {
    SqlRows all;
    all.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      all.push_back(read_row(rows, row, 0));
    }
    return all;
  }

  PgConnection& connection_;
  std::string prefix_;
  std::map<std::string, PgStatement, std::less<>> prepared_;
  std::map<std::string, PgStatement, std::less<>> prepared_sets_;
};

}  // namespace

Result<SqlRows> SqlSession::query(std::string_view sql, const SqlParams& params) {
  HOLDFAST_TRY(std::vector<SqlRows> all, query_each(sql, std::span(&params, 1)));
  HOLDFAST_ASSERT(all.size() == 1);
  return std::move(all.front());
}

std::string translate_sql(std::string_view sql, SqlDialect dialect, std::string_view prefix) {
  return translate(sql, dialect, prefix, [&](std::string_view number, char type) {
    return dialect == SqlDialect::sqlite ? fmt::format("?{}", number)
                                         : fmt::format("${}::{}", number, postgres_type(type));
  });
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
