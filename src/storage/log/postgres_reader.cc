#include "storage/log/postgres_reader.h"

#include "base/encoding.h"

namespace holdfast {

void PostgresReader::saw(Position position, const Digest& chain) {
  const std::scoped_lock lock(seen_mutex_);
  if (!seen_.has_value() || seen_->position < position) {
    seen_ = Seen{position, chain};
  }
}

void PostgresReader::begin_again() {
  const std::scoped_lock lock(mutex_, seen_mutex_);
  connection_.reset();
  seen_.reset();
}

void PostgresReader::try_to_run(const std::string& sql) {
  const std::scoped_lock lock(mutex_);
  if (connection_ != nullptr && !connection_->lost()) {
    static_cast<void>(connection_->run(sql).ok());
  }
}

Result<void> PostgresReader::check_history(PgConnection& connection) {
  std::optional<Seen> seen;
  {
    const std::scoped_lock lock(seen_mutex_);
    seen = seen_;
  }
  if (session_ == PgSession::read || !seen.has_value()) {
    return {};
  }
  HOLDFAST_TRY(const PgRows rows, connection.query(sql_.state));
  HOLDFAST_TRY(const StoreState state, postgres_state(rows, url_));
  Digest chain = seen->position.next() == state.start ? state.anchor : Digest{};
  if (state.start <= seen->position) {
    PgParams params;
    HOLDFAST_TRY(const PgRows found,
                 connection.query(sql_.chain_at, params.number(seen->position.value)));
    const bool there = found.size() == 1 && copy_exactly(found.bytes(0, 0), chain);
    chain = there ? chain : Digest{};
  }
  // A batch that was trimmed since then did exist: a trim only moves forward.
  const bool trimmed = seen->position.next() < state.start;
  if (trimmed || chain == seen->chain) {
    return {};
  }
  return Error{ErrorCode::unavailable,
               url_.shown + ": the server holds another history than before"};
}

Result<void> PostgresReader::connect() {
  connection_.reset();
  HOLDFAST_TRY(auto connection, PgConnection::connect(url_, session_));
  // All reads use a primary key. Without these settings, a table without statistics would be read
  // completely and sorted for each step. Servers that do not know them plan as they like.
  for (const char* setting : {"enable_seqscan", "enable_bitmapscan", "enable_sort"}) {
    const auto set = connection->run(std::string("SET ") + setting + " = off");
    if (!set.ok() && connection->lost()) {
      return set.error();
    }
  }
  HOLDFAST_CHECK(check_history(*connection));
  connection_ = std::move(connection);
  return {};
}

Result<PgRows> PostgresReader::query(const PgStatement& statement, const PgParams& params) {
  const std::scoped_lock lock(mutex_);
  for (int attempt = 1;; ++attempt) {
    if (connection_ == nullptr || connection_->lost()) {
      if (auto connected = connect(); !connected.ok()) {
        // Nothing was written here: a connection that is lost again leaves nothing in doubt.
        return connected.error().what_next() == WhatNext::in_doubt
                   ? Error{ErrorCode::unavailable, connected.error().text()}
                   : std::move(connected).error();
      }
    }
    auto rows = connection_->query(statement, params);
    if (rows.ok() || !connection_->lost()) {
      return rows;
    }
    if (attempt == 2) {
      return Error{ErrorCode::unavailable,
                   url_.shown + ": the connection was lost twice while reading"};
    }
  }
}

}  // namespace holdfast
