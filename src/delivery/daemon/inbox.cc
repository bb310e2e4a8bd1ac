#include "delivery/daemon/inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/encoding.h"
#include "delivery/daemon/cell_reader.h"

namespace holdfast::delivery {

namespace {

constexpr int kInboxWalPages = 1000;
constexpr std::uint64_t kFullShare = 95;
constexpr std::uint64_t kPercent = 100;

// Not ON CONFLICT, which uses up an id.
constexpr std::string_view kInsertMessage =
    "INSERT INTO inbox(mesh, sender_pubkey, client_message_id, recipient, broker_message_id, "
    "dest_kind, dest_ref, sender_name, priority, reply_to_id, meta, body, redacted, history_seq, "
    "created_at, received_at) SELECT $1t, $2t, $3t, $4t, $5t, $6t, $7t, $8t, $9t, $10t, $11t, "
    "$12b, $13i, $14i, $15i, $16i WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE mesh = $1t "
    "AND sender_pubkey = $2t AND client_message_id = $3t AND recipient = $4t)";
constexpr std::string_view kMessageColumns =
    "id, mesh, sender_pubkey, client_message_id, recipient, broker_message_id, dest_kind, "
    "dest_ref, sender_name, priority, reply_to_id, meta, body, redacted, history_seq, created_at, "
    "received_at, seen_at";
constexpr std::string_view kMatching =
    "FROM inbox WHERE removed_at IS NULL AND id > $1i AND received_at >= $2i "
    "AND ($3t = '' OR (dest_kind = 'topic' AND dest_ref = $3t)) "
    "AND ($4t = '' OR sender_pubkey = $4t OR sender_name = $4t) "
    "AND ($5i = 0 OR seen_at IS NULL) ORDER BY id";
// The first message of a destination begins its cursor; what continues it without a gap moves it.
constexpr std::string_view kBeginCursor =
    "INSERT INTO inbox_cursor(mesh, dest_kind, dest_ref, history_seq) VALUES ($1t, $2t, $3t, $4i) "
    "ON CONFLICT DO NOTHING";
constexpr std::string_view kMoveCursor =
    "WITH RECURSIVE reached(seq) AS (SELECT history_seq FROM inbox_cursor WHERE mesh = $1t "
    "AND dest_kind = $2t AND dest_ref = $3t UNION SELECT i.history_seq FROM reached r "
    "JOIN inbox i ON i.mesh = $1t AND i.dest_kind = $2t AND i.dest_ref = $3t "
    "AND i.history_seq = r.seq + 1) UPDATE inbox_cursor SET history_seq = (SELECT max(seq) "
    "FROM reached) WHERE mesh = $1t AND dest_kind = $2t AND dest_ref = $3t";
constexpr std::string_view kSetCursor =
    "INSERT INTO inbox_cursor(mesh, dest_kind, dest_ref, history_seq) VALUES ($1t, $2t, $3t, $4i) "
    "ON CONFLICT (mesh, dest_kind, dest_ref) DO UPDATE SET "
    "history_seq = max(history_seq, excluded.history_seq)";

std::string select_messages(std::string_view rest) {
  return fmt::format("SELECT {} {}", kMessageColumns, rest);
}

InboxMessage message_of(const std::vector<SqlCell>& cells) {
  CellReader read(cells);
  InboxMessage message;
  message.id = read.number();
  message.mesh = read.text();
  message.sender_pubkey = read.text();
  message.client_message_id = read.text();
  message.recipient = read.text();
  message.broker_message_id = read.text();
  message.destination.kind = read.word<DestinationKind>();
  message.destination.ref = read.text();
  message.sender_name = read.text();
  message.priority = read.word<Priority>();
  message.reply_to_id = read.text();
  message.meta = read.text();
  message.body = read.text();
  message.redacted = read.flag();
  message.history_seq = read.number();
  message.created_at = read.time();
  message.received_at = read.time();
  message.seen_at = read.maybe_time();
  HOLDFAST_ASSERT(read.at_end());
  return message;
}

Error unknown_message(std::uint64_t id) {
  return Error{ErrorCode::not_found, fmt::format("there is no message {} in the inbox", id)};
}

std::int64_t number_in(std::uint64_t id) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(id, INT64_MAX));
}

