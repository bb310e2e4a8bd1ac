#include "storage/log/postgres_schema.h"

#include <set>

#include "base/encoding.h"

namespace holdfast {

namespace {

// Creation can lose against another process at each statement; the loser checks again.
constexpr int kCreateAttempts = 20;

// The schema name was checked by parse_store_url, but may be a word of SQL ("user").
std::string quoted(const std::string& schema) { return "\"" + schema + "\""; }

// Bodies stay json: jsonb cannot hold \u0000. Reading a field of json cannot either, so in the
// rare body that has one it is shown as U+2400 (symbol for null). chr(1) cannot occur in JSON
// text and keeps "\\" + "u0000" apart from "\u0000".
std::string entries_view(const std::string& s) {
  const std::string text = "convert_from(b.body, 'UTF8')";
  const std::string shown = "replace(replace(replace(" + text +
                            ", E'\\\\\\\\', chr(1)), E'\\\\u0000', E'\\\\u2400'), "
                            "chr(1), E'\\\\\\\\')";
  return "CREATE VIEW " + s +
         ".entries AS SELECT b.position, e.ordinality - 1 AS idx, "
         "e.value->>'thread' AS thread, (e.value->>'seq')::bigint AS seq, "
         "e.value->>'kind' AS kind, (e.value->>'at')::bigint AS at, e.value->'data' AS data "
         "FROM " +
         s +
         ".batches AS b CROSS JOIN LATERAL json_array_elements("
         "(CASE WHEN strpos(" +
         text + ", E'\\\\u0000') > 0 THEN " + shown + " ELSE " + text +
         " END)::json) WITH ORDINALITY AS e(value, ordinality)";
}

std::string hex_literal(std::span<const std::byte> bytes) {
  return "decode('" + to_hex(bytes) + "', 'hex')";
}

std::string create_sql(const std::string& s, const StoreOrigin& origin) {
  const std::string start = std::to_string(origin.start.value);
  const std::string head = std::to_string(origin.start.value - 1);
  const std::string anchor = hex_literal(origin.anchor);
  return "CREATE TABLE " + s +
         ".log_state (only_row int PRIMARY KEY CHECK (only_row = 1), format int NOT NULL, "
         "log_id bytea NOT NULL, start bigint NOT NULL, anchor bytea NOT NULL, "
         "head bigint NOT NULL, head_chain bytea NOT NULL);"
         "CREATE TABLE " +
         s +
         ".batches (position bigint PRIMARY KEY, body bytea NOT NULL, "
         "body_hash bytea NOT NULL, chain bytea NOT NULL);"
         "CREATE TABLE " +
         s + ".side (key bytea PRIMARY KEY, value bytea NOT NULL);" + entries_view(s) +
         ";INSERT INTO " + s + ".log_state VALUES (1, " + std::to_string(kLogFormat) + ", " +
         hex_literal(origin.log_id.bytes) + ", " + start + ", " + anchor + ", " + head + ", " +
         anchor + ")";
}

struct Contents {
  bool schema_exists = false;
  std::set<std::string, std::less<>> relations;
};

Result<Contents> look(PgConnection& connection, const std::string& schema) {
  // One row with an empty name for a schema without relations. Indexes and TOAST tables do
  // not count.
  const PgStatement statement{
      "",
      "SELECT coalesce(c.relname::text, '') FROM pg_catalog.pg_namespace n "
      "LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid "
      "AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') WHERE n.nspname = '" +
          schema + "'"};
  HOLDFAST_TRY(const PgRows rows, connection.query(statement));
  Contents contents;
  contents.schema_exists = rows.size() > 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows.bytes(row, 0).empty()) {
      contents.relations.emplace(rows.bytes(row, 0));
    }
  }
  return contents;
}

Error not_a_journal(const PostgresUrl& url) {
  return Error{ErrorCode::not_a_journal,
               url.shown +
                   ": the schema holds other tables and no journal; choose another "
                   "schema with ?schema=NAME"};
}

