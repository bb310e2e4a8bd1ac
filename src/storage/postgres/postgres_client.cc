#include "storage/postgres/postgres_client.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace holdfast {

namespace {

constexpr int kBinary = 1;

// Of an element of an array.
std::uint32_t oid_of(PgElement element) {
  constexpr std::uint32_t kByteaOid = 17;
  constexpr std::uint32_t kBigintOid = 20;
  constexpr std::uint32_t kTextOid = 25;
  return element == PgElement::text ? kTextOid
                                    : (element == PgElement::bigint ? kBigintOid : kByteaOid);
}

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU));
  }
}

void put_u64(std::string& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value >> 32U));
  put_u32(out, static_cast<std::uint32_t>(value));
}

// libpq ends its messages with a newline and indents further lines.
std::string one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const char shown = c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
    if (shown != ' ' || (!line.empty() && line.back() != ' ')) {
      line.push_back(shown);
    }
  }
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  return line;
}

// The last "SEVERITY:  28P01: ..." of a verbose message; the severity may be in any language.
std::string_view sqlstate_in(std::string_view message) {
  const auto is_state = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
  };
  std::string_view found;
  for (std::size_t at = message.find(":  "); at != std::string_view::npos;
       at = message.find(":  ", at + 1)) {
    const std::string_view state = message.substr(at + 3, 5);
    if (state.size() == 5 && is_state(state) && message.substr(at + 8, 1) == ":") {
      found = state;
    }
  }
  return found;
}

ErrorCode connect_code(std::string_view sqlstate) {
  if (sqlstate == "3D000") {
    return ErrorCode::not_found;
  }
  if (sqlstate.starts_with("28") || sqlstate == "42501") {
    return ErrorCode::permission_denied;
  }
  return ErrorCode::unavailable;
}

struct StatementCode {
  std::string_view sqlstate;
  ErrorCode code;
};

constexpr auto kStatementCodes = std::to_array<StatementCode>({
    {"23505", ErrorCode::conflict},           // unique_violation
    {"25006", ErrorCode::unavailable},        // read_only_sql_transaction: a standby
    {"3F000", ErrorCode::not_found},          // invalid_schema_name
    {"40001", ErrorCode::conflict},           // serialization_failure
    {"40P01", ErrorCode::conflict},           // deadlock_detected
    {"42501", ErrorCode::permission_denied},  // insufficient_privilege
    {"42P01", ErrorCode::not_found},          // undefined_table
    {"53100", ErrorCode::disk_full},          // disk_full
    {"55P03", ErrorCode::busy},               // lock_not_available
    {"57014", ErrorCode::busy},               // query_canceled: a statement timeout
});

ErrorCode statement_code(std::string_view sqlstate) {
  const auto* const found =
      std::find_if(std::begin(kStatementCodes), std::end(kStatementCodes),
                   [&](const StatementCode& entry) { return entry.sqlstate == sqlstate; });
  return found == std::end(kStatementCodes) ? ErrorCode::io_error : found->code;
}

bool succeeded(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

// libpq repeats what it cannot parse, and that may be a password: only the name of an unknown
// parameter is handed on.
Result<void> check_syntax(const PostgresUrl& url) {
  char* message = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.connection.c_str(), &message);
  if (options != nullptr) {
    PQconninfoFree(options);
    return {};
  }
  const std::string text = message == nullptr ? "" : one_line(message);
  PQfreemem(message);
  const bool harmless = text.starts_with("invalid URI query parameter");
  return Error{ErrorCode::invalid_url,
               url.shown + ": " + (harmless ? text : "libpq cannot parse this URL")};
}