// The file and its log, under another name.
Result<std::string> put_aside(const std::string& path, TimeMs now) {
  const std::string copy = fmt::format("{}.corrupt-{}", path, now.value);
  for (const std::string_view part : {"-wal", "-shm", ""}) {
    const std::string from = path + std::string(part);
    if (std::rename(from.c_str(), (copy + std::string(part)).c_str()) != 0 && part.empty()) {
      return Error{ErrorCode::io_error, fmt::format("cannot rename the damaged file {}", path)};
    }
  }
  return copy;
}

}  // namespace

Inbox::Inbox(DaemonFile file, InboxOptions options, Clock& clock)
    : file_(std::move(file)),
      options_(std::move(options)),
      clock_(clock),
      write_session_(make_sqlite_session(*file_.writer)),
      read_session_(make_sqlite_session(*file_.reader)),
      keep_ms_(options_.keep_ms),
      max_bytes_(options_.max_bytes) {}

Result<std::unique_ptr<Inbox>> Inbox::open(const std::string& path, InboxOptions options,
                                           Clock& clock, Random& random) {
  std::string kept_copy;
  auto file = open_daemon_file(inbox_file_kind(), path, options.busy_timeout, options.vfs);
  if (!file.ok() && is_damage(file.error().code())) {
    HOLDFAST_TRY(kept_copy, put_aside(path, clock.now()));
    file = open_daemon_file(inbox_file_kind(), path, options.busy_timeout, options.vfs);
  }
  if (!file.ok()) {
    return file.error();
  }
  std::unique_ptr<Inbox> inbox(new Inbox(std::move(file).value(), std::move(options), clock));
  inbox->kept_copy_ = std::move(kept_copy);
  HOLDFAST_CHECK(inbox->begin_epoch(random));
  return inbox;
}

Result<void> Inbox::begin_epoch(Random& random) {
  return write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows, sql.query("SELECT epoch FROM inbox_epoch", {}));
    if (!rows.empty()) {
      epoch_ = rows[0][0].bytes;
      return {};
    }
    std::array<std::byte, 8> bytes{};
    random.fill(bytes);
    epoch_ = to_hex(bytes);
    HOLDFAST_CHECK(sql.execute("INSERT INTO inbox_epoch(epoch) VALUES ($1t)", {epoch_}));
    return {};
  });
}

void Inbox::reach(InboxFault point) const {
  if (options_.fault) {
    options_.fault(point);
  }
}

Result<void> Inbox::write(const Work& work) {
  const std::lock_guard lock(write_mutex_);
  HOLDFAST_CHECK(file_.writer->exec("BEGIN IMMEDIATE"));
  reach(InboxFault::begun);
  auto done = work(*write_session_);
  if (done.ok()) {
    reach(InboxFault::before_commit);
    done = file_.writer->exec("COMMIT");
  }
  if (!done.ok()) {
    static_cast<void>(file_.writer->exec("ROLLBACK"));  // fails when SQLite has done it already
    return done;
  }
  reach(InboxFault::after_commit);
  // What is left in the WAL is durable; the next commit tries again.
  static_cast<void>(file_.writer->checkpoint_if_longer(kInboxWalPages));
  return {};
}

Result<void> Inbox::read(const Work& work) {
  const std::lock_guard lock(read_mutex_);
  HOLDFAST_CHECK(file_.reader->exec("BEGIN"));
  auto done = work(*read_session_);
  static_cast<void>(file_.reader->exec("ROLLBACK"));
  return done;
}

