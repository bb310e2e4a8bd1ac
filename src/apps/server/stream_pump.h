// StreamPump: writes streams of server-sent events, each as fast as its peer reads: the next piece
// is made when the one before has left, so that nothing is buffered for a slow listener and no
// listener waits for another. A silent stream gets a comment every 15 s.
//
// Any thread; pieces are made by the one thread of the pump.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "apps/server/server_log.h"
#include "base/threads.h"
#include "net/http_server.h"

namespace holdfast {

class StreamPump {
 public:
  struct Piece {
    std::string text = {};  // of whole events; empty: none for this listener
    // Empty although there may be more: the next piece follows without a change.
    bool more = false;
  };
  // The next piece of a listener. An error ends the stream.
  using Next = std::function<Result<Piece>()>;

  // log must outlive it.
  explicit StreamPump(ServerLog& log);
  ~StreamPump() { stop(); }
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;
  // The error when its thread could not be started.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // Until the peer disconnects or the pump is stopped; then it calls `ended`.
  void add(std::shared_ptr<net::Stream> stream, Next next, std::function<void()> ended);
  // Listeners may have something new.
  void changed();
  [[nodiscard]] std::size_t listeners();
  // All streams are finished.
  void stop();

 private:
  struct Listener {
    std::shared_ptr<net::Stream> stream;
    Next next;
    std::function<void()> ended;
    std::chrono::steady_clock::time_point sent_at = {};
    std::uint64_t served = UINT64_MAX;  // the change after which it had no piece
    bool busy = false;                  // a piece is being made or sent
    bool gone = false;
  };
  using ListenerPtr = std::shared_ptr<Listener>;
  using Lock = std::unique_lock<std::mutex>;

  void run();
  ListenerPtr next_to_serve(Lock& lock);
  void serve(const ListenerPtr& listener, std::uint64_t change);
  void send(const ListenerPtr& listener, std::string text);
  void drop(const ListenerPtr& listener);

  ServerLog& log_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::list<ListenerPtr> listeners_;
  std::uint64_t change_ = 0;
  bool stopping_ = false;

  ThreadGroup thread_;  // uses all of the above
  Result<void> started_;
};

}  // namespace holdfast