PGconn* start(const PostgresUrl& url, PgSession session) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto set = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  // Later ones win: defaults, then the user's URL, then what must be.
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) {
    set("connect_timeout", "5");  // for each host
  }
  // A primary that disappears silently is noticed within half a minute.
  set("keepalives_idle", "10");
  set("keepalives_interval", "5");
  set("keepalives_count", "3");
  set("tcp_user_timeout", "20000");
  set("fallback_application_name", "holdfast");
  set("dbname", url.connection.c_str());
  set("client_encoding", "UTF8");
  if (session == PgSession::write && url.several_hosts) {
    set("target_session_attrs", "read-write");
  }
  set(nullptr, nullptr);
  return PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1);
}

// Discards the remaining answers of a pipeline. Two nulls in a row: there are no more.
void skip_to_synchronisation(PGconn* connection) {
  for (int nulls = 0; nulls < 2 && PQstatus(connection) != CONNECTION_BAD;) {
    PGresult* const result = PQgetResult(connection);
    const bool end = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    nulls = result == nullptr ? nulls + 1 : 0;
    PQclear(result);
    if (end) {
      return;
    }
  }
}

}  // namespace

PgParams& PgParams::bytes(std::string_view value) & {
  HOLDFAST_ASSERT(value.size() <= INT_MAX);
  // A null pointer would be NULL, not an empty value.
  values_.push_back(value.data() == nullptr ? "" : value.data());
  lengths_.push_back(static_cast<int>(value.size()));
  return *this;
}

PgParams& PgParams::bytes(std::span<const std::byte> value) & {
  return bytes(std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
}

std::string pg_bigint(std::uint64_t value) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::string out;
  put_u64(out, std::min(value, kMax));
  return out;
}

PgParams& PgParams::number(std::uint64_t value) & {
  return bytes(owned_.emplace_back(pg_bigint(value)));
}

PgParams& PgParams::list(std::span<const std::string_view> values, PgElement element) & {
  std::size_t size = 20;
  for (const std::string_view value : values) {
    size += 4 + value.size();
  }
  std::string& out = owned_.emplace_back();
  out.reserve(size);
  // Dimensions, has-null flag, element type; then length and lower bound of the dimension.
  put_u32(out, values.empty() ? 0 : 1);
  put_u32(out, 0);
  put_u32(out, oid_of(element));
  if (!values.empty()) {
    put_u32(out, static_cast<std::uint32_t>(values.size()));
    put_u32(out, 1);
  }
  for (const std::string_view value : values) {
    put_u32(out, static_cast<std::uint32_t>(value.size()));
    out += value;
  }
  return bytes(out);
}

void PgRows::Free::operator()(pg_result* result) const { PQclear(result); }

std::size_t PgRows::size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }

int PgRows::columns() const { return PQnfields(result_.get()); }

std::uint64_t PgRows::affected() const {
  return parse_decimal(PQcmdTuples(result_.get())).value_or(0);
}

std::string_view PgRows::command() const { return PQcmdStatus(result_.get()); }

bool PgRows::is_null(std::size_t row, int column) const {
  return PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
}

std::string_view PgRows::bytes(std::size_t row, int column) const {
  const int at = static_cast<int>(row);
  return {PQgetvalue(result_.get(), at, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), at, column))};
}

std::uint64_t PgRows::number(std::size_t row, int column) const {
  std::uint64_t value = 0;
  for (const char byte : bytes(row, column)) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

void PgConnection::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

Result<std::unique_ptr<PgConnection>> PgConnection::connect(const PostgresUrl& url,
                                                            PgSession session) {
  HOLDFAST_CHECK(check_syntax(url));
  const auto begin = std::chrono::steady_clock::now();
  Handle handle(start(url, session));
  if (handle == nullptr) {
    return Error{ErrorCode::unavailable, url.shown + ": out of memory"};
  }
  if (PQstatus(handle.get()) != CONNECTION_OK) {
    const std::string message = one_line(PQerrorMessage(handle.get()));
    const bool needs_password = PQconnectionNeedsPassword(handle.get()) != 0;
    // libpq shows the SQLSTATE of a refused connection only in verbose messages, and those
    // can be requested only now. A server that did not answer at all is not queried again.
    if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)) {
      PQsetErrorVerbosity(handle.get(), PQERRORS_VERBOSE);
      PQreset(handle.get());
    }
    if (PQstatus(handle.get()) != CONNECTION_OK) {
      const std::string verbose = PQerrorMessage(handle.get());
      const std::string state(sqlstate_in(verbose));
      const ErrorCode code = needs_password ? ErrorCode::permission_denied : connect_code(state);
      return Error{code, url.shown + ": " + message}.with("sqlstate", state);
    }
    PQsetErrorVerbosity(handle.get(), PQERRORS_DEFAULT);
  }
  std::unique_ptr<PgConnection> connection(new PgConnection(std::move(handle), url.shown));
  PQsetNoticeReceiver(connection->handle_.get(), receive_notice, connection.get());
  return connection;
}