Result<void> Inbox::insert(SqlSession& sql, const InboxMessage& message, InboxStored& stored) {
  const std::string_view kind = to_text(message.destination.kind);
  const std::string& ref = message.destination.ref;
  HOLDFAST_TRY(
      const std::uint64_t rows,
      sql.execute(kInsertMessage,
                  {message.mesh, message.sender_pubkey, message.client_message_id,
                   message.recipient, message.broker_message_id, kind, ref, message.sender_name,
                   to_text(message.priority), message.reply_to_id, message.meta,
                   SqlBytes{message.body}, std::int64_t{message.redacted ? 1 : 0},
                   number_in(message.history_seq), message.created_at.value, clock_.now().value}));
  reach(InboxFault::inserted);
  (rows > 0 ? stored.added : stored.duplicates) += 1;
  if (rows > 0 && message.history_seq > 0) {
    HOLDFAST_CHECK(
        sql.execute(kBeginCursor, {message.mesh, kind, ref, number_in(message.history_seq - 1)}));
    HOLDFAST_CHECK(sql.execute(kMoveCursor, {message.mesh, kind, ref}));
  }
  return {};
}

Result<InboxStored> Inbox::store(const std::vector<InboxMessage>& messages) {
  InboxStored stored;
  HOLDFAST_CHECK(write([&](SqlSession& sql) -> Result<void> {
    stored = {};
    HOLDFAST_TRY(const SqlRows bytes, sql.query(kFileBytes, {}));
    if (static_cast<std::uint64_t>(bytes.at(0).at(0).integer) >=
        max_bytes_ / kPercent * kFullShare) {
      return Error{ErrorCode::disk_full, "the inbox has used up its space"};
    }
    for (const InboxMessage& message : messages) {
      HOLDFAST_CHECK(insert(sql, message, stored));
    }
    return {};
  }));
  return stored;
}

Result<std::vector<InboxMessage>> Inbox::list(const InboxFilter& filter) {
  const bool newest = filter.order == InboxFilter::Order::newest_first;
  const std::string statement =
      select_messages(kMatching) + (newest ? " DESC LIMIT $6i" : " LIMIT $6i");
  std::vector<InboxMessage> messages;
  HOLDFAST_CHECK(read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(
        const SqlRows rows,
        sql.query(statement,
                  {number_in(filter.after), filter.since.value_or(TimeMs{0}).value, filter.topic,
                   filter.from, std::int64_t{filter.seen == InboxFilter::Seen::unread},
                   number_in(filter.limit)}));
    std::transform(rows.begin(), rows.end(), std::back_inserter(messages), message_of);
    return {};
  }));
  return messages;
}

Result<InboxMessage> Inbox::find(std::uint64_t id) {
  std::optional<InboxMessage> found;
  HOLDFAST_CHECK(read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows,
                 sql.query(select_messages("FROM inbox WHERE id = $1i AND removed_at IS NULL"),
                           {number_in(id)}));
    if (!rows.empty()) {
      found = message_of(rows.front());
    }
    return {};
  }));
  return found.has_value() ? Result<InboxMessage>(*std::move(found)) : unknown_message(id);
}

Result<std::uint64_t> Inbox::mark_seen(const std::vector<std::uint64_t>& ids) {
  std::uint64_t marked = 0;
  HOLDFAST_CHECK(write([&](SqlSession& sql) -> Result<void> {
    marked = 0;
    for (const std::uint64_t id : ids) {
      HOLDFAST_TRY(const std::uint64_t rows,
                   sql.execute("UPDATE inbox SET seen_at = $2i WHERE id = $1i AND seen_at IS NULL "
                               "AND removed_at IS NULL",
                               {number_in(id), clock_.now().value}));
      marked += rows;
    }
    return {};
  }));
  return marked;
}

