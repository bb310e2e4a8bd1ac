// The accept transaction on SQLite: what a group of messages reads and writes between BEGIN and
// COMMIT.
//
// A destination is read once for each sender in a group, and its newest sequence is written once:
// the transaction holds the lock of the database, so nothing changes in between. A claim of a
// message that is refused is deleted again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "delivery/broker/accept_facts.h"
#include "delivery/broker/broker_store.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast::delivery {

class SqliteAccept {
 public:
  // The tables must exist. The database must outlive the object.
  static Result<std::unique_ptr<SqliteAccept>> prepare(
      SqliteDb& db, std::function<Result<void>(FaultPoint)> fault);

  // Both run inside a transaction, which is rolled back after an error.
  //
  // All messages without savepoints: the failure of one is that of the group.
  Result<std::vector<AcceptOutcome>> together(std::span<const AcceptRow> group);
  // Each message in a savepoint: one that fails leaves the others alone, and its failure is its
  // outcome. An error: SQLite has given up the transaction (a full disk, an I/O error).
  Result<std::vector<Result<AcceptOutcome>>> apart(std::span<const AcceptRow> group);

 private:
  // The statements, in the order of their texts.
  enum class Sql : std::uint8_t {
    claim,
    record,
    release,
    destination,
    fan_out,
    direct,
    topic_message,
    queue_message,
    queue_entry,
    history,
    advance,
    mention,
  };
  using DestinationKey = std::tuple<std::string_view, DestinationKind, std::string_view>;

  SqliteAccept(SqliteDb& db, std::function<Result<void>(FaultPoint)> fault)
      : db_(db), fault_(std::move(fault)) {}

  SqliteStatement& statement(Sql which) { return statements_[static_cast<std::size_t>(which)]; }
  void begin_group();
  Result<AcceptOutcome> accept_one(const AcceptRow& row);
  Result<std::optional<DedupeRecord>> claim(const AcceptRow& row);
  Result<void> release(const AcceptRow& row);
  Result<DestinationFacts> find_destination(const AcceptRow& row);
  Result<DestinationFacts> read_destination(const AcceptRow& row);
  Result<void> write_effects(const AcceptRow& row, AcceptOutcome& outcome);
  Result<std::uint64_t> write_deliveries(const AcceptRow& row, std::int64_t seq);
  Result<void> write_message(const AcceptRow& row, std::uint64_t fanout_count);
  Result<void> write_queue_entry(const AcceptRow& row, std::int64_t seq);
  Result<void> write_history(const AcceptRow& row, std::int64_t seq);
  Result<void> write_mentions(const AcceptRow& row, std::int64_t seq);
  Result<void> write_heads();
  Result<void> fault(FaultPoint point) { return fault_ ? fault_(point) : Result<void>(); }

  SqliteDb& db_;
  std::function<Result<void>(FaultPoint)> fault_;
  std::vector<SqliteStatement> statements_;
  // Of the group, with views of its rows.
  struct Head {
    std::uint64_t last_seq = 0;
    bool changed = false;
  };
  std::map<DestinationKey, Head> heads_;
  std::map<std::tuple<DestinationKey, std::string_view>, DestinationFacts> facts_;  // by sender
};

}  // namespace holdfast::delivery
