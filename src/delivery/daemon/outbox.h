// Outbox: the messages that programs gave to this daemon, until a broker has accepted them, and for
// ever after as a record. When send() returns, the message is on disk, or was known before.
//
//   send -> pending -> inflight -> done
//              ^          |          | accepted by the broker
//              +----------+          |
//              |   transient answer, crash, lost worker
//   pending, inflight -> dead        permanent answer, or too old to send without risk
//   pending, dead     -> aborted     by the operator; requeue puts a new row in its place
//
// Only the worker that holds the lease of an inflight row can complete it. Rows are not deleted.
//
// Any thread. `now` is the time of this machine, which must not go backwards while the process
// runs; `broker_now` is the time of the broker, in which the age of a transmission is measured.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/contract/broker_answer.h"
#include "delivery/daemon/outbox_row.h"
#include "delivery/daemon/outbox_store.h"
#include "delivery/daemon/outgoing.h"

namespace holdfast::delivery {

struct OutboxLimits {
  std::uint64_t max_waiting = 1'000'000;    // rows that are pending or inflight
  std::uint64_t max_bytes = 5'368'709'120;  // of the file; new messages end at 95 %
  std::int64_t min_backoff_ms = 500;        // of rows that a crash left inflight
  std::int64_t max_backoff_ms = 30'000;
};

struct SendReply {
  SendAnswer answer = {};
  std::string client_message_id = {};
  std::optional<Lane> lane = {};  // of a new row
};

struct ClaimTerms {
  TimeMs broker_now = {};
  std::int64_t max_age_ms = 0;
  std::int64_t lease_ms = 60'000;
};

// A row to transmit; or when the first row of the lane is due; or neither: the lane is empty.
struct Claim {
  std::optional<OutboxEntry> entry = {};
  std::optional<TimeMs> due = {};
  std::uint64_t expired = 0;  // rows that were too old and are dead now
};

// The outcome of a transmission.
struct Completion {
  AnswerEffect effect = {};
  int http_status = 0;
  std::string error = {};              // of an outcome other than done
  std::string broker_message_id = {};  // of done
  std::string history_id = {};
  std::int64_t retry_after_ms = 0;  // of pending
  enum class Lane : std::uint8_t { stay, leave };
  Lane lane = Lane::stay;  // leave: suspected of being poison
};
enum class Completed : std::uint8_t { applied, fenced };

// What the broker says about the id of a row whose transmission had no answer. unknown: it does not
// answer, or it may have forgotten.
enum class BrokerVerdict : std::uint8_t { unchecked, absent, accepted, unknown };

struct RequeueRequest {
  std::optional<ClientMessageId> new_id = {};  // none: a fresh one is made
  std::optional<std::string> new_payload = {};
  enum class Force : std::uint8_t { no, yes };
  Force force = Force::no;  // also while inflight, or while the broker is unsure
  std::string reason = {};
  BrokerVerdict verdict = BrokerVerdict::unchecked;
  std::string broker_message_id = {};  // of accepted
  std::string history_id = {};
  std::int64_t delay_ms = 0;  // before the first attempt of the new row
};

struct RequeueReply {
  enum class Result : std::uint8_t {
    requeued,
    check_broker,  // nothing was changed: query the broker, and call again with the verdict
    delivered,     // the broker had accepted it: the row is done
  };
  Result result = Result::requeued;
  OutboxEntry old_entry = {};
  std::optional<OutboxEntry> new_entry = {};
};

struct OutboxFilter {
  std::optional<OutboxState> status = {};
  std::string error = {};             // a part of last_error
  std::optional<TimeMs> since = {};   // enqueued at or after
  std::optional<TimeMs> before = {};  // enqueued before
  std::string before_id = {};         // for the next page
  std::uint64_t limit = 50;
};

struct OutboxCounts {
  std::array<std::uint64_t, 5> rows{};  // by OutboxState
  std::optional<TimeMs> oldest_pending_at = {};
};

class Outbox {
 public:
  // Rows that a crash left inflight are pending again, with one attempt more. clock and random must
  // outlive it; the errors of open_daemon_file.
  static Result<std::unique_ptr<Outbox>> open(const std::string& path, const OutboxLimits& limits,
                                              OutboxStoreOptions options, Clock& clock,
                                              Random& random);

