// EventFeed: sends facts as server-sent events as soon as they are durable.
//
// Each listener has a cursor in the journal and receives the facts after it in chunks, each sent
// when the previous one has left: nothing is buffered for a slow listener, nothing is omitted,
// nothing is sent twice. One thread reads for all listeners; the newest batches are read once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/server/server_log.h"
#include "base/threads.h"
#include "net/http_server.h"
#include "runs/facts/ids.h"
#include "storage/journal/journal.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

// A position in the journal: everything up to and including this entry.
struct EventCursor {
  Position position;
  std::uint32_t index = UINT32_MAX;  // in the batch; the largest: all of it

  // 128.3 or 128; empty for any other text.
  static std::optional<EventCursor> parse(std::string_view text);
  friend auto operator<=>(const EventCursor&, const EventCursor&) = default;
};

struct EventFilter {
  std::set<std::string, std::less<>> kinds = {};      // empty: all
  std::set<std::string, std::less<>> workflows = {};  // empty: all, and facts without a run
  std::set<std::string, std::less<>> runs = {};
  std::string thread = {};  // a prefix
};

class EventFeed {
 public:
  // The journal must outlive it.
  EventFeed(Journal& journal, ServerLog& log);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  // The error when its thread could not be started.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // Everything up to there is durable.
  void reached(Position position);
  // Sends what comes after the cursor, until the listener disconnects or the feed is stopped. Then
  // it calls `ended`.
  void listen(std::shared_ptr<net::Stream> stream, EventFilter filter, const EventCursor& after,
              std::function<void()> ended);
  [[nodiscard]] std::size_t listeners();
  [[nodiscard]] Position head();
  // All streams are finished.
  void stop();

 private:
  struct Event {
    std::uint32_t index = 0;
    std::string thread;
    std::string kind;
    std::string run_id;
    std::string text;  // as it is sent
  };
  using Events = std::vector<Event>;
  struct Listener {
    std::shared_ptr<net::Stream> stream;
    EventFilter filter;
    EventCursor cursor;
    std::function<void()> ended;
    std::chrono::steady_clock::time_point sent_at = {};
    bool busy = false;  // a chunk is being sent
    bool gone = false;
  };
  using ListenerPtr = std::shared_ptr<Listener>;
  using Lock = std::unique_lock<std::mutex>;

  void run();
  ListenerPtr next_to_serve(Lock& lock);
  void serve(const ListenerPtr& listener, Position head);
  Result<std::string> chunk_for(Listener& listener, Position head);
  void send(const ListenerPtr& listener, std::string chunk);
  void drop(const ListenerPtr& listener);
  Result<std::shared_ptr<const Events>> events_at(Position position);
  bool matches(const Listener& listener, const Event& event);
  std::string workflow_of(const std::string& run_id);

  Journal& journal_;
  ServerLog& log_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::list<ListenerPtr> listeners_;
  Position head_;
  bool stopping_ = false;

  // Used by the thread only.
  std::map<std::uint64_t, std::shared_ptr<const Events>> newest_;  // by position
  std::optional<History> tail_;
  std::map<std::string, std::string> workflows_;  // by run

  ThreadGroup thread_;  // uses all of the above
  Result<void> started_;
};

}  // namespace holdfast
