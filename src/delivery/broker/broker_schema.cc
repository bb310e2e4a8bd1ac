#include "delivery/broker/broker_schema.h"

#include <array>

namespace holdfast::delivery {

namespace {

// Times are milliseconds since 1970, ids are ULIDs. A destination row exists for every topic,
// member and queue: accepts lock it, and it has the newest history sequence.
constexpr std::string_view kFirst = R"sql(
CREATE TABLE @.mesh(
  mesh_id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  body_form TEXT NOT NULL CHECK (body_form IN ('plain', 'sealed')),
  dedupe_mode TEXT NOT NULL CHECK (dedupe_mode IN ('retention_scoped', 'permanent')),
  dedupe_retention_days #int NOT NULL,
  message_retention_days #int NOT NULL,
  rate_limit_per_window #int NOT NULL,
  window_seconds #int NOT NULL CHECK (window_seconds > 0),
  max_inline_bytes #int NOT NULL,
  created_at #int NOT NULL
) #without_rowid;
CREATE TABLE @.member(
  member_id TEXT PRIMARY KEY,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  pubkey TEXT NOT NULL,
  display_name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  token_hash #blob NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  created_at #int NOT NULL,
  revoked_at #int,
  UNIQUE (mesh_id, pubkey),
  UNIQUE (mesh_id, name_key)
) #without_rowid;
CREATE TABLE @.topic(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  access TEXT NOT NULL CHECK (access IN ('open', 'closed')),
  sender_copy TEXT NOT NULL CHECK (sender_copy IN ('include', 'exclude')),
  created_at #int NOT NULL,
  archived_at #int,
  PRIMARY KEY (mesh_id, name)
) #without_rowid;
CREATE TABLE @.topic_subscription(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  topic TEXT NOT NULL,
  member_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('writer', 'reader')),
  joined_at #int NOT NULL,
  PRIMARY KEY (mesh_id, topic, member_id)
) #without_rowid;
CREATE TABLE @.queue(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  created_at #int NOT NULL,
  PRIMARY KEY (mesh_id, name)
) #without_rowid;
CREATE TABLE @.destination(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL CHECK (destination_kind IN ('topic', 'dm', 'queue')),
  destination_ref TEXT NOT NULL,
  last_seq #int NOT NULL,
  PRIMARY KEY (mesh_id, destination_kind, destination_ref)
) #without_rowid;
CREATE TABLE @.client_message_dedupe(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  sender_member_id TEXT NOT NULL,
  client_message_id TEXT NOT NULL,
  broker_message_id TEXT NOT NULL,
  history_id TEXT NOT NULL,
  request_fingerprint #blob NOT NULL CHECK (length(request_fingerprint) = 32),
  destination_kind TEXT NOT NULL,
  destination_ref TEXT NOT NULL,
  first_seen_at #int NOT NULL,
  expires_at #int,
  history_available #int NOT NULL CHECK (history_available IN (0, 1)),
  history_pruned_at #int,
  PRIMARY KEY (mesh_id, sender_member_id, client_message_id)
) #without_rowid;
CREATE INDEX client_message_dedupe_expiry ON @.client_message_dedupe(expires_at)
  WHERE expires_at IS NOT NULL;
CREATE TABLE @.topic_message(
  broker_message_id TEXT PRIMARY KEY,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL CHECK (destination_kind = 'topic'),
  destination_ref TEXT NOT NULL,
  sender_member_id TEXT NOT NULL,
  client_message_id TEXT,
  envelope_version #int NOT NULL,
  priority TEXT NOT NULL,
  reply_to_id TEXT NOT NULL,
  meta TEXT NOT NULL,
  body #blob NOT NULL,
  created_at #int NOT NULL,
  fanout_count #int NOT NULL
);
CREATE TABLE @.message_queue(
  broker_message_id TEXT PRIMARY KEY,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL CHECK (destination_kind IN ('dm', 'queue')),
  destination_ref TEXT NOT NULL,
  sender_member_id TEXT NOT NULL,
  client_message_id TEXT,
  envelope_version #int NOT NULL,
  priority TEXT NOT NULL,
  reply_to_id TEXT NOT NULL,
  meta TEXT NOT NULL,
  body #blob NOT NULL,
  created_at #int NOT NULL,
  fanout_count #int NOT NULL
);
CREATE TABLE @.message_history(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL,
  destination_ref TEXT NOT NULL,
  history_seq #int NOT NULL CHECK (history_seq > 0),
  history_id TEXT NOT NULL,
  broker_message_id TEXT NOT NULL UNIQUE,
  created_at #int NOT NULL,
  pruned_at #int,
  PRIMARY KEY (mesh_id, destination_kind, destination_ref, history_seq)
) #without_rowid;
CREATE TABLE @.delivery_queue(
  delivery_id #identity,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  recipient_member_id TEXT NOT NULL,
  broker_message_id TEXT NOT NULL,
  channel TEXT NOT NULL CHECK (channel IN ('ws', 'webhook')),
  endpoint_id TEXT NOT NULL,
  history_seq #int NOT NULL,
  priority TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'delivered', 'dead')),
  attempts #int NOT NULL,
  next_attempt_at #int NOT NULL,
  created_at #int NOT NULL,
  lease_owner TEXT,
  lease_until #int,
  delivered_at #int,
  last_error TEXT,
  UNIQUE (broker_message_id, recipient_member_id, channel, endpoint_id)
);
CREATE TABLE @.mention_index(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  mentioned_pubkey TEXT NOT NULL,
  broker_message_id TEXT NOT NULL,
  history_seq #int NOT NULL,
  read_at #int,
  PRIMARY KEY (broker_message_id, mentioned_pubkey)
) #without_rowid;
CREATE INDEX mention_index_mentioned
  ON @.mention_index(mesh_id, mentioned_pubkey, broker_message_id);
)sql";