Result<void> check_journal(PgConnection& connection, const PostgresUrl& url,
                           const Contents& contents) {
  auto rows = connection.query(
      {"", "SELECT format FROM " + quoted(url.schema) + ".log_state WHERE only_row = 1"});
  if (!rows.ok()) {
    // Another table with the same name: undefined_column, undefined_function (operator).
    const std::string_view state = rows.error().field("sqlstate");
    return state == "42703" || state == "42883" ? not_a_journal(url) : std::move(rows).error();
  }
  if (rows.value().size() != 1) {
    return Error{ErrorCode::corrupt_log, url.shown + ": the row of log_state is missing"}.with(
        "reason", "missing_state");
  }
  const std::uint64_t format = rows.value().number(0, 0);
  if (format > kLogFormat) {
    return Error{ErrorCode::newer_format, url.shown + " has format " + std::to_string(format) +
                                              ", this program knows formats up to " +
                                              std::to_string(kLogFormat)};
  }
  for (const std::string_view table : {"batches", "side"}) {
    if (!contents.relations.contains(table)) {
      return Error{ErrorCode::corrupt_log,
                   url.shown + ": the table " + std::string(table) + " is missing"}
          .with("reason", "missing_table");
    }
  }
  return {};
}

bool lost_a_race(const Error& error) {
  const std::string_view state = error.field("sqlstate");
  // duplicate_schema, duplicate_table, duplicate_object, and conflicts in the catalog itself
  return state == "42P06" || state == "42P07" || state == "42710" ||
         error.code() == ErrorCode::conflict;
}

// The server's usual compression takes longer than the rest of an append of a large batch. lz4
// is three times as fast as that overall and stores as little; without it, no compression is
// twice as fast. Only speed hangs on it and not every server knows it: after the commit, and
// errors are passed over.
void compress_fast(PgConnection& connection, const std::string& s) {
  const std::string column = "ALTER TABLE " + s + ".batches ALTER COLUMN body SET ";
  if (!connection.run(column + "COMPRESSION lz4").ok()) {
    static_cast<void>(connection.run(column + "STORAGE EXTERNAL"));
  }
}

Result<void> create(PgConnection& connection, const PostgresUrl& url, const Contents& contents,
                    const StoreOrigin& origin) {
  const std::string s = quoted(url.schema);
  // Not when it exists: the right to create schemas is needed even for IF NOT EXISTS.
  const std::string schema = contents.schema_exists ? "" : "CREATE SCHEMA " + s + ";";
  auto created = connection.run("BEGIN;" + schema + create_sql(s, origin) + ";COMMIT");
  if (!created.ok()) {
    if (!connection.lost()) {
      HOLDFAST_CHECK(connection.roll_back());
    }
    return created;
  }
  compress_fast(connection, s);
  return {};
}

std::string scan_sql(const std::string& s, SideScan::Order order, std::string_view upper_end) {
  const std::string direction = order == SideScan::Order::ascending ? "ASC" : "DESC";
  return "SELECT key, value FROM (SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key " +
         direction +
         " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM "
         "(SELECT key, value FROM " +
         s + ".side WHERE key >= $1::bytea" + std::string(upper_end) + " ORDER BY key " +
         direction +
         " LIMIT $2::bigint) AS found) AS measured "
         "WHERE coalesce(before, 0) < $3::bigint ORDER BY key " +
         direction;
}

}  // namespace