  // invalid_request, too_large, unknown_destination, outbox_full, outbox_low_on_space: there is no
  // row, and the id is free. A conflict is an answer, not an error.
  Result<SendReply> send(const Outgoing& message);

  // Of the broker's features; larger messages are refused.
  void set_inline_bytes(std::uint64_t bytes) { inline_bytes_ = bytes; }

  // In place of those of open().
  void set_limits(std::uint64_t max_waiting, std::uint64_t max_bytes) {
    max_waiting_ = max_waiting;
    max_bytes_ = max_bytes;
  }

  // The lanes that have rows to send.
  Result<std::vector<Lane>> lanes();
  // Takes the first row of a lane if it is due. Rows that are too old become dead.
  Result<Claim> claim(const Lane& lane, const ClaimTerms& terms);
  // fenced: the row is no longer leased to this transmission; only the late id is recorded.
  // next: takes the next row of the lane in the same transaction, if this one is done or dead.
  Result<Completed> complete(const OutboxEntry& claimed, const Completion& completion);
  struct Finished {
    Completed completed = Completed::applied;
    Claim next;
  };
  Result<Finished> complete_and_claim(const OutboxEntry& claimed, const Completion& completion,
                                      const ClaimTerms& terms);
  // Rows whose lease has ended are pending again. How many.
  Result<std::uint64_t> release_expired_leases();

  // id: of a row, or the client_message_id of one. not_found, row_ended, row_inflight,
  // broker_unsure, idempotency_key_reused (the new id has a row), and those of a message for a new
  // payload. Nothing changes on an error.
  Result<RequeueReply> requeue(const std::string& id, const RequeueRequest& request);
  Result<OutboxEntry> abort(const std::string& id, const std::string& reason,
                            RequeueRequest::Force force);
  // Drops the payload of done and aborted rows that ended before the time; ids, fingerprints and
  // outcomes stay. How many.
  Result<std::uint64_t> compact(TimeMs ended_before);

  // Newest first, without payloads.
  Result<std::vector<OutboxEntry>> list(const OutboxFilter& filter);
  // The rows that took each other's place, oldest first. not_found.
  Result<std::vector<OutboxEntry>> chain(const std::string& id);
  Result<OutboxCounts> counts();

  [[nodiscard]] std::uint64_t waiting() const { return store_->waiting(); }
  // Of max_bytes, in percent.
  [[nodiscard]] std::uint64_t used_percent() const;

 private:
  Outbox(std::unique_ptr<OutboxStore> store, const OutboxLimits& limits, Clock& clock,
         Random& random)
      : store_(std::move(store)),
        limits_(limits),
        clock_(clock),
        random_(random),
        max_waiting_(limits.max_waiting),
        max_bytes_(limits.max_bytes) {}

  Result<void> recover();
  Result<SendReply> decide(OutboxTransaction& transaction, const Outgoing& message);
  Result<void> check_space(const OutboxTransaction& transaction) const;
  OutboxEntry new_entry(const Outgoing& message, const Destination& destination);
  Result<Claim> claim_in(OutboxTransaction& transaction, const Lane& lane, const ClaimTerms& terms);
  Result<Completed> complete_in(OutboxTransaction& transaction, const OutboxEntry& claimed,
                                const Completion& completion);
  Result<RequeueReply> requeue_in(OutboxTransaction& transaction, const std::string& id,
                                  const RequeueRequest& request);
  Result<OutboxEntry> successor_of(const OutboxTransaction& transaction,
                                   const OutboxEntry& old_entry, const RequeueRequest& request);
  std::string new_ulid();

  // Runs the work in a transaction, and gives what it returns.
  template <typename T, typename Work>
  Result<T> transact(const Work& work) {
    std::optional<T> value;
    HOLDFAST_CHECK(store_->write([&](OutboxTransaction& transaction) -> Result<void> {
      HOLDFAST_TRY(value, work(transaction));
      return {};
    }));
    return *std::move(value);
  }

  std::unique_ptr<OutboxStore> store_;
  const OutboxLimits limits_;
  Clock& clock_;
  Random& random_;
  UlidSequence ulids_;  // of the thread that runs a transaction
  std::atomic<std::uint64_t> inline_bytes_ = 65'536;
  std::atomic<std::uint64_t> max_waiting_;
  std::atomic<std::uint64_t> max_bytes_;
};

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::RequeueReply::Result>[] = {
    "requeued", "check_broker", "delivered"};

}  // namespace holdfast
