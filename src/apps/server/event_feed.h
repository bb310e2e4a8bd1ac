// EventFeed: sends facts as server-sent events as soon as they are durable.
//
// Each listener has a cursor in the journal and receives the facts after it in pieces (StreamPump):
// nothing is omitted, nothing is sent twice. One thread reads for all listeners; the newest batches
// are read once.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/server/server_log.h"
#include "apps/server/stream_pump.h"
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
  EventFeed(Journal& journal, ServerLog& log) : journal_(journal), pump_(log) {}
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  // The error when its thread could not be started.
  [[nodiscard]] const Result<void>& started() const { return pump_.started(); }

  // Everything up to there is durable.
  void reached(Position position);
  // Sends what comes after the cursor, until the listener disconnects or the feed is stopped. Then
  // it calls `ended`.
  void listen(std::shared_ptr<net::Stream> stream, EventFilter filter, const EventCursor& after,
              std::function<void()> ended);
  [[nodiscard]] std::size_t listeners() { return pump_.listeners(); }
  [[nodiscard]] Position head();
  // All streams are finished.
  void stop() { pump_.stop(); }

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
    EventFilter filter;
    EventCursor cursor;
  };

  Result<StreamPump::Piece> next_piece(Listener& listener);
  Result<std::string> chunk_for(Listener& listener, Position head);
  Result<std::shared_ptr<const Events>> events_at(Position position);
  bool matches(const Listener& listener, const Event& event);
  std::string workflow_of(const std::string& run_id);

  Journal& journal_;
  std::mutex mutex_;
  Position head_;  // guarded by mutex_

  // Used by the thread only.
  std::map<std::uint64_t, std::shared_ptr<const Events>> newest_;  // by position
  std::optional<History> tail_;
  std::map<std::string, std::string> workflows_;  // by run

  StreamPump pump_;  // its thread uses all of the above
};

}  // namespace holdfast