// The sums of lengths end a read at its byte limit on the server, so that no more is sent. The
// length of a large value is known to the server without reading the value.
PostgresSql::PostgresSql(const std::string& schema) {
  const std::string s = quoted(schema);
  begin = {"", "BEGIN"};
  commit = {"", "COMMIT"};
  append = {"append", "WITH cas AS (UPDATE " + s +
                          ".log_state SET head = $1::bigint, head_chain = $4::bytea "
                          "WHERE only_row = 1 AND head = $1::bigint - 1 RETURNING 1) "
                          "INSERT INTO " +
                          s +
                          ".batches (position, body, body_hash, chain) "
                          "SELECT $1::bigint, $2::bytea, $3::bytea, $4::bytea FROM cas"};
  notify = {"notify", "SELECT pg_notify($1::text, '')"};
  trim = {"trim", "UPDATE " + s +
                      ".log_state SET start = $1::bigint, anchor = $2::bytea "
                      "WHERE only_row = 1 AND start = $3::bigint AND head >= $1::bigint"};
  drop = {"drop", "DELETE FROM " + s + ".batches WHERE position < $1::bigint"};
  remove = {"remove", "DELETE FROM " + s + ".side WHERE key = ANY($1::bytea[])"};
  put = {"put", "INSERT INTO " + s +
                    ".side (key, value) "
                    "SELECT p.key, p.value FROM unnest($1::bytea[], $2::bytea[]) AS p(key, value) "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"};
  state = {"state", "SELECT log_id, start, anchor, head, head_chain FROM " + s +
                        ".log_state WHERE only_row = 1"};
  confirm = {"confirm", "UPDATE " + s +
                            ".log_state SET head = head WHERE only_row = 1 "
                            "RETURNING log_id, start, anchor, head, head_chain"};
  head = {"head", "SELECT head FROM " + s + ".log_state WHERE only_row = 1"};
  read = {"read",
          "SELECT position, body, body_hash, chain FROM (SELECT *, "
          "sum(octet_length(body)) OVER (ORDER BY position "
          "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM "
          "(SELECT position, body, body_hash, chain FROM " +
              s +
              ".batches WHERE position >= $1::bigint ORDER BY position LIMIT $2::bigint) "
              "AS found) AS measured WHERE coalesce(before, 0) < $3::bigint ORDER BY position"};
  chain_at = {"chain_at", "SELECT chain FROM " + s + ".batches WHERE position = $1::bigint"};
  get = {"get", "SELECT key, value FROM " + s + ".side WHERE key = ANY($1::bytea[])"};
  scan_up = {"scan_up", scan_sql(s, SideScan::Order::ascending, "")};
  scan_down = {"scan_down", scan_sql(s, SideScan::Order::descending, "")};
  const std::string_view below = " AND key < $4::bytea";
  scan_up_below = {"scan_up_below", scan_sql(s, SideScan::Order::ascending, below)};
  scan_down_below = {"scan_down_below", scan_sql(s, SideScan::Order::descending, below)};
  size = {"", "SELECT (pg_total_relation_size('" + s + ".batches') + pg_total_relation_size('" + s +
                  ".side') + pg_total_relation_size('" + s + ".log_state'))::bigint"};
}

Result<StoreState> postgres_state(const PgRows& rows, const PostgresUrl& url) {
  StoreState state;
  const bool whole = rows.size() == 1 && copy_exactly(rows.bytes(0, 0), state.log_id.bytes) &&
                     copy_exactly(rows.bytes(0, 2), state.anchor) &&
                     copy_exactly(rows.bytes(0, 4), state.head_chain);
  if (whole) {
    state.start.value = rows.number(0, 1);
    state.head.value = rows.number(0, 3);
  }
  if (!whole || state.start == Position{} || state.head.next() < state.start) {
    return Error{ErrorCode::corrupt_log, url.shown + ": the row of log_state is missing or damaged"}
        .with("position", std::uint64_t{0})
        .with("reason", "damaged_row");
  }
  return state;
}

Result<void> prepare_postgres_log(PgConnection& connection, const PostgresUrl& url, OpenMode mode,
                                  const StoreOrigin& origin_if_new) {
  for (int attempt = 1;; ++attempt) {
    HOLDFAST_TRY(const Contents contents, look(connection, url.schema));
    if (contents.relations.contains("log_state")) {
      return check_journal(connection, url, contents);
    }
    if (!contents.relations.empty()) {
      return not_a_journal(url);
    }
    if (mode != OpenMode::create) {
      return Error{ErrorCode::not_found,
                   url.shown +
                       " holds no journal; one is made when it is opened for writing "
                       "with permission to create it"};
    }
    auto created = create(connection, url, contents, origin_if_new);
    if (created.ok()) {
      return {};
    }
    if (!lost_a_race(created.error()) || attempt == kCreateAttempts) {
      return std::move(created).error().in("creating the journal");
    }
  }
}

}  // namespace holdfast
