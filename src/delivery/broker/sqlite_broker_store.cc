#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/owned_fd.h"
#include "base/text.h"
#include "delivery/broker/accept_facts.h"
#include "delivery/broker/broker_schema.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/sqlite_broker_file.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast::delivery {

namespace {

constexpr int kWalPages = 1000;

constexpr std::string_view kClaim =
    "INSERT INTO @.client_message_dedupe(mesh_id, sender_member_id, client_message_id, "
    "broker_message_id, history_id, request_fingerprint, destination_kind, destination_ref, "
    "first_seen_at, expires_at, history_available) "
    "VALUES ($1t, $2t, $3t, $4t, $5t, $6b, $7t, $8t, $9i, NULLIF($10i, 0), 1) "
    "ON CONFLICT DO NOTHING";
constexpr std::string_view kRecord =
    "SELECT broker_message_id, history_id, request_fingerprint, first_seen_at, history_available "
    "FROM @.client_message_dedupe "
    "WHERE mesh_id = $1t AND sender_member_id = $2t AND client_message_id = $3t";
constexpr std::string_view kDestinationInput =
    " FROM (SELECT $1t AS mesh_id, $2t AS destination_kind, $3t AS destination_ref, "
    "$4t AS sender_member_id) i";
constexpr std::string_view kFanOut =
    "INSERT INTO @.delivery_queue(mesh_id, recipient_member_id, broker_message_id, channel, "
    "endpoint_id, history_seq, priority, state, attempts, next_attempt_at, created_at) "
    "SELECT s.mesh_id, s.member_id, $4t, 'ws', '', $5i, $6t, 'queued', 0, $7i, $7i "
    "FROM @.topic_subscription s JOIN @.topic t ON t.mesh_id = s.mesh_id AND t.name = s.topic "
    "WHERE s.mesh_id = $1t AND s.topic = $2t "
    "AND (t.sender_copy = 'include' OR s.member_id <> $3t)";
constexpr std::string_view kDirect =
    "INSERT INTO @.delivery_queue(mesh_id, recipient_member_id, broker_message_id, channel, "
    "endpoint_id, history_seq, priority, state, attempts, next_attempt_at, created_at) "
    "SELECT m.mesh_id, m.member_id, $3t, 'ws', '', $4i, $5t, 'queued', 0, $6i, $6i "
    "FROM @.member m WHERE m.mesh_id = $1t AND m.pubkey = $2t";
constexpr std::string_view kMessageColumns =
    "(broker_message_id, mesh_id, destination_kind, destination_ref, sender_member_id, "
    "client_message_id, envelope_version, priority, reply_to_id, meta, body, created_at, "
    "fanout_count) VALUES ($1t, $2t, $3t, $4t, $5t, $6t, $7i, $8t, $9t, $10t, $11b, $12i, $13i)";
constexpr std::string_view kHistory =
    "INSERT INTO @.message_history(mesh_id, destination_kind, destination_ref, history_seq, "
    "history_id, broker_message_id, created_at) VALUES ($1t, $2t, $3t, $4i, $5t, $6t, $7i)";
constexpr std::string_view kAdvance =
    "UPDATE @.destination SET last_seq = $4i "
    "WHERE mesh_id = $1t AND destination_kind = $2t AND destination_ref = $3t";
constexpr std::string_view kMention =
    "INSERT INTO @.mention_index(mesh_id, mentioned_pubkey, broker_message_id, history_seq) "
    "SELECT m.mesh_id, m.pubkey, $3t, $4i FROM @.member m "
    "WHERE m.mesh_id = $1t AND (m.pubkey = $5t OR m.name_key = $6t) AND m.member_id <> $2t "
    "AND m.revoked_at IS NULL ON CONFLICT DO NOTHING";

class SqliteBrokerStore final : public BrokerStore {
 public:
  SqliteBrokerStore(OwnedFd lock, std::unique_ptr<SqliteDb> writer,
                    std::unique_ptr<SqliteDb> reader, BrokerStoreOptions options)
      : lock_(std::move(lock)),
        writer_(std::move(writer)),
        reader_(std::move(reader)),
        write_session_(make_sqlite_session(*writer_)),
        read_session_(make_sqlite_session(*reader_)),
        options_(std::move(options)) {}

  std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) override;

