#include "delivery/daemon/inbox_schema.h"

#include <array>

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kInboxFileId = 0x484c4942;  // "HLIB"

constexpr std::string_view kInboxTables = R"sql(
CREATE TABLE inbox(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  mesh TEXT NOT NULL,
  sender_pubkey TEXT NOT NULL,
  client_message_id TEXT NOT NULL,
  recipient TEXT NOT NULL,
  broker_message_id TEXT NOT NULL,
  dest_kind TEXT NOT NULL CHECK (dest_kind IN ('topic', 'dm', 'queue')),
  dest_ref TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('now', 'next', 'low')),
  reply_to_id TEXT NOT NULL,
  meta TEXT NOT NULL,
  body BLOB NOT NULL,
  redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
  history_seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  seen_at INTEGER,
  removed_at INTEGER,
  UNIQUE (mesh, sender_pubkey, client_message_id, recipient)
) STRICT;
CREATE INDEX inbox_received ON inbox(received_at) WHERE removed_at IS NULL;
CREATE INDEX inbox_removed ON inbox(received_at) WHERE removed_at IS NOT NULL;
CREATE INDEX inbox_destination ON inbox(mesh, dest_kind, dest_ref, history_seq);
CREATE INDEX inbox_sender ON inbox(sender_pubkey, id);
CREATE INDEX inbox_unread ON inbox(id) WHERE seen_at IS NULL AND removed_at IS NULL;
CREATE TABLE inbox_cursor(
  mesh TEXT NOT NULL,
  dest_kind TEXT NOT NULL,
  dest_ref TEXT NOT NULL,
  history_seq INTEGER NOT NULL,
  PRIMARY KEY (mesh, dest_kind, dest_ref)
) STRICT, WITHOUT ROWID;
CREATE TABLE inbox_epoch(epoch TEXT NOT NULL) STRICT;
)sql";

constexpr std::array kInboxMigrations{FileMigration{1, kInboxTables}};

}  // namespace

const DaemonFileKind& inbox_file_kind() {
  static constexpr DaemonFileKind kKind{"an inbox", kInboxFileId, kInboxMigrations,
                                        "the next start keeps it as a copy and begins a new one"};
  return kKind;
}

}  // namespace holdfast::delivery
