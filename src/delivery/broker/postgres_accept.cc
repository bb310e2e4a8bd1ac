#include "delivery/broker/postgres_accept.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "delivery/broker/accept_facts.h"
#include "delivery/broker/postgres_accept_sql.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// Columns of the messages of a group, as arrays.
class Columns {
 public:
  Columns& text(std::string_view value) { return add(value, PgElement::text); }
  Columns& bytes(std::string_view value) { return add(value, PgElement::bytea); }
  Columns& number(std::uint64_t value) {
    return add(owned_.emplace_back(pg_bigint(value)), PgElement::bigint);
  }
  Columns& time(TimeMs value) { return number(static_cast<std::uint64_t>(value.value)); }
  Columns& destination(const AcceptRow& row) {
    const Destination& to = row.message.envelope.destination;
    return text(row.mesh_id).text(to_text(to.kind)).text(to.ref);
  }
  Columns& key(const AcceptRow& row) {
    return text(row.mesh_id).text(row.sender_member_id).text(row.message.id.text());
  }
  void end_row() { next_ = 0; }
  [[nodiscard]] bool empty() const { return columns_.empty(); }
  [[nodiscard]] PgParams params() const {
    PgParams params;
    for (const Column& column : columns_) {
      params.list(column.values, column.element);
    }
    return params;
  }

 private:
  struct Column {
    PgElement element;
    std::vector<std::string_view> values = {};
  };

  Columns& add(std::string_view value, PgElement element) {
    if (next_ == columns_.size()) {
      columns_.push_back({element});
    }
    columns_[next_++].values.push_back(value);
    return *this;
  }

  std::vector<Column> columns_;
  std::size_t next_ = 0;           // column of the row
  std::deque<std::string> owned_;  // does not move its elements
};

using DedupeRecords = std::vector<std::optional<DedupeRecord>>;

DedupeRecords read_records(const PgRows& rows, std::size_t count) {
  DedupeRecords records(count);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    records.at(rows.number(row, 0) - 1) = DedupeRecord{
        std::string(rows.bytes(row, 1)), std::string(rows.bytes(row, 2)),
        digest_of(SqlCell{.bytes = std::string(rows.bytes(row, 3))}),
        TimeMs{static_cast<std::int64_t>(rows.number(row, 4))}, rows.number(row, 5) != 0};
  }
  return records;
}

// The records of a group all of whose claims were new.
DedupeRecords new_records(std::span<const AcceptRow> group) {
  DedupeRecords records;
  for (const AcceptRow& row : group) {
    records.emplace_back(record_of(row));
  }
  return records;
}

// What a group looks up about its destinations, each once: most messages share one.
struct Lookups {
  std::vector<const AcceptRow*> distinct = {};  // by destination and sender
  std::vector<std::size_t> of_message = {};     // which of them

  explicit Lookups(std::span<const AcceptRow> group) {
    std::map<std::tuple<std::string_view, DestinationKind, std::string_view, std::string_view>,
             std::size_t>
        known;
    for (const AcceptRow& row : group) {
      const Destination& to = row.message.envelope.destination;
      const auto [found, is_new] =
          known.try_emplace({row.mesh_id, to.kind, to.ref, row.sender_member_id}, distinct.size());
      if (is_new) {
        distinct.push_back(&row);
      }
      of_message.push_back(found->second);
    }
  }
};

DestinationFacts facts_at(const PgRows& rows, std::size_t row) {
  return {rows.number(row, 0) != 0, rows.number(row, 1), rows.number(row, 2) != 0,
          std::string(rows.bytes(row, 3)), std::string(rows.bytes(row, 4))};
}

