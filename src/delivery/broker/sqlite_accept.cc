#include "delivery/broker/sqlite_accept.h"

#include <fmt/format.h>

#include <array>

#include "delivery/broker/sql_session.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kDeliveryColumns =
    "INSERT INTO delivery_queue(mesh_id, recipient_member_id, broker_message_id, channel, "
    "endpoint_id, history_seq, priority, state, attempts, next_attempt_at, created_at) ";
constexpr std::string_view kMessageColumns =
    "(broker_message_id, mesh_id, destination_kind, destination_ref, sender_member_id, "
    "client_message_id, envelope_version, priority, reply_to_id, meta, body, created_at, "
    "fanout_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
constexpr std::string_view kOfKey =
    "WHERE mesh_id = ?1 AND sender_member_id = ?2 AND client_message_id = ?3";

// In the order of SqliteAccept::Sql.
std::array<std::string, 12> statement_texts() {
  return {
      "INSERT INTO client_message_dedupe(mesh_id, sender_member_id, client_message_id, "
      "broker_message_id, history_id, request_fingerprint, destination_kind, destination_ref, "
      "first_seen_at, expires_at, history_available) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULLIF(?10, 0), 1) ON CONFLICT DO NOTHING",
      fmt::format("SELECT broker_message_id, history_id, request_fingerprint, first_seen_at, "
                  "history_available FROM client_message_dedupe {}",
                  kOfKey),
      fmt::format("DELETE FROM client_message_dedupe {}", kOfKey),
      fmt::format("SELECT {} FROM (SELECT ?1 AS mesh_id, ?2 AS destination_kind, "
                  "?3 AS destination_ref, ?4 AS sender_member_id) i{}",
                  kDestinationColumns, translate_sql(kDestinationJoins, SqlDialect::sqlite, "")),
      fmt::format("{}SELECT s.mesh_id, s.member_id, ?4, 'ws', '', ?5, ?6, 'queued', 0, ?7, ?7 "
                  "FROM topic_subscription s JOIN topic t ON t.mesh_id = s.mesh_id "
                  "AND t.name = s.topic WHERE s.mesh_id = ?1 AND s.topic = ?2 "
                  "AND (t.sender_copy = 'include' OR s.member_id <> ?3)",
                  kDeliveryColumns),
      fmt::format("{}SELECT m.mesh_id, m.member_id, ?3, 'ws', '', ?4, ?5, 'queued', 0, ?6, ?6 "
                  "FROM member m WHERE m.mesh_id = ?1 AND m.pubkey = ?2",
                  kDeliveryColumns),
      fmt::format("INSERT INTO topic_message{}", kMessageColumns),
      fmt::format("INSERT INTO message_queue{}", kMessageColumns),
      translate_sql(kQueueEntryInsert, SqlDialect::sqlite, "") +
          "SELECT ?2 AS mesh_id, ?3 AS queue, ?1 AS broker_message_id, ?4 AS sender_member_id, "
          "?5 AS ordering_key, ?6 AS rank, ?7 AS history_seq, ?8 AS due_at, ?9 AS expires_at" +
          translate_sql(kQueueEntryJoin, SqlDialect::sqlite, ""),
      "INSERT INTO message_history(mesh_id, destination_kind, destination_ref, history_seq, "
      "history_id, broker_message_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      "UPDATE destination SET last_seq = ?4 "
      "WHERE mesh_id = ?1 AND destination_kind = ?2 AND destination_ref = ?3",
      "INSERT INTO mention_index(mesh_id, mentioned_pubkey, broker_message_id, history_seq) "
      "SELECT m.mesh_id, m.pubkey, ?3, ?4 FROM member m "
      "WHERE m.mesh_id = ?1 AND (m.pubkey = ?5 OR m.name_key = ?6) AND m.member_id <> ?2 "
      "AND m.revoked_at IS NULL ON CONFLICT DO NOTHING"};
}

// Parameters in their order.
class Binding {
 public:
  explicit Binding(SqliteStatement& statement) : statement_(statement) {}

  Binding& text(std::string_view value) {
    statement_.bind_text(++index_, value);
    return *this;
  }
  Binding& bytes(std::string_view value) {
    statement_.bind_blob(++index_, value);
    return *this;
  }
  Binding& number(std::int64_t value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binding& key(const AcceptRow& row) {
    return text(row.mesh_id).text(row.sender_member_id).text(row.message.id.text());
  }
  Binding& destination(const AcceptRow& row) {
    const Destination& to = row.message.envelope.destination;
    return text(row.mesh_id).text(to_text(to.kind)).text(to.ref);
  }

 private:
  SqliteStatement& statement_;
  int index_ = 0;
};

std::string column_text(const SqliteStatement& statement, int index) {
  return std::string(statement.column_bytes(index));
}

}  // namespace