  Result<void> write(const Work& work) override {
    const std::lock_guard lock(write_mutex_);
    HOLDFAST_CHECK(writer_->exec("BEGIN IMMEDIATE"));
    return finish(work(*write_session_));
  }

  Result<void> read(const Work& work) override {
    const std::lock_guard lock(read_mutex_);
    HOLDFAST_CHECK(reader_->exec("BEGIN"));
    auto done = work(*read_session_);
    static_cast<void>(reader_->exec("ROLLBACK"));
    return done;
  }

 private:
  Result<void> finish(Result<void> done);
  Result<AcceptOutcome> accept_one(const AcceptRow& row);
  Result<void> end_savepoint(const Result<AcceptOutcome>& outcome);
  Result<std::optional<DedupeRecord>> claim(const AcceptRow& row);
  Result<DestinationFacts> read_destination(const AcceptRow& row);
  Result<void> write_effects(const AcceptRow& row, const DestinationFacts& facts,
                             AcceptOutcome& outcome);
  Result<std::uint64_t> write_deliveries(const AcceptRow& row, std::int64_t seq);
  Result<void> write_message(const AcceptRow& row, std::uint64_t fanout_count);
  Result<void> write_mentions(const AcceptRow& row, std::int64_t seq);
  Result<void> fault(FaultPoint point) {
    return options_.fault ? options_.fault(point) : Result<void>();
  }

  OwnedFd lock_;
  std::unique_ptr<SqliteDb> writer_;
  std::unique_ptr<SqliteDb> reader_;
  std::unique_ptr<SqlSession> write_session_;  // guarded by write_mutex_
  std::unique_ptr<SqlSession> read_session_;   // guarded by read_mutex_
  BrokerStoreOptions options_;
  std::mutex write_mutex_;
  std::mutex read_mutex_;
};

Result<void> SqliteBrokerStore::finish(Result<void> done) {
  if (done.ok()) {
    done = writer_->exec("COMMIT");
  }
  if (!done.ok()) {
    static_cast<void>(writer_->exec("ROLLBACK"));  // fails when SQLite has rolled back already
    return done;
  }
  // What is left in the WAL is durable; the next commit tries again.
  static_cast<void>(writer_->checkpoint_if_longer(kWalPages));
  return {};
}

std::vector<Result<AcceptOutcome>> SqliteBrokerStore::accept(std::span<const AcceptRow> group) {
  const std::lock_guard lock(write_mutex_);
  std::vector<Result<AcceptOutcome>> outcomes;
  outcomes.reserve(group.size());
  auto done = writer_->exec("BEGIN IMMEDIATE");
  for (std::size_t i = 0; done.ok() && i < group.size(); ++i) {
    done = writer_->exec("SAVEPOINT message");
    if (done.ok()) {
      outcomes.push_back(accept_one(group[i]));
      done = end_savepoint(outcomes.back());
    }
  }
  if (done.ok()) {
    done = fault(FaultPoint::before_commit);
  }
  done = finish(std::move(done));
  if (done.ok()) {
    const auto committed = [](const Result<AcceptOutcome>& outcome) {
      return outcome.ok() && is_accepted(outcome.value());
    };
    if (std::ranges::any_of(outcomes, committed)) {
      commits().notify();
    }
    done = fault(FaultPoint::after_commit);
  }
  if (!done.ok()) {
    outcomes.assign(group.size(), done.error());
  }
  return outcomes;
}

// A message that fails leaves its neighbours alone: its failure is its outcome. When SQLite has
// given up the whole transaction (a full disk, an I/O error), there is no savepoint to return to,
// and that is a failure of the group.
Result<void> SqliteBrokerStore::end_savepoint(const Result<AcceptOutcome>& outcome) {
  const bool keep = outcome.ok() && is_accepted(outcome.value());
  return writer_->exec(keep ? "RELEASE message" : "ROLLBACK TO message; RELEASE message");
}