// Messages to the same destination get consecutive sequences, in the order of the group.
Result<std::vector<AcceptOutcome>> decide_group(std::span<const AcceptRow> group,
                                                const DedupeRecords& records,
                                                const Lookups& lookups,
                                                const PgRows& destination_rows) {
  HOLDFAST_ASSERT(destination_rows.size() == lookups.distinct.size());
  std::map<std::pair<std::string, Destination>, std::uint64_t> last_seqs;
  std::vector<AcceptOutcome> outcomes;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Destination& to = group[i].message.envelope.destination;
    const DestinationFacts facts = facts_at(destination_rows, lookups.of_message[i]);
    AcceptKnowledge knowledge = group[i].knowledge;
    knowledge.claim = claim_state(group[i], records[i]);
    knowledge.destination = destination_state(to.kind, facts);
    const AcceptNext decided = decide_accept(knowledge);
    if (!std::holds_alternative<AcceptAnswer>(decided)) {
      return Error{ErrorCode::conflict, "a dedupe row was swept while it was claimed"};
    }
    AcceptOutcome outcome{std::get<AcceptAnswer>(decided), records[i].value_or(DedupeRecord{})};
    if (is_accepted(outcome)) {
      auto& last = last_seqs.try_emplace({group[i].mesh_id, to}, facts.last_seq).first->second;
      outcome.history_seq = ++last;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

void add_message(Columns& columns, const AcceptRow& row, std::uint64_t seq) {
  const Envelope& envelope = row.message.envelope;
  columns.text(row.broker_message_id).destination(row).text(row.sender_member_id);
  columns.text(row.message.id.text()).number(envelope.version).text(to_text(envelope.priority));
  columns.text(envelope.reply_to).text(envelope.meta).bytes(envelope.body).time(row.now);
  columns.number(seq).end_row();
}

void add_queue_entry(Columns& columns, const AcceptRow& row, std::uint64_t seq) {
  const Envelope& envelope = row.message.envelope;
  if (envelope.destination.kind == DestinationKind::queue) {
    const QueueTerms& terms = row.message.queue;
    columns.text(row.broker_message_id).text(row.mesh_id).text(envelope.destination.ref);
    columns.text(row.sender_member_id).text(terms.ordering_key);
    columns.number(static_cast<std::uint64_t>(envelope.priority)).number(seq);
    columns.time(due_at_of(row)).time(terms.expires_at).end_row();
  }
}

void add_mentions(Columns& columns, std::deque<std::string>& keys, const AcceptRow& row,
                  std::uint64_t seq) {
  for (const std::string& mention : row.message.mentions) {
    columns.text(row.mesh_id).text(row.sender_member_id).text(row.broker_message_id);
    columns.number(seq).text(mention).text(keys.emplace_back(name_key(mention))).end_row();
  }
}

// The newest sequence of each destination that got messages.
Columns new_heads(std::span<const AcceptRow> group, const std::vector<AcceptOutcome>& outcomes) {
  std::map<std::pair<std::string, Destination>, std::size_t> newest;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_accepted(outcomes[i])) {
      newest.insert_or_assign({group[i].mesh_id, group[i].message.envelope.destination}, i);
    }
  }
  Columns columns;
  for (const auto& [destination, i] : newest) {
    columns.destination(group[i]).number(outcomes[i].history_seq).end_row();
  }
  return columns;
}

}  // namespace

struct PostgresAccept::Step {
  const PgStatement* statement;
  PgParams params;
  std::optional<FaultPoint> after;
};

PostgresAccept::PostgresAccept(const std::string& s, std::function<Result<void>(FaultPoint)> fault)
    : claim_{"accept_claim", claim_sql(s)},
      records_{"accept_records", records_sql(s)},
      lock_{"accept_lock", lock_sql(s)},
      destinations_{"accept_destinations", destinations_sql(s)},
      release_{"accept_release", release_sql(s)},
      topic_{"accept_topic", topic_message_sql(s)},
      direct_{"accept_direct", queue_message_sql(s)},
      queue_{"accept_queue", queue_entry_sql(s)},
      history_{"accept_history", history_sql(s)},
      advance_{"accept_advance", advance_sql(s)},
      mention_{"accept_mention", mention_sql(s)},
      fault_(std::move(fault)) {}

std::vector<PostgresAccept::Step> PostgresAccept::examining(
    std::span<const AcceptRow> group, std::span<const AcceptRow* const> distinct) const {
  Columns claims;
  Columns locks;
  Columns destinations;
  for (const AcceptRow& row : group) {
    claims.key(row).text(row.broker_message_id).text(row.history_id);
    claims.bytes(sql_bytes(row.message.fingerprint).bytes);
    claims.text(to_text(row.message.envelope.destination.kind));
    claims.text(row.message.envelope.destination.ref).time(row.now).time(row.expires_at).end_row();
  }
  for (const AcceptRow* const row : distinct) {
    locks.destination(*row).end_row();
    destinations.destination(*row).text(row->sender_member_id).end_row();
  }
  std::vector<Step> steps;
  steps.push_back({&begin_, {}, {}});
  steps.push_back({&claim_, claims.params(), FaultPoint::claimed});
  steps.push_back({&lock_, locks.params(), {}});
  steps.push_back({&destinations_, destinations.params(), FaultPoint::destination_checked});
  return steps;
}

std::vector<PostgresAccept::Step> PostgresAccept::reading_records(
    std::span<const AcceptRow> group) const {
  Columns keys;
  for (const AcceptRow& row : group) {
    keys.key(row).end_row();
  }
  std::vector<Step> steps;
  steps.push_back({&records_, keys.params(), {}});
  return steps;
}

