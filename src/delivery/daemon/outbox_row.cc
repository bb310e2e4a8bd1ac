#include "delivery/daemon/outbox_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "delivery/daemon/cell_reader.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kOutboxColumns =
    "id, client_message_id, request_fingerprint, envelope_version, mesh, dest_kind, dest_ref, "
    "to_text, priority, ordering_key, reply_to_id, meta, mentions, payload, payload_pruned_at, "
    "enqueued_at, first_sent_at, last_attempt_at, attempts, deferrals, ambiguous, poison_suspect, "
    "next_attempt_at, status, lease_token, lease_until, last_error, last_status, delivered_at, "
    "broker_message_id, history_id, aborted_at, aborted_by, abort_reason, superseded_by, "
    "supersedes, late_broker_message_id";

constexpr std::string_view kInsertEntry =
    "INSERT INTO outbox(id, client_message_id, request_fingerprint, envelope_version, mesh, "
    "dest_kind, dest_ref, to_text, priority, ordering_key, reply_to_id, meta, mentions, payload, "
    "enqueued_at, next_attempt_at, supersedes, status) VALUES ($1t, $2t, $3b, $4i, $5t, $6t, $7t, "
    "$8t, $9t, $10t, $11t, $12t, $13t, $14b, $15i, $16i, NULLIF($17t, ''), 'pending')";

// Mentions are names: none of them has a space.
std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

Result<std::optional<OutboxEntry>> find_entry(SqlSession& sql, std::string_view statement,
                                              std::string_view value) {
  HOLDFAST_TRY(const SqlRows rows, sql.query(statement, {value}));
  return rows.empty() ? std::optional<OutboxEntry>() : outbox_entry_of(rows.front());
}

}  // namespace

Lane lane_of(const OutboxEntry& entry) {
  return {entry.mesh,     entry.destination.kind, entry.destination.ref,
          entry.priority, entry.ordering_key,     entry.poison_suspect ? entry.id : ""};
}

std::string select_outbox(std::string_view rest) {
  return fmt::format("SELECT {} FROM outbox {}", kOutboxColumns, rest);
}

OutboxEntry outbox_entry_of(const std::vector<SqlCell>& cells) {
  CellReader read(cells);
  OutboxEntry entry;
  entry.id = read.text();
  entry.client_message_id = read.text();
  entry.request_fingerprint = digest_of(read.next());
  entry.envelope_version = static_cast<std::uint32_t>(read.number());
  entry.mesh = read.text();
  entry.destination.kind = read.word<DestinationKind>();
  entry.destination.ref = read.text();
  entry.to_text = read.text();
  entry.priority = read.word<Priority>();
  entry.ordering_key = read.text();
  entry.reply_to_id = read.text();
  entry.meta = read.text();
  entry.mentions = split(read.text());
  entry.payload = read.text();
  entry.payload_pruned_at = read.maybe_time();
  entry.enqueued_at = read.time();
  entry.first_sent_at = read.maybe_time();
  entry.last_attempt_at = read.maybe_time();
  entry.attempts = read.number();
  entry.deferrals = read.number();
  entry.ambiguous = read.flag();
  entry.poison_suspect = read.flag();
  entry.next_attempt_at = read.time();
  entry.status = read.word<OutboxState>();
  entry.lease_token = read.text();
  entry.lease_until = read.maybe_time();
  entry.last_error = read.text();
  entry.last_status = read.number();
  entry.delivered_at = read.maybe_time();
  entry.broker_message_id = read.text();
  entry.history_id = read.text();
  entry.aborted_at = read.maybe_time();
  entry.aborted_by = read.text();
  entry.abort_reason = read.text();
  entry.superseded_by = read.text();
  entry.supersedes = read.text();
  entry.late_broker_message_id = read.text();
  HOLDFAST_ASSERT(read.at_end());
  return entry;
}

Result<std::optional<OutboxEntry>> find_outbox_entry(SqlSession& sql, std::string_view id) {
  static const std::string statement = select_outbox("WHERE id = $1t");
  return find_entry(sql, statement, id);
}

Result<std::optional<OutboxEntry>> find_by_client_id(SqlSession& sql, std::string_view client_id) {
  static const std::string statement = select_outbox("WHERE client_message_id = $1t");
  return find_entry(sql, statement, client_id);
}

Result<void> insert_outbox_entry(SqlSession& sql, const OutboxEntry& entry) {
  const std::string mentions = joined(entry.mentions);
  HOLDFAST_CHECK(sql.execute(
      kInsertEntry,
      {entry.id, entry.client_message_id, sql_bytes(entry.request_fingerprint),
       std::int64_t{entry.envelope_version}, entry.mesh, to_text(entry.destination.kind),
       entry.destination.ref, entry.to_text, to_text(entry.priority), entry.ordering_key,
       entry.reply_to_id, entry.meta, mentions, SqlBytes{entry.payload}, entry.enqueued_at.value,
       std::max(entry.enqueued_at, entry.next_attempt_at).value, entry.supersedes}));
  return {};
}

OutboxRow decision_row(const OutboxEntry& entry) {
  return {entry.status, entry.request_fingerprint, entry.broker_message_id, entry.history_id,
          entry.last_error};
}

}  // namespace holdfast::delivery
