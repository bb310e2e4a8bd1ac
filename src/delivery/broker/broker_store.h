// BrokerStore: the tables of a broker, in SQLite or PostgreSQL.
//
// accept() is the one way in which messages enter: each message of a group is accepted with all of
// its rows (dedupe, message, history, deliveries, mentions) or leaves none, and what happens to one
// does not change the outcome of the others. The whole group is one transaction and one sync.
//
// History sequences per destination start at 1 and follow the order of commits without gaps: they
// are assigned while the destination row is locked, so a reader that has seen n sees n + 1 next.
//
// Thread-safe. A failure of the store is an Error for every message of the group; the outcome may
// be unknown then, and a retry with the same id finds out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/commit_notifier.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/accept_decision.h"
#include "delivery/contract/message_request.h"
#include "holdfast/result.h"
#include "storage/postgres/postgres_url.h"

namespace holdfast::delivery {

// What a dedupe row remembers.
struct DedupeRecord {
  std::string broker_message_id;
  std::string history_id;
  Digest fingerprint{};
  TimeMs first_seen_at;
  bool history_available = true;
};

// A message that has passed every check before the transaction, with the ids it will have.
struct AcceptRow {
  std::string mesh_id;
  std::string sender_member_id;
  std::string broker_message_id;
  std::string history_id;
  TimeMs now;
  TimeMs expires_at;  // 0: never
  Message message;
  AcceptKnowledge knowledge;  // all but the claim and the destination
};

struct AcceptOutcome {
  AcceptAnswer answer;
  DedupeRecord record;  // of an accepted message or a duplicate; of a mismatch, the stored one
  std::uint64_t history_seq = 0;   // of an accepted message
  std::uint64_t fanout_count = 0;  // likewise
};

// Where a test can make a broker fail or kill its process, in the order in which a message passes
// them. From `claimed` on, nothing may be visible until the commit.
enum class FaultPoint : std::uint8_t {
  dedupe_read,      // B0 has found no row
  budget_consumed,  // by the limiter
  claimed,
  destination_checked,
  message_inserted,
  deliveries_inserted,
  history_inserted,
  mentions_inserted,
  before_commit,
  after_commit,
  replied,             // to the connection
  rows_swept,          // inside the transaction of a sweep
  message_pruned,      // inside the transaction, after each message
  deliveries_claimed,  // committed, and not pushed yet
  deliveries_pushed,
  deliveries_acked,  // committed, and not answered yet
  queue_read,        // inside the transaction of a group of consumers, before its rows are written
  queue_written,     // inside the transaction, before the commit
  queue_committed,   // and not answered yet
};
// Its error is one of the step.
using FaultHook = std::function<Result<void>(FaultPoint)>;

struct BrokerStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  FaultHook fault;  // empty outside tests
};

class BrokerStore {
 public:
  using Work = std::function<Result<void>(SqlSession&)>;

  explicit BrokerStore(FaultHook fault = {}) : fault_(std::move(fault)) {}
  virtual ~BrokerStore() = default;

  // One outcome for each row, in their order. No key (mesh, sender, client id) may appear twice.
  virtual std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) = 0;
  // Runs the work in a transaction, which is committed if it succeeds. On PostgreSQL it may run
  // again after a deadlock.
  virtual Result<void> write(const Work& work) = 0;
  // As write(), beside accepts and other writes where the database can: for deliveries.
  virtual Result<void> deliver(const Work& work) = 0;
  // As deliver(), beside that too: for the consumers of queues, whose statements find single rows.
  virtual Result<void> consume(const Work& work) { return deliver(work); }
  // Runs the work on one consistent snapshot. For what ends soon: accepts read too.
  virtual Result<void> read(const Work& work) = 0;
  // As read(), beside all other work and without a limit of time: for what looks at many rows.
  virtual Result<void> scan(const Work& work) = 0;
  // As read(), for work that is one query: where the database is far away, one round trip.
  virtual Result<void> read_once(const Work& work) { return read(work); }

  // Notified after each accept() that committed messages, and by the caller of write() or deliver()
  // when members may have deliveries that they did not have before.
  CommitNotifier& commits() { return commits_; }

  // Called where a fault can be injected: does nothing outside tests.
  [[nodiscard]] Result<void> reach(FaultPoint point) const {
    return fault_ ? fault_(point) : Result<void>();
  }

 private:
  CommitNotifier commits_;
  FaultHook fault_;
};

// Creates the file or brings its tables up to date. busy when another broker has it open,
// newer_format, not_a_journal when the file holds something else.
Result<std::unique_ptr<BrokerStore>> open_sqlite_broker_store(const std::string& path,
                                                              const BrokerStoreOptions& options);
// Creates the schema of the URL or brings its tables up to date; any number of brokers may use it.
Result<std::unique_ptr<BrokerStore>> open_postgres_broker_store(const PostgresUrl& url,
                                                                const BrokerStoreOptions& options);

}  // namespace holdfast::delivery