std::vector<PostgresAccept::Step> PostgresAccept::writing(
    std::span<const AcceptRow> group, const std::vector<AcceptOutcome>& outcomes) const {
  Columns released;
  Columns topics;
  Columns direct;
  Columns queues;
  Columns histories;
  Columns mentions;
  std::deque<std::string> mention_keys;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const AcceptRow& row = group[i];
    const std::uint64_t seq = outcomes[i].history_seq;
    if (!is_accepted(outcomes[i])) {
      if (outcomes[i].record.broker_message_id == row.broker_message_id) {
        released.key(row).end_row();
      }
      continue;
    }
    const bool topic = row.message.envelope.destination.kind == DestinationKind::topic;
    add_message(topic ? topics : direct, row, seq);
    add_queue_entry(queues, row, seq);
    histories.destination(row).number(seq).text(row.history_id).text(row.broker_message_id);
    histories.time(row.now).end_row();
    add_mentions(mentions, mention_keys, row, seq);
  }
  std::vector<Step> steps;
  const auto add = [&](const PgStatement& statement, const Columns& columns,
                       std::optional<FaultPoint> after) {
    if (!columns.empty()) {
      steps.push_back({&statement, columns.params(), after});
    }
  };
  add(release_, released, {});
  add(topic_, topics, FaultPoint::message_inserted);
  add(direct_, direct, FaultPoint::deliveries_inserted);
  add(queue_, queues, {});
  add(history_, histories, FaultPoint::history_inserted);
  add(advance_, new_heads(group, outcomes), {});
  add(mention_, mentions, FaultPoint::mentions_inserted);
  steps.push_back({&commit_, {}, {}});
  return steps;
}

// With a fault hook one statement at a time, so that a fault comes between them.
Result<std::vector<PgRows>> PostgresAccept::send(PgConnection& connection,
                                                 std::vector<Step> steps) const {
  std::vector<PgRows> rows;
  if (fault_) {
    for (const Step& step : steps) {
      if (step.statement == &commit_) {
        HOLDFAST_CHECK(fault_(FaultPoint::before_commit));
      }
      HOLDFAST_TRY(PgRows answer, connection.query(*step.statement, step.params));
      rows.push_back(std::move(answer));
      if (step.after.has_value()) {
        HOLDFAST_CHECK(fault_(*step.after));
      }
    }
    return rows;
  }
  for (const Step& step : steps) {
    HOLDFAST_CHECK(connection.prepare_statement(*step.statement));
  }
  HOLDFAST_CHECK(connection.begin_pipeline({}));
  for (const Step& step : steps) {
    connection.send(*step.statement, step.params);
  }
  PgReplies replies = connection.finish_pipeline();
  if (replies.failure.has_value()) {
    return *std::move(replies.failure);
  }
  return std::move(replies.rows);
}

Result<std::vector<AcceptOutcome>> PostgresAccept::run(PgConnection& connection,
                                                       std::span<const AcceptRow> group) const {
  const Lookups lookups(group);
  HOLDFAST_TRY(const std::vector<PgRows> seen,
               send(connection, examining(group, lookups.distinct)));
  DedupeRecords records;
  if (seen[1].affected() == group.size()) {
    records = new_records(group);
  } else {
    HOLDFAST_TRY(const std::vector<PgRows> rows, send(connection, reading_records(group)));
    records = read_records(rows.front(), group.size());
  }
  HOLDFAST_TRY(std::vector<AcceptOutcome> outcomes, decide_group(group, records, lookups, seen[3]));
  std::vector<Step> steps = writing(group, outcomes);
  std::vector<const PgStatement*> sent;
  for (const Step& step : steps) {
    sent.push_back(step.statement);
  }
  HOLDFAST_TRY(const std::vector<PgRows> written, send(connection, std::move(steps)));
  if (written.back().command() != "COMMIT") {
    return Error{ErrorCode::conflict, "the server rolled the transaction back"};
  }
  std::map<std::string, std::uint64_t, std::less<>> counts;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    for (std::size_t row = 0;
         (sent[i] == &topic_ || sent[i] == &direct_) && row < written[i].size(); ++row) {
      counts.emplace(written[i].bytes(row, 0), written[i].number(row, 1));
    }
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_accepted(outcomes[i])) {
      outcomes[i].fanout_count = counts.at(group[i].broker_message_id);
    }
  }
  if (fault_) {
    HOLDFAST_CHECK(fault_(FaultPoint::after_commit));
  }
  return outcomes;
}

}  // namespace holdfast::delivery
