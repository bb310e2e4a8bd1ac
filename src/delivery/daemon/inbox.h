// Inbox: the messages that this daemon has received. When store() returns, they are on disk; only
// then are they acknowledged and shown to programs.
//
// A message is recognised by its workspace, sender, id and recipient: what comes again is absorbed,
// also after its text was removed by retention or by a program. What another sender sends under the
// same id is another message.
//
// Ids rise in the order of arrival, without reuse. They begin again only in a new file, which has
// another epoch.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "delivery/daemon/inbox_schema.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct InboxMessage {
  std::uint64_t id = 0;  // given by the inbox
  std::string mesh;
  std::string sender_pubkey;
  std::string client_message_id;
  std::string recipient;  // the public key of the member that received it
  std::string broker_message_id;
  Destination destination;
  std::string sender_name;
  Priority priority = Priority::next;
  std::string reply_to_id;
  std::string meta;  // JSON; empty: none
  std::string body;
  bool redacted = false;
  std::uint64_t history_seq = 0;
  TimeMs created_at;   // when the broker accepted it
  TimeMs received_at;  // given by the inbox
  std::optional<TimeMs> seen_at;
};

// The history of a destination up to here was received without a gap.
struct InboxCursor {
  Destination destination;
  std::uint64_t history_seq = 0;
};

struct InboxFilter {
  std::uint64_t after = 0;           // ids above this
  std::optional<TimeMs> since = {};  // received at or after
  std::string topic = {};
  std::string from = {};  // public key or display name
  enum class Seen : std::uint8_t { any, unread };
  Seen seen = Seen::any;
  enum class Order : std::uint8_t { oldest_first, newest_first };
  Order order = Order::oldest_first;
  std::uint64_t limit = 50;
};

struct InboxStored {
  std::uint64_t added = 0;
  std::uint64_t duplicates = 0;
};

struct InboxCounts {
  std::uint64_t messages = 0;  // that have their text
  std::uint64_t unread = 0;
  std::uint64_t bytes = 0;  // of the file
};

// Where tests stop or kill the process.
enum class InboxFault : std::uint8_t { begun, inserted, before_commit, after_commit };

struct InboxOptions {
  std::int64_t keep_ms = std::int64_t{30} * 86'400'000;  // texts
  // Keys; longer than a broker may deliver a message again.
  std::int64_t keep_keys_ms = std::int64_t{400} * 86'400'000;
  std::uint64_t max_bytes = 5'368'709'120;  // of the file; new messages end at 95 %
  std::chrono::milliseconds busy_timeout{5'000};
  std::string vfs = {};
  std::function<void(InboxFault)> fault = {};
};

class Inbox {
 public:
  // clock and random must outlive it; the errors of open_daemon_file. A damaged file is renamed to
  // PATH.corrupt-TIME and a new one begun: kept_copy() names it.
  static Result<std::unique_ptr<Inbox>> open(const std::string& path, InboxOptions options,
                                             Clock& clock, Random& random);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // All or none. disk_full when the file has reached its limit.
  Result<InboxStored> store(const std::vector<InboxMessage>& messages);

  Result<std::vector<InboxMessage>> list(const InboxFilter& filter);
  // not_found, also when its text was removed.
  Result<InboxMessage> find(std::uint64_t id);
  // How many were unread before. up_to: all with an id up to this one.
  Result<std::uint64_t> mark_seen(const std::vector<std::uint64_t>& ids);
  Result<std::uint64_t> mark_seen_up_to(std::uint64_t id);
  // Its text; not_found as find().
  Result<void> remove(std::uint64_t id);

  // Removes texts and keys that have reached their age. How many texts.
  Result<std::uint64_t> prune();

  Result<std::vector<InboxCursor>> cursors(const std::string& mesh);
  // A lower number changes nothing.
  Result<void> advance_cursor(const std::string& mesh, const InboxCursor& cursor);
  Result<void> drop_cursor(const std::string& mesh, const Destination& destination);

  Result<InboxCounts> counts();
  // The id of the newest message that was ever stored.
  Result<std::uint64_t> last_id();
  [[nodiscard]] const std::string& epoch() const { return epoch_; }
  // Of a damaged file that was put aside; empty: there was none.
  [[nodiscard]] const std::string& kept_copy() const { return kept_copy_; }
  [[nodiscard]] std::uint64_t max_bytes() const { return max_bytes_; }
  // In place of those of open().
  void set_limits(std::int64_t keep_ms, std::uint64_t max_bytes) {
    keep_ms_ = keep_ms;
    max_bytes_ = max_bytes;
  }

 private:
  Inbox(DaemonFile file, InboxOptions options, Clock& clock);

  using Work = std::function<Result<void>(SqlSession&)>;
  Result<void> write(const Work& work);
  Result<void> read(const Work& work);
  Result<void> begin_epoch(Random& random);
  Result<void> insert(SqlSession& sql, const InboxMessage& message, InboxStored& stored);
  void reach(InboxFault point) const;

  DaemonFile file_;
  const InboxOptions options_;
  Clock& clock_;
  std::unique_ptr<SqlSession> write_session_;  // guarded by write_mutex_
  std::unique_ptr<SqlSession> read_session_;   // guarded by read_mutex_
  std::atomic<std::int64_t> keep_ms_;
  std::atomic<std::uint64_t> max_bytes_;
  std::string epoch_;
  std::string kept_copy_;
  std::mutex write_mutex_;
  std::mutex read_mutex_;
};

}  // namespace holdfast::delivery
