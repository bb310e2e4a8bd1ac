// A thin typed wrapper over libpq: connection, statements with binary parameters and results,
// pipelines, and errors with their SQLSTATE. libpq's header stays in postgres_client.cc.
//
// Errors of statements:
//   conflict           serialization failure, deadlock, unique violation
//   busy               a lock or statement timeout; the transaction did not happen
//   unavailable        the server takes no writes: a standby, or not a primary any more
//   disk_full, permission_denied, not_found (a relation is missing)
//   io_error/in_doubt  everything else, and a connection that was lost: the outcome is unknown
// The field "sqlstate" has the server's code. No message holds a password.
//
// One thread at a time per connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "storage/postgres/postgres_url.h"

struct pg_conn;
struct pg_result;

namespace holdfast {

// Without a name the server plans it each time; with one, once per connection.
struct PgStatement {
  std::string name;
  std::string sql;
};

// What an array is made of.
enum class PgElement : std::uint8_t { bytea, text, bigint };
// A bigint as the server's binary format has it; what does not fit becomes the largest.
std::string pg_bigint(std::uint64_t value);

// Parameters $1, $2, ... in the server's binary format; the SQL casts each to its type.
class PgParams {
 public:
  PgParams() = default;
  // Not copied: the pointers of a copy would lead to the values of the original.
  PgParams(const PgParams&) = delete;
  PgParams& operator=(const PgParams&) = delete;
  PgParams(PgParams&&) = default;
  PgParams& operator=(PgParams&&) = default;
  ~PgParams() = default;

  // Not copied: must outlive the call that sends it.
  PgParams& bytes(std::string_view value) &;
  PgParams& bytes(std::span<const std::byte> value) &;
  // bigint; what does not fit becomes the largest bigint.
  PgParams& number(std::uint64_t value) &;
  // bytea[], text[], bigint[] of eight bytes each (see pg_bigint)
  PgParams& list(std::span<const std::string_view> values, PgElement element = PgElement::bytea) &;

 private:
  friend class PgConnection;
  std::deque<std::string> owned_;  // a deque: its elements do not move
  std::vector<const char*> values_;
  std::vector<int> lengths_;
};

class PgRows {
 public:
  explicit PgRows(pg_result* result) : result_(result) {}

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] int columns() const;
  // Rows that an INSERT, UPDATE or DELETE touched.
  [[nodiscard]] std::uint64_t affected() const;
  // "COMMIT", "INSERT 0 1", ...
  [[nodiscard]] std::string_view command() const;
  [[nodiscard]] bool is_null(std::size_t row, int column) const;
  // Valid as long as these rows.
  [[nodiscard]] std::string_view bytes(std::size_t row, int column) const;
  // int or bigint, not negative.
  [[nodiscard]] std::uint64_t number(std::size_t row, int column) const;

 private:
  struct Free {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Free> result_;
};

// The answers to the statements of a pipeline that came before the first failure.
struct PgReplies {
  std::vector<PgRows> rows;
  std::optional<Error> failure;
};

enum class PgWake : std::uint8_t { notified, interrupted };

// What a session is for. With several hosts in the URL, one that writes goes to the primary.
enum class PgSession : std::uint8_t { read, write };

class PgConnection {
 public:
  // unavailable, permission_denied, not_found (no such database), invalid_url.
  static Result<std::unique_ptr<PgConnection>> connect(const PostgresUrl& url, PgSession session);

  // One round trip; a named statement has one more when it is first used.
  Result<PgRows> query(const PgStatement& statement, const PgParams& params = {});
  // One or several statements without parameters or results.
  Result<void> run(const std::string& sql);
  // Ends a transaction that failed or is not wanted.
  Result<void> roll_back();

  // Statements sent one after the other without waiting, then answered together. Those with a
  // name are given at the beginning, unless they were used on this connection before. The
  // memory of parameters is free again after send.
  Result<void> begin_pipeline(std::initializer_list<const PgStatement*> statements);
  // Gives a statement that has a name to the server, outside a pipeline, unless it has it.
  Result<void> prepare_statement(const PgStatement& statement);
  void send(const PgStatement& statement, const PgParams& params = {});
  PgReplies finish_pipeline();

  // Waits for a notification. false: the deadline has passed.
  Result<bool> wait_for_notification(std::chrono::steady_clock::time_point deadline);
  // Waits for a notification of another session, or until the descriptor can be read.
  Result<PgWake> wait_for_others(int interrupt);

  // The connection cannot be used any more.
  [[nodiscard]] bool lost() const;
  // Whether the server has warned since the last call. A server that was ordered to stop waiting
  // for its standby commits with a warning: the data may be on no other machine.
  bool take_warning() { return std::exchange(warned_, false); }

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  using Handle = std::unique_ptr<pg_conn, Close>;
  PgConnection(Handle handle, std::string shown)
      : handle_(std::move(handle)), shown_(std::move(shown)) {}

  static void receive_notice(void* connection, const pg_result* notice);
  Result<PgRows> finish(pg_result* result);
  enum class Senders : std::uint8_t { all, others };
  Result<bool> take_notifications(Senders senders);
  Error failure(const pg_result* result);
  [[nodiscard]] Error lost_error() const;

  Handle handle_;
  std::string shown_;
  std::set<std::string> prepared_;
  std::size_t sent_ = 0;
  bool send_failed_ = false;
  bool server_closed_ = false;
  bool warned_ = false;  // set by libpq's notice receiver
};

}  // namespace holdfast