Result<std::unique_ptr<SqliteAccept>> SqliteAccept::prepare(
    SqliteDb& db, std::function<Result<void>(FaultPoint)> fault) {
  std::unique_ptr<SqliteAccept> accept(new SqliteAccept(db, std::move(fault)));
  for (const std::string& text : statement_texts()) {
    HOLDFAST_TRY(SqliteStatement prepared, db.prepare(text.c_str()));
    accept->statements_.push_back(std::move(prepared));
  }
  HOLDFAST_ASSERT(accept->statements_.size() == static_cast<std::size_t>(Sql::mention) + 1);
  return accept;
}

void SqliteAccept::begin_group() {
  heads_.clear();
  facts_.clear();
}

Result<std::vector<AcceptOutcome>> SqliteAccept::together(std::span<const AcceptRow> group) {
  begin_group();
  std::vector<AcceptOutcome> outcomes;
  outcomes.reserve(group.size());
  for (const AcceptRow& row : group) {
    HOLDFAST_TRY(AcceptOutcome outcome, accept_one(row));
    outcomes.push_back(std::move(outcome));
  }
  HOLDFAST_CHECK(write_heads());
  return outcomes;
}

Result<std::vector<Result<AcceptOutcome>>> SqliteAccept::apart(std::span<const AcceptRow> group) {
  begin_group();
  std::vector<Result<AcceptOutcome>> outcomes;
  outcomes.reserve(group.size());
  for (const AcceptRow& row : group) {
    HOLDFAST_CHECK(db_.exec("SAVEPOINT message"));
    outcomes.push_back(accept_one(row));
    HOLDFAST_CHECK(db_.exec(outcomes.back().ok() ? "RELEASE message"
                                                 : "ROLLBACK TO message; RELEASE message"));
  }
  HOLDFAST_CHECK(write_heads());
  return outcomes;
}