constexpr std::string_view kInvitations = R"sql(
CREATE TABLE @.invitation(
  secret_hash #blob PRIMARY KEY CHECK (length(secret_hash) = 32),
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  created_at #int NOT NULL,
  expires_at #int NOT NULL,
  used_at #int,
  member_id TEXT
) #without_rowid;
)sql";

// Members are found by the beginning of the hash of their token; redaction marks history entries.
constexpr std::string_view kTokenKeys = R"sql(
CREATE INDEX member_token_key ON @.member(substr(token_hash, 1, 8));
ALTER TABLE @.message_history ADD COLUMN redacted_at #int;
)sql";

// In the order in which a recipient claims; of the leased ones alone, which are few; of one state.
constexpr std::string_view kDeliveryIndexes = R"sql(
CREATE INDEX delivery_queue_open
  ON @.delivery_queue(recipient_member_id, priority DESC, history_seq, delivery_id)
  WHERE state IN ('queued', 'leased');
CREATE INDEX delivery_queue_leased ON @.delivery_queue(recipient_member_id, lease_until)
  WHERE state = 'leased';
CREATE INDEX delivery_queue_dead ON @.delivery_queue(mesh_id, delivery_id) WHERE state = 'dead';
)sql";

// A cursor row is missing while nothing of the destination was taken over. Deliveries that wait are
// found by their time, those on their way by their state.
constexpr std::string_view kWebhooks = R"sql(
CREATE TABLE @.webhook_endpoint(
  endpoint_id TEXT PRIMARY KEY,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until #int,
  state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
  disabled_reason TEXT,
  state_at #int NOT NULL,
  max_in_flight #int NOT NULL CHECK (max_in_flight > 0),
  rate_per_second #int NOT NULL,
  created_at #int NOT NULL,
  consecutive_failures #int NOT NULL,
  failing_since #int,
  hold_until #int NOT NULL,
  hold_ms #int NOT NULL,
  last_success_at #int,
  last_failure_at #int,
  last_error TEXT,
  owner TEXT,
  lease_until #int NOT NULL
) #without_rowid;
CREATE INDEX webhook_endpoint_mesh ON @.webhook_endpoint(mesh_id);
CREATE TABLE @.webhook_filter(
  endpoint_id TEXT NOT NULL REFERENCES @.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL,
  destination_ref TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, destination_kind, destination_ref)
) #without_rowid;
CREATE TABLE @.webhook_cursor(
  endpoint_id TEXT NOT NULL REFERENCES @.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  destination_kind TEXT NOT NULL,
  destination_ref TEXT NOT NULL,
  last_seq #int NOT NULL,
  PRIMARY KEY (endpoint_id, destination_kind, destination_ref)
) #without_rowid;
CREATE TABLE @.webhook_delivery(
  endpoint_id TEXT NOT NULL REFERENCES @.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  broker_message_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'delivered', 'dead')),
  attempts #int NOT NULL,
  failures #int NOT NULL,
  interruptions #int NOT NULL,
  queued_at #int NOT NULL,
  next_attempt_at #int NOT NULL,
  ended_at #int,
  last_error TEXT,
  PRIMARY KEY (endpoint_id, broker_message_id)
) #without_rowid;
CREATE INDEX webhook_delivery_due ON @.webhook_delivery(endpoint_id, next_attempt_at)
  WHERE state = 'queued';
CREATE INDEX webhook_delivery_sending ON @.webhook_delivery(endpoint_id) WHERE state = 'sending';
CREATE INDEX webhook_delivery_ended ON @.webhook_delivery(ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE @.webhook_attempt(
  attempt_id #identity,
  endpoint_id TEXT NOT NULL REFERENCES @.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  broker_message_id TEXT NOT NULL,
  attempt #int NOT NULL,
  started_at #int NOT NULL,
  duration_ms #int NOT NULL,
  outcome TEXT NOT NULL,
  status #int NOT NULL,
  error TEXT NOT NULL,
  response TEXT NOT NULL,
  UNIQUE (endpoint_id, broker_message_id, attempt)
);
CREATE INDEX webhook_attempt_endpoint ON @.webhook_attempt(endpoint_id, attempt_id);
CREATE INDEX webhook_attempt_time ON @.webhook_attempt(started_at);
)sql";

