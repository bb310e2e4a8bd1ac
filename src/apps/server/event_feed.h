// EventFeed: facts as they become durable, to everybody who listens, as server-sent events.
//
// Each listener has a place in the journal and is given what comes after it, a piece at a time and
// only when the piece before is gone: nothing is kept for a slow one, nothing is left out, nothing
// comes twice. One thread reads for all while somebody listens; what is newest is read once.
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

// A place in the journal: everything up to and with this entry.
struct EventCursor {
  Position position;
  std::uint32_t index = UINT32_MAX;  // in the batch; the largest: all of it

  // 128.3 or 128. Empty when it is neither.
  static std::optional<EventCursor> parse(std::string_view text);
  friend auto operator<=>(const EventCursor&, const EventCursor&) = default;
};

struct EventFilter {
  std::set<std::string, std::less<>> kinds = {};      // empty: all
  std::set<std::string, std::less<>> workflows = {};  // empty: all, also facts of no run
  std::set<std::string, std::less<>> runs = {};
  std::string thread = {};  // a beginning
};

class EventFeed {
 public:
  // The journal must outlive it.
  EventFeed(Journal& journal, ServerLog& log);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  // Why it has no thread, if it has none.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // Everything up to there is durable.
  void reached(Position position);
  // Gives it what comes after the place, until it goes away or the feed is stopped.
  void listen(std::shared_ptr<net::Stream> stream, EventFilter filter, const EventCursor& after,
              std::function<void()> over);
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
    EventCursor place;
    std::function<void()> over;
    std::chrono::steady_clock::time_point spoken = {};
    bool busy = false;  // a piece is on its way
    bool gone = false;
  };
  using ListenerPtr = std::shared_ptr<Listener>;
  using Lock = std::unique_lock<std::mutex>;

  void run();
  ListenerPtr next_to_serve(Lock& lock);
  void serve(const ListenerPtr& listener, Position head);
  Result<std::string> piece_for(Listener& listener, Position head);
  void send(const ListenerPtr& listener, std::string piece);
  void drop(const ListenerPtr& listener);
  Result<std::shared_ptr<const Events>> events_at(Position position);
  bool wants(const Listener& listener, const Event& event);
  std::string workflow_of(const std::string& run_id);

  Journal& journal_;
  ServerLog& log_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::list<ListenerPtr> listeners_;
  Position head_;
  bool stopping_ = false;

  // Of the thread alone.
  std::map<std::uint64_t, std::shared_ptr<const Events>> newest_;  // by position
  std::optional<History> tail_;
  std::map<std::string, std::string> workflows_;  // by run

  ThreadGroup thread_;  // uses all of the above
  Result<void> started_;
};

}  // namespace holdfast
