// LeaseBackend: an external queue that carries attempts to workers.
//
// A queue of an engine can be bound to a backend. The engine then enqueues the attempts of that
// queue there, and workers that know only the backend execute them. The journal remains the
// authority: a worker executes an item only after the engine has granted its claim, and only the
// engine decides whether a report counts. A backend therefore needs no durability. Whatever it
// loses, the engine enqueues again; whatever it delivers twice, the engine refuses.
//
//   engine                                   worker
//   enqueue, tick  ------- items ------->    claim
//   receive        <------ signals ------    claim, heartbeat, complete, fail, retry, yield, ...
//   answer         ------ answers ------>    await_answer, heartbeat
//   remove
//
// Contract. holdfast/lease_backend_contract.h provides tests for it.
//
//  1. Items. An item is identified by its id. enqueue(ensure) adds an item that is not there, and
//     changes nothing if it is: repeating it is harmless. An item is delivered to one worker at a
//     time, not before its visible_at_ms, which tick compares with the time it is given.
//  2. Redelivery. An item that was delivered, and that for redeliver_ms has neither been removed
//     nor had a heartbeat, is delivered again, to any worker. An item may be delivered more often
//     than that: workers and the engine tolerate it.
//  3. Dead letters. An item that was redelivered max_deliveries times is set aside: it is not
//     delivered any more, and the engine receives one dead_letter signal for it. It stays until it
//     is removed, and enqueue(ensure) does not revive it.
//  4. Signals. A signal that a worker has sent is received at least once, in the order of each
//     worker, until it is acknowledged. An acknowledged signal is not received again.
//  5. Answers. An answer reaches the worker with that claim id. It may be lost: workers claim
//  again.
//  6. Loss. epoch() changes when the backend has lost items or signals.
//  7. Failures. unavailable: nothing is known about the outcome; the call is repeated later, on the
//     same handle, which reconnects itself. Other errors are permanent.
//  8. Threads. A handle is used by one thread at a time. Handles on the same backend are
//     independent, in one process or several. Members must not throw.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// One attempt.
struct WorkItem {
  std::string id;               // of the attempt: its runnable key
  std::string idempotency_key;  // of the step: the same in every attempt at it
  std::string handler;
  std::string payload;  // JSON that describes the attempt; the backend does not interpret it
  std::int64_t visible_at_ms = 0;
};

enum class EnqueueMode : std::uint8_t {
  ensure,     // add it unless it is there
  redeliver,  // its worker is lost: take the item back, count a redelivery
  replace,    // its worker gave it back: take the item back, count nothing
};
enum class Enqueued : std::uint8_t { added, present, dead_lettered };

// An item in the hands of a worker.
struct Delivery {
  WorkItem item;
  std::string receipt;  // names this delivery in the backend
};

// The claim of a worker on a delivery. claim_id and token are random texts that the worker chooses:
// they are the fence that its reports must carry.
struct LeaseClaim {
  std::string item_id;
  std::string receipt;
  std::string worker;
  std::string claim_id;
  std::string token;
};

enum class SignalKind : std::uint8_t {
  claim,
  heartbeat,    // body: progress, JSON or empty
  complete,     // body: the report, see docs/guide/backends.md
  fail,         // body: the report
  retry,        // body: the report
  yield,        // the worker gives the item back; delay_ms until it is visible
  dead_letter,  // from the backend: no worker ended the item
};

struct LeaseSignal {
  SignalKind kind = SignalKind::claim;
  std::string reference;  // for acknowledge
  std::string item_id;
  std::string worker;
  std::string claim_id;
  std::string token;
  std::string body;
  std::int64_t delay_ms = 0;
};

// What the engine has decided about a claim.
struct LeaseAnswer {
  enum class Verdict : std::uint8_t {
    granted,  // execute the item
    refused,  // do not execute it: it has ended, or another worker has it
    lost,     // stop: the claim is not valid any more
    stop,     // stop and report: the run is being compensated
  };
  std::string claim_id;
  Verdict verdict = Verdict::refused;
  std::uint64_t lease_ms = 0;  // granted: send a heartbeat in a third of this time
  std::string progress;        // granted: of an earlier worker, JSON or empty
};

// What tick has found.
struct LeaseTick {
  std::optional<std::int64_t> next_visible_at_ms;  // of the items that are not visible yet
  std::uint64_t ready = 0;                         // visible and not delivered
  std::uint64_t delivered = 0;
  std::uint64_t delayed = 0;
  std::uint64_t dead_letters = 0;
};

class LeaseBackend {
 public:
  virtual ~LeaseBackend() = default;

  // --- for engines

  // Prepares the queue and returns the name of its current life: another one after a loss.
  virtual Result<std::string> epoch(std::string_view queue) = 0;
  // One result for each item, in the same order.
  virtual Result<std::vector<Enqueued>> enqueue(std::string_view queue,
                                                std::span<const WorkItem> items, EnqueueMode mode,
                                                std::int64_t now_ms) = 0;
  // Items that are not there are ignored.
  virtual Result<void> remove(std::string_view queue, std::span<const std::string> ids) = 0;
  // Makes items visible that are due, and takes back deliveries without a heartbeat.
  virtual Result<LeaseTick> tick(std::string_view queue, std::int64_t now_ms) = 0;
  // Waits until there is a signal, or for this time.
  virtual Result<std::vector<LeaseSignal>> receive(std::string_view queue, std::size_t most,
                                                   std::chrono::milliseconds wait) = 0;
  virtual Result<void> acknowledge(std::string_view queue,
                                   std::span<const std::string> references) = 0;
  virtual Result<void> answer(std::string_view queue, std::span<const LeaseAnswer> answers) = 0;

  // --- for workers

  // Takes one item and signals the claim; empty when none became visible in this time.
  virtual Result<std::optional<Delivery>> claim(std::string_view queue, std::string_view worker,
                                                std::string_view claim_id, std::string_view token,
                                                std::chrono::milliseconds wait) = 0;
  // Empty when there was no answer in this time.
  virtual Result<std::optional<LeaseAnswer>> await_answer(std::string_view queue,
                                                          const LeaseClaim& claim,
                                                          std::chrono::milliseconds wait) = 0;
  // Keeps the delivery, and returns an answer that has arrived meanwhile.
  virtual Result<std::optional<LeaseAnswer>> heartbeat(std::string_view queue,
                                                       const LeaseClaim& claim,
                                                       std::string_view progress) = 0;
  // complete, fail, retry and yield: how the worker ends its claim.
  virtual Result<void> end(std::string_view queue, const LeaseClaim& claim, SignalKind how,
                           std::string_view body, std::int64_t delay_ms) = 0;

  // For messages. It must not contain a secret.
  [[nodiscard]] virtual std::string name() const = 0;
};

// A new handle. It may succeed while the backend is unavailable.
using OpenLeaseBackend = std::function<Result<std::unique_ptr<LeaseBackend>>()>;

struct LeaseBackendOptions {
  std::uint64_t redeliver_ms = 30'000;
  std::uint64_t max_deliveries = 20;  // 0: no limit
};

// A backend in this process, for tests: each handle of the result shares its items.
OpenLeaseBackend memory_lease_backend(const LeaseBackendOptions& options = {});
// redis://[USER:PASSWORD@]HOST[:PORT][/DB] or redis+unix:///SOCKET, with the parameters prefix,
// redeliver_ms and max_deliveries. invalid_url.
Result<OpenLeaseBackend> open_lease_backend(std::string_view url);

}  // namespace holdfast