// What changes about a message of a queue is in a row of its own, without the body. The indexes
// are those of a claim: what is ready, of a key or in a lane; what is due; what has expired.
constexpr std::string_view kQueues = R"sql(
ALTER TABLE @.queue ADD COLUMN ordering TEXT NOT NULL DEFAULT 'shared'
  CHECK (ordering IN ('shared', 'lanes'));
ALTER TABLE @.queue ADD COLUMN access TEXT NOT NULL DEFAULT 'open'
  CHECK (access IN ('open', 'closed'));
ALTER TABLE @.queue ADD COLUMN max_deliveries #int NOT NULL DEFAULT 20;
ALTER TABLE @.queue ADD COLUMN lease_ms #int NOT NULL DEFAULT 30000;
CREATE TABLE @.queue_consumer(
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  queue TEXT NOT NULL,
  member_id TEXT NOT NULL,
  granted_at #int NOT NULL,
  PRIMARY KEY (mesh_id, queue, member_id)
) #without_rowid;
CREATE TABLE @.queue_entry(
  broker_message_id TEXT PRIMARY KEY,
  mesh_id TEXT NOT NULL REFERENCES @.mesh(mesh_id) ON DELETE CASCADE,
  queue TEXT NOT NULL,
  lane TEXT NOT NULL,
  ordering_key TEXT NOT NULL,
  rank #int NOT NULL,
  history_seq #int NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('ready', 'delayed', 'leased', 'done', 'dead', 'discarded')),
  due_at #int NOT NULL,
  expires_at #int NOT NULL,
  deliveries #int NOT NULL,
  lease TEXT NOT NULL,
  lease_member_id TEXT NOT NULL,
  ended_at #int NOT NULL,
  reason TEXT NOT NULL
) #without_rowid;
INSERT INTO @.queue_entry SELECT m.broker_message_id, m.mesh_id, m.destination_ref, '', '',
  CASE m.priority WHEN 'now' THEN 0 WHEN 'next' THEN 1 ELSE 2 END, h.history_seq, 'ready', 0, 0, 0,
  '', '', 0, '' FROM @.message_queue m JOIN @.message_history h
  ON h.broker_message_id = m.broker_message_id WHERE m.destination_kind = 'queue';
CREATE INDEX queue_entry_ready ON @.queue_entry(mesh_id, queue, rank, history_seq)
  WHERE state = 'ready' AND lane = '';
CREATE INDEX queue_entry_key ON @.queue_entry(mesh_id, queue, ordering_key, rank, history_seq)
  WHERE state = 'ready' AND ordering_key <> '';
CREATE INDEX queue_entry_lane ON @.queue_entry(mesh_id, queue, rank, lane, history_seq)
  WHERE state IN ('ready', 'delayed', 'leased') AND lane <> '';
CREATE INDEX queue_entry_due ON @.queue_entry(mesh_id, queue, due_at)
  WHERE state IN ('delayed', 'leased');
CREATE INDEX queue_entry_expiry ON @.queue_entry(mesh_id, queue, expires_at)
  WHERE state = 'ready' AND expires_at > 0;
CREATE INDEX queue_entry_dead ON @.queue_entry(mesh_id, queue, broker_message_id)
  WHERE state = 'dead';
)sql";

constexpr auto kMigrations = std::to_array<Migration>({{1, kFirst},
                                                       {2, kInvitations},
                                                       {3, kTokenKeys},
                                                       {4, kDeliveryIndexes},
                                                       {5, kWebhooks},
                                                       {6, kQueues}});

struct Word {
  std::string_view token;
  std::string_view sqlite;
  std::string_view postgres;
};

constexpr auto kWords = std::to_array<Word>({
    {"#int", "INTEGER", "bigint"},
    {"#blob", "BLOB", "bytea"},
    {"#identity", "INTEGER PRIMARY KEY", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
    {"#without_rowid", "WITHOUT ROWID", ""},
});

}  // namespace

std::span<const Migration> broker_migrations() { return kMigrations; }

std::uint32_t newest_broker_schema() { return kMigrations.back().version; }

std::string migration_sql(const Migration& migration, SqlDialect dialect, std::string_view prefix) {
  std::string sql = translate_sql(migration.sql, dialect, prefix);
  for (const Word& word : kWords) {
    const std::string_view written = dialect == SqlDialect::sqlite ? word.sqlite : word.postgres;
    for (std::size_t at = sql.find(word.token); at != std::string::npos;
         at = sql.find(word.token, at + written.size())) {
      sql.replace(at, word.token.size(), written);
    }
  }
  return sql;
}

}  // namespace holdfast::delivery