Result<std::uint64_t> Inbox::mark_seen_up_to(std::uint64_t id) {
  std::uint64_t marked = 0;
  HOLDFAST_CHECK(write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(marked, sql.execute("UPDATE inbox SET seen_at = $2i WHERE id <= $1i AND seen_at "
                                     "IS NULL AND removed_at IS NULL",
                                     {number_in(id), clock_.now().value}));
    return {};
  }));
  return marked;
}

Result<void> Inbox::remove(std::uint64_t id) {
  std::uint64_t removed = 0;
  HOLDFAST_CHECK(write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(removed, sql.execute("UPDATE inbox SET removed_at = $2i, body = x'', meta = '' "
                                      "WHERE id = $1i AND removed_at IS NULL",
                                      {number_in(id), clock_.now().value}));
    return {};
  }));
  return removed > 0 ? Result<void>() : unknown_message(id);
}

Result<std::uint64_t> Inbox::prune() {
  const std::int64_t now = clock_.now().value;
  std::uint64_t removed = 0;
  HOLDFAST_CHECK(write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(removed, sql.execute("UPDATE inbox SET removed_at = $2i, body = x'', meta = '' "
                                      "WHERE received_at < $1i AND removed_at IS NULL",
                                      {std::max<std::int64_t>(now - keep_ms_, 0), now}));
    HOLDFAST_CHECK(sql.execute(
        "DELETE FROM inbox WHERE received_at < $1i AND removed_at IS NOT "
        "NULL",
        {std::max<std::int64_t>(now - std::max(options_.keep_keys_ms, keep_ms_.load()), 0)}));
    return {};
  }));
  return removed;
}

Result<std::vector<InboxCursor>> Inbox::cursors(const std::string& mesh) {
  std::vector<InboxCursor> cursors;
  HOLDFAST_CHECK(read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows, sql.query("SELECT dest_kind, dest_ref, history_seq FROM "
                                               "inbox_cursor WHERE mesh = $1t",
                                               {mesh}));
    for (const auto& cells : rows) {
      CellReader next(cells);
      const auto kind = next.word<DestinationKind>();
      std::string ref = next.text();
      cursors.push_back({{kind, std::move(ref)}, next.number()});
    }
    return {};
  }));
  return cursors;
}

Result<void> Inbox::advance_cursor(const std::string& mesh, const InboxCursor& cursor) {
  return write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_CHECK(
        sql.execute(kSetCursor, {mesh, to_text(cursor.destination.kind), cursor.destination.ref,
                                 number_in(cursor.history_seq)}));
    return {};
  });
}

Result<void> Inbox::drop_cursor(const std::string& mesh, const Destination& destination) {
  return write([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_CHECK(
        sql.execute("DELETE FROM inbox_cursor WHERE mesh = $1t AND dest_kind = $2t AND "
                    "dest_ref = $3t",
                    {mesh, to_text(destination.kind), destination.ref}));
    return {};
  });
}

Result<InboxCounts> Inbox::counts() {
  InboxCounts counts;
  HOLDFAST_CHECK(read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows,
                 sql.query("SELECT (SELECT count(*) FROM inbox WHERE removed_at IS NULL), (SELECT "
                           "count(*) FROM inbox WHERE seen_at IS NULL AND removed_at IS NULL)",
                           {}));
    HOLDFAST_TRY(const SqlRows bytes, sql.query(kFileBytes, {}));
    counts = {static_cast<std::uint64_t>(rows.at(0).at(0).integer),
              static_cast<std::uint64_t>(rows.at(0).at(1).integer),
              static_cast<std::uint64_t>(bytes.at(0).at(0).integer)};
    return {};
  }));
  return counts;
}

Result<std::uint64_t> Inbox::last_id() {
  std::uint64_t last = 0;
  HOLDFAST_CHECK(read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(
        const SqlRows rows,
        sql.query("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox'", {}));
    last = rows.empty() ? 0 : static_cast<std::uint64_t>(rows[0][0].integer);
    return {};
  }));
  return last;
}

}  // namespace holdfast::delivery