// Warnings about other things have states of their own.
void PgConnection::receive_notice(void* connection, const pg_result* notice) {
  constexpr std::string_view kPlainWarning = "01000";
  const char* const state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  if (state != nullptr && state == kPlainWarning) {
    static_cast<PgConnection*>(connection)->warned_ = true;
  }
}

bool PgConnection::lost() const {
  return server_closed_ || PQstatus(handle_.get()) == CONNECTION_BAD;
}

Error PgConnection::lost_error() const {
  return Error{ErrorCode::io_error,
               shown_ +
                   ": the connection was lost; whether the last write happened is unknown until "
                   "the log is opened again and read: " +
                   one_line(PQerrorMessage(handle_.get()))}
      .with(WhatNext::in_doubt);
}

Error PgConnection::failure(const pg_result* result) {
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, 'C');
  const std::string_view sqlstate = state == nullptr ? "" : state;
  // 57P01..57P04: the server is ending this session; its last words come before the close.
  server_closed_ = server_closed_ || sqlstate.starts_with("57P0");
  if (lost() || sqlstate.empty()) {
    return lost_error();
  }
  const char* const message = PQresultErrorField(result, 'M');
  return Error{statement_code(sqlstate),
               shown_ + ": " + one_line(message == nullptr ? "unknown error" : message)}
      .with("sqlstate", sqlstate);
}

Result<PgRows> PgConnection::finish(pg_result* result) {
  PgRows rows(result);
  if (result == nullptr || !succeeded(result)) {
    return failure(result);
  }
  return rows;
}

Result<void> PgConnection::prepare_statement(const PgStatement& statement) {
  if (statement.name.empty() || prepared_.contains(statement.name)) {
    return {};
  }
  HOLDFAST_CHECK(
      finish(PQprepare(handle_.get(), statement.name.c_str(), statement.sql.c_str(), 0, nullptr)));
  prepared_.insert(statement.name);
  return {};
}

Result<PgRows> PgConnection::query(const PgStatement& statement, const PgParams& params) {
  HOLDFAST_CHECK(prepare_statement(statement));
  const int count = static_cast<int>(params.values_.size());
  const std::vector<int> formats(params.values_.size(), kBinary);
  if (statement.name.empty()) {
    return finish(PQexecParams(handle_.get(), statement.sql.c_str(), count, nullptr,
                               params.values_.data(), params.lengths_.data(), formats.data(),
                               kBinary));
  }
  return finish(PQexecPrepared(handle_.get(), statement.name.c_str(), count, params.values_.data(),
                               params.lengths_.data(), formats.data(), kBinary));
}

Result<void> PgConnection::run(const std::string& sql) {
  HOLDFAST_CHECK(finish(PQexec(handle_.get(), sql.c_str())));
  return {};
}

Result<void> PgConnection::roll_back() {
  return PQtransactionStatus(handle_.get()) == PQTRANS_IDLE ? Result<void>() : run("ROLLBACK");
}