Result<AcceptOutcome> SqliteAccept::accept_one(const AcceptRow& row) {
  AcceptKnowledge knowledge = row.knowledge;
  std::optional<DedupeRecord> record;
  for (;;) {
    const AcceptNext next = decide_accept(knowledge);
    if (const auto* answer = std::get_if<AcceptAnswer>(&next)) {
      AcceptOutcome outcome{*answer, record.value_or(DedupeRecord{})};
      if (std::holds_alternative<Accepted>(answer->answer)) {
        HOLDFAST_CHECK(write_effects(row, outcome));
      } else if (knowledge.claim == ClaimState::ours) {
        HOLDFAST_CHECK(release(row));
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
      HOLDFAST_TRY(const DestinationFacts facts, find_destination(row));
      knowledge.destination = destination_state(row.message.envelope.destination.kind, facts);
      HOLDFAST_CHECK(fault(FaultPoint::destination_checked));
    }
  }
}

Result<std::optional<DedupeRecord>> SqliteAccept::claim(const AcceptRow& row) {
  SqliteStatement& insert = statement(Sql::claim);
  Binding(insert)
      .key(row)
      .text(row.broker_message_id)
      .text(row.history_id)
      .bytes(sql_bytes(row.message.fingerprint).bytes)
      .text(to_text(row.message.envelope.destination.kind))
      .text(row.message.envelope.destination.ref)
      .number(row.now.value)
      .number(row.expires_at.value);
  HOLDFAST_CHECK(insert.run());
  if (db_.changes() == 1) {
    return std::optional(record_of(row));
  }
  SqliteStatement& select = statement(Sql::record);
  Binding(select).key(row);
  HOLDFAST_TRY(const bool found, select.step());
  std::optional<DedupeRecord> record;
  if (found) {
    record = DedupeRecord{column_text(select, 0), column_text(select, 1),
                          digest_of(SqlCell{.bytes = column_text(select, 2)}),
                          TimeMs{select.column_integer(3)}, select.column_integer(4) != 0};
  }
  select.reset();
  return record;
}

Result<void> SqliteAccept::release(const AcceptRow& row) {
  Binding(statement(Sql::release)).key(row);
  return statement(Sql::release).run();
}

Result<DestinationFacts> SqliteAccept::find_destination(const AcceptRow& row) {
  const Destination& to = row.message.envelope.destination;
  const DestinationKey key{row.mesh_id, to.kind, to.ref};
  const auto known = facts_.find({key, row.sender_member_id});
  if (known != facts_.end()) {
    return known->second;
  }
  HOLDFAST_TRY(const DestinationFacts facts, read_destination(row));
  heads_.try_emplace(key, Head{facts.last_seq});  // what was accepted since is not in the table
  facts_.try_emplace({key, row.sender_member_id}, facts);
  return facts;
}

Result<DestinationFacts> SqliteAccept::read_destination(const AcceptRow& row) {
  SqliteStatement& select = statement(Sql::destination);
  Binding(select).destination(row).text(row.sender_member_id);
  HOLDFAST_TRY(const bool found, select.step());
  HOLDFAST_ASSERT(found);
  DestinationFacts facts{
      select.column_integer(0) != 0, static_cast<std::uint64_t>(select.column_integer(1)),
      select.column_integer(2) != 0, column_text(select, 3), column_text(select, 4)};
  select.reset();
  return facts;
}

Result<void> SqliteAccept::write_effects(const AcceptRow& row, AcceptOutcome& outcome) {
  const Destination& to = row.message.envelope.destination;
  Head& head = heads_.at({row.mesh_id, to.kind, to.ref});
  outcome.history_seq = head.last_seq + 1;
  const auto seq = static_cast<std::int64_t>(outcome.history_seq);
  HOLDFAST_TRY(outcome.fanout_count, write_deliveries(row, seq));
  HOLDFAST_CHECK(fault(FaultPoint::deliveries_inserted));
  HOLDFAST_CHECK(write_message(row, outcome.fanout_count));
  HOLDFAST_CHECK(write_queue_entry(row, seq));
  HOLDFAST_CHECK(fault(FaultPoint::message_inserted));
  HOLDFAST_CHECK(write_history(row, seq));
  HOLDFAST_CHECK(fault(FaultPoint::history_inserted));
  HOLDFAST_CHECK(write_mentions(row, seq));
  HOLDFAST_CHECK(fault(FaultPoint::mentions_inserted));
  head = {outcome.history_seq, true};  // last: a message that fails takes no sequence
  return {};
}

// How many were written. A queue has none: its message is taken from message_queue itself.
Result<std::uint64_t> SqliteAccept::write_deliveries(const AcceptRow& row, std::int64_t seq) {
  const Envelope& envelope = row.message.envelope;
  if (envelope.destination.kind == DestinationKind::queue) {
    return std::uint64_t{0};
  }
  const bool topic = envelope.destination.kind == DestinationKind::topic;
  SqliteStatement& insert = statement(topic ? Sql::fan_out : Sql::direct);
  Binding values(insert);
  values.text(row.mesh_id).text(envelope.destination.ref);
  if (topic) {
    values.text(row.sender_member_id);
  }
  values.text(row.broker_message_id).number(seq).text(to_text(envelope.priority));
  values.number(row.now.value);
  HOLDFAST_CHECK(insert.run());
  return static_cast<std::uint64_t>(db_.changes());
}

Result<void> SqliteAccept::write_message(const AcceptRow& row, std::uint64_t fanout_count) {
  const Envelope& envelope = row.message.envelope;
  const bool topic = envelope.destination.kind == DestinationKind::topic;
  SqliteStatement& insert = statement(topic ? Sql::topic_message : Sql::queue_message);
  Binding(insert)
      .text(row.broker_message_id)
      .destination(row)
      .text(row.sender_member_id)
      .text(row.message.id.text())
      .number(envelope.version)
      .text(to_text(envelope.priority))
      .text(envelope.reply_to)
      .text(envelope.meta)
      .bytes(envelope.body)
      .number(row.now.value)
      .number(static_cast<std::int64_t>(fanout_count));
  return insert.run();
}

Result<void> SqliteAccept::write_queue_entry(const AcceptRow& row, std::int64_t seq) {
  const Envelope& envelope = row.message.envelope;
  if (envelope.destination.kind != DestinationKind::queue) {
    return {};
  }
  SqliteStatement& insert = statement(Sql::queue_entry);
  Binding(insert)
      .text(row.broker_message_id)
      .text(row.mesh_id)
      .text(envelope.destination.ref)
      .text(row.sender_member_id)
      .text(row.message.queue.ordering_key)
      .number(static_cast<std::int64_t>(envelope.priority))
      .number(seq)
      .number(due_at_of(row).value)
      .number(row.message.queue.expires_at.value);
  return insert.run();
}

Result<void> SqliteAccept::write_history(const AcceptRow& row, std::int64_t seq) {
  SqliteStatement& insert = statement(Sql::history);
  Binding(insert)
      .destination(row)
      .number(seq)
      .text(row.history_id)
      .text(row.broker_message_id)
      .number(row.now.value);
  return insert.run();
}

Result<void> SqliteAccept::write_mentions(const AcceptRow& row, std::int64_t seq) {
  for (const std::string& mention : row.message.mentions) {
    const std::string key = name_key(mention);
    SqliteStatement& insert = statement(Sql::mention);
    Binding(insert)
        .text(row.mesh_id)
        .text(row.sender_member_id)
        .text(row.broker_message_id)
        .number(seq)
        .text(mention)
        .text(key);
    HOLDFAST_CHECK(insert.run());
  }
  return {};
}

Result<void> SqliteAccept::write_heads() {
  for (const auto& [key, head] : heads_) {
    if (head.changed) {
      const auto& [mesh_id, kind, ref] = key;
      Binding(statement(Sql::advance))
          .text(mesh_id)
          .text(to_text(kind))
          .text(ref)
          .number(static_cast<std::int64_t>(head.last_seq));
      HOLDFAST_CHECK(statement(Sql::advance).run());
    }
  }
  return {};
}

}  // namespace holdfast::delivery
