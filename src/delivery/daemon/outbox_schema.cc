#include "delivery/daemon/outbox_schema.h"

#include <array>

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kOutboxFileId = 0x484c4f42;  // "HLOB"

constexpr std::string_view kFirstTables = R"sql(
CREATE TABLE outbox(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  client_message_id TEXT NOT NULL UNIQUE,
  request_fingerprint BLOB NOT NULL CHECK (length(request_fingerprint) = 32),
  envelope_version INTEGER NOT NULL,
  mesh TEXT NOT NULL,
  dest_kind TEXT NOT NULL CHECK (dest_kind IN ('topic', 'dm', 'queue')),
  dest_ref TEXT NOT NULL,
  to_text TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('now', 'next', 'low')),
  ordering_key TEXT NOT NULL,
  reply_to_id TEXT NOT NULL,
  meta TEXT NOT NULL,
  mentions TEXT NOT NULL,
  payload BLOB NOT NULL,
  payload_pruned_at INTEGER,
  enqueued_at INTEGER NOT NULL,
  first_sent_at INTEGER,
  last_attempt_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  deferrals INTEGER NOT NULL DEFAULT 0 CHECK (deferrals >= 0),
  ambiguous INTEGER NOT NULL DEFAULT 0 CHECK (ambiguous IN (0, 1)),
  poison_suspect INTEGER NOT NULL DEFAULT 0 CHECK (poison_suspect IN (0, 1)),
  next_attempt_at INTEGER NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('pending', 'inflight', 'done', 'dead', 'aborted')),
  lease_token TEXT,
  lease_until INTEGER,
  last_error TEXT NOT NULL DEFAULT '',
  last_status INTEGER NOT NULL DEFAULT 0,
  delivered_at INTEGER,
  broker_message_id TEXT,
  history_id TEXT,
  aborted_at INTEGER,
  aborted_by TEXT CHECK (aborted_by IS NULL OR aborted_by IN ('operator', 'auto')),
  abort_reason TEXT,
  superseded_by TEXT,
  supersedes TEXT,
  late_broker_message_id TEXT,
  CHECK (status <> 'done' OR (broker_message_id IS NOT NULL AND delivered_at IS NOT NULL)),
  CHECK ((status = 'aborted') = (aborted_at IS NOT NULL)),
  CHECK ((status = 'inflight') = (lease_token IS NOT NULL)),
  CHECK ((lease_token IS NULL) = (lease_until IS NULL))
) STRICT;
CREATE INDEX outbox_status ON outbox(status, seq);
CREATE INDEX outbox_lane ON outbox(mesh, dest_kind, dest_ref, priority, ordering_key, seq)
  WHERE status IN ('pending', 'inflight');
)sql";

constexpr std::array kOutboxMigrations{FileMigration{1, kFirstTables}};

}  // namespace

const DaemonFileKind& outbox_file_kind() {
  static constexpr DaemonFileKind kKind{
      "an outbox", kOutboxFileId, kOutboxMigrations,
      "`holdfast daemon recover --fresh outbox` puts it aside; the messages in it are then not "
      "sent"};
  return kKind;
}

}  // namespace holdfast::delivery