Result<AcceptOutcome> SqliteBrokerStore::accept_one(const AcceptRow& row) {
  AcceptKnowledge knowledge = row.knowledge;
  std::optional<DedupeRecord> record;
  DestinationFacts facts;
  for (;;) {
    const AcceptNext next = decide_accept(knowledge);
    if (const auto* answer = std::get_if<AcceptAnswer>(&next)) {
      AcceptOutcome outcome{*answer, record.value_or(DedupeRecord{})};
      if (is_accepted(outcome)) {
        HOLDFAST_CHECK(write_effects(row, facts, outcome));
      }
      return outcome;
    }
    if (std::get<AcceptStep>(next) == AcceptStep::claim) {
      HOLDFAST_TRY(record, claim(row));
      knowledge.claim = claim_state(row, record);
      HOLDFAST_ASSERT(knowledge.claim != ClaimState::vanished);  // nothing sweeps in between
      HOLDFAST_CHECK(fault(FaultPoint::claimed));
    } else {
      HOLDFAST_ASSERT(std::get<AcceptStep>(next) == AcceptStep::check_destination);
      HOLDFAST_TRY(facts, read_destination(row));
      knowledge.destination = destination_state(row.message.envelope.destination.kind, facts);
      HOLDFAST_CHECK(fault(FaultPoint::destination_checked));
    }
  }
}

Result<std::optional<DedupeRecord>> SqliteBrokerStore::claim(const AcceptRow& row) {
  const Envelope& envelope = row.message.envelope;
  HOLDFAST_TRY(const std::uint64_t inserted,
               write_session_->execute(
                   kClaim, {row.mesh_id, row.sender_member_id, row.message.id.text(),
                            row.broker_message_id, row.history_id,
                            sql_bytes(row.message.fingerprint), to_text(envelope.destination.kind),
                            envelope.destination.ref, row.now.value, row.expires_at.value}));
  if (inserted == 1) {
    return std::optional(record_of(row));
  }
  HOLDFAST_TRY(
      const SqlRows rows,
      write_session_->query(kRecord, {row.mesh_id, row.sender_member_id, row.message.id.text()}));
  if (rows.empty()) {
    return std::optional<DedupeRecord>();
  }
  const auto& cells = rows.front();
  return std::optional(DedupeRecord{cells[0].bytes, cells[1].bytes, digest_of(cells[2]),
                                    TimeMs{cells[3].integer}, cells[4].integer != 0});
}

Result<DestinationFacts> SqliteBrokerStore::read_destination(const AcceptRow& row) {
  static const std::string sql =
      fmt::format("SELECT {}{}{}", kDestinationColumns, kDestinationInput, kDestinationJoins);
  const Destination& to = row.message.envelope.destination;
  HOLDFAST_TRY(const SqlRows rows, write_session_->query(sql, {row.mesh_id, to_text(to.kind),
                                                               to.ref, row.sender_member_id}));
  HOLDFAST_ASSERT(rows.size() == 1);
  const auto& cells = rows.front();
  return DestinationFacts{cells[0].integer != 0, static_cast<std::uint64_t>(cells[1].integer),
                          cells[2].integer != 0, cells[3].bytes, cells[4].bytes};
}

Result<void> SqliteBrokerStore::write_effects(const AcceptRow& row, const DestinationFacts& facts,
                                              AcceptOutcome& outcome) {
  const Destination& to = row.message.envelope.destination;
  outcome.history_seq = facts.last_seq + 1;
  const auto seq = static_cast<std::int64_t>(outcome.history_seq);
  HOLDFAST_TRY(outcome.fanout_count, write_deliveries(row, seq));
  HOLDFAST_CHECK(fault(FaultPoint::deliveries_inserted));
  HOLDFAST_CHECK(write_message(row, outcome.fanout_count));
  HOLDFAST_CHECK(fault(FaultPoint::message_inserted));
  HOLDFAST_CHECK(
      write_session_->execute(kHistory, {row.mesh_id, to_text(to.kind), to.ref, seq, row.history_id,
                                         row.broker_message_id, row.now.value}));
  HOLDFAST_CHECK(write_session_->execute(kAdvance, {row.mesh_id, to_text(to.kind), to.ref, seq}));
  HOLDFAST_CHECK(fault(FaultPoint::history_inserted));
  HOLDFAST_CHECK(write_mentions(row, seq));
  return fault(FaultPoint::mentions_inserted);
}

// How many were written. A queue has none: its message is taken from message_queue itself.
Result<std::uint64_t> SqliteBrokerStore::write_deliveries(const AcceptRow& row, std::int64_t seq) {
  const Envelope& envelope = row.message.envelope;
  switch (envelope.destination.kind) {
    case DestinationKind::topic:
      return write_session_->execute(
          kFanOut, {row.mesh_id, envelope.destination.ref, row.sender_member_id,
                    row.broker_message_id, seq, to_text(envelope.priority), row.now.value});
    case DestinationKind::dm:
      return write_session_->execute(
          kDirect, {row.mesh_id, envelope.destination.ref, row.broker_message_id, seq,
                    to_text(envelope.priority), row.now.value});
    case DestinationKind::queue:
      return std::uint64_t{0};
  }
  HOLDFAST_ASSERT(false);
  return std::uint64_t{0};
}