Result<void> PgConnection::begin_pipeline(std::initializer_list<const PgStatement*> statements) {
  for (const PgStatement* statement : statements) {
    HOLDFAST_CHECK(prepare_statement(*statement));
  }
  if (PQenterPipelineMode(handle_.get()) == 0) {
    return lost_error();
  }
  sent_ = 0;
  send_failed_ = false;
  return {};
}

// A full socket cannot block both sides: while libpq waits to write, it takes in what the
// server has answered.
void PgConnection::send(const PgStatement& statement, const PgParams& params) {
  if (send_failed_) {
    return;
  }
  HOLDFAST_ASSERT(statement.name.empty() || prepared_.contains(statement.name));
  const int count = static_cast<int>(params.values_.size());
  const std::vector<int> formats(params.values_.size(), kBinary);
  const int sent =
      statement.name.empty()
          ? PQsendQueryParams(handle_.get(), statement.sql.c_str(), count, nullptr,
                              params.values_.data(), params.lengths_.data(), formats.data(),
                              kBinary)
          : PQsendQueryPrepared(handle_.get(), statement.name.c_str(), count, params.values_.data(),
                                params.lengths_.data(), formats.data(), kBinary);
  send_failed_ = sent == 0;
  sent_ += send_failed_ ? 0 : 1;
}

PgReplies PgConnection::finish_pipeline() {
  PgReplies replies;
  const bool synced = PQpipelineSync(handle_.get()) != 0;
  // Also after a failed send: what was answered counts, a COMMIT above all.
  for (std::size_t at = 0; at < sent_ && !replies.failure.has_value(); ++at) {
    auto rows = finish(PQgetResult(handle_.get()));
    if (rows.ok()) {
      replies.rows.push_back(std::move(rows).value());
      PQclear(PQgetResult(handle_.get()));  // null: the end of this statement's results
    } else {
      replies.failure = std::move(rows).error();
    }
  }
  if (!replies.failure.has_value() && (send_failed_ || !synced)) {
    replies.failure = lost_error();
  }
  skip_to_synchronisation(handle_.get());
  if (PQexitPipelineMode(handle_.get()) == 0) {
    server_closed_ = true;  // out of step with the server: not to be used again
  }
  return replies;
}

// Whether there was one.
Result<bool> PgConnection::take_notifications(Senders senders) {
  if (PQconsumeInput(handle_.get()) == 0) {
    server_closed_ = true;
    return lost_error();
  }
  bool notified = false;
  while (PGnotify* const notification = PQnotifies(handle_.get())) {
    notified =
        notified || senders == Senders::all || notification->be_pid != PQbackendPID(handle_.get());
    PQfreemem(notification);
  }
  return notified;
}

Result<bool> PgConnection::wait_for_notification(std::chrono::steady_clock::time_point deadline) {
  while (true) {
    HOLDFAST_TRY(const bool notified, take_notifications(Senders::all));
    if (notified) {
      return true;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    pollfd socket{PQsocket(handle_.get()), POLLIN, 0};
    const auto timeout = std::min<std::int64_t>(left.count(), INT_MAX);
    if (poll(&socket, 1, static_cast<int>(timeout)) < 0 && errno != EINTR) {
      return Error{ErrorCode::io_error, shown_ + ": cannot wait: " + std::strerror(errno)};
    }
  }
}

Result<PgWake> PgConnection::wait_for_others(int interrupt) {
  while (true) {
    HOLDFAST_TRY(const bool notified, take_notifications(Senders::others));
    if (notified) {
      return PgWake::notified;
    }
    std::array<pollfd, 2> either{{{PQsocket(handle_.get()), POLLIN, 0}, {interrupt, POLLIN, 0}}};
    if (poll(either.data(), either.size(), -1) < 0 && errno != EINTR) {
      return Error{ErrorCode::io_error, shown_ + ": cannot wait: " + std::strerror(errno)};
    }
    if (either[1].revents != 0) {
      return PgWake::interrupted;
    }
  }
}

}  // namespace holdfast