Result<void> SqliteBrokerStore::write_message(const AcceptRow& row, std::uint64_t fanout_count) {
  static const std::string to_topic = fmt::format("INSERT INTO @.topic_message{}", kMessageColumns);
  static const std::string to_queue = fmt::format("INSERT INTO @.message_queue{}", kMessageColumns);
  const Envelope& envelope = row.message.envelope;
  const bool topic = envelope.destination.kind == DestinationKind::topic;
  HOLDFAST_CHECK(write_session_->execute(
      topic ? to_topic : to_queue,
      {row.broker_message_id, row.mesh_id, to_text(envelope.destination.kind),
       envelope.destination.ref, row.sender_member_id, row.message.id.text(),
       std::int64_t{envelope.version}, to_text(envelope.priority), envelope.reply_to, envelope.meta,
       SqlBytes{envelope.body}, row.now.value, static_cast<std::int64_t>(fanout_count)}));
  return {};
}

Result<void> SqliteBrokerStore::write_mentions(const AcceptRow& row, std::int64_t seq) {
  for (const std::string& mention : row.message.mentions) {
    const std::string key = name_key(mention);
    HOLDFAST_CHECK(write_session_->execute(
        kMention, {row.mesh_id, row.sender_member_id, row.broker_message_id, seq, mention, key}));
  }
  return {};
}

// One broker process at a time: the limits of a workspace are counted in it.
Result<OwnedFd> lock_file(const std::string& path) {
  const std::string name = path + "-lock";
  OwnedFd file(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) {
    return file_error(name, errno);
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::busy, path +
                                      " is in use by another broker; stop it, or use "
                                      "PostgreSQL for several brokers"};
  }
  return file;
}

Result<void> migrate(SqliteDb& db, const std::string& path) {
  HOLDFAST_CHECK(db.exec("BEGIN IMMEDIATE"));
  HOLDFAST_TRY(const std::string stored, db.query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  if (version > newest_broker_schema()) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has broker tables of version {}; this program knows versions up "
                             "to {}: use a newer holdfast",
                             path, version, newest_broker_schema())};
  }
  if (version == newest_broker_schema()) {
    return db.exec("ROLLBACK");  // nothing is written to a store that is up to date
  }
  for (const Migration& migration : broker_migrations()) {
    if (migration.version > version) {
      HOLDFAST_CHECK(db.exec(migration_sql(migration, SqlDialect::sqlite, "").c_str()));
    }
  }
  HOLDFAST_CHECK(db.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                     kBrokerApplicationId, newest_broker_schema())
                             .c_str()));
  return {};
}

}  // namespace

Result<std::unique_ptr<BrokerStore>> open_sqlite_broker_store(const std::string& path,
                                                              const BrokerStoreOptions& options) {
  HOLDFAST_TRY(OwnedFd lock, lock_file(path));
  HOLDFAST_TRY(const BrokerFileState state, check_broker_file(path));
  HOLDFAST_TRY(auto writer, SqliteDb::open(path, SqliteAccess::create, "", options.busy_timeout));
  if (state == BrokerFileState::empty) {
    // Before there is a write-ahead log: check_broker_file reads the file alone, also after a kill.
    HOLDFAST_CHECK(
        writer->exec(fmt::format("PRAGMA application_id = {}", kBrokerApplicationId).c_str()));
  }
  HOLDFAST_TRY(const std::string mode, writer->query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  HOLDFAST_CHECK(writer->exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  HOLDFAST_CHECK(migrate(*writer, path));
  HOLDFAST_TRY(auto reader,
               SqliteDb::open(path, SqliteAccess::read_write, "", options.busy_timeout));
  HOLDFAST_CHECK(reader->exec("PRAGMA query_only = ON"));
  return std::unique_ptr<BrokerStore>(std::make_unique<SqliteBrokerStore>(
      std::move(lock), std::move(writer), std::move(reader), options));
}

}  // namespace holdfast::delivery
