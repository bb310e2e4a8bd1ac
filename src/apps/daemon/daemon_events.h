// DaemonEvents: what happens at a daemon, as server-sent events.
//
// Messages are read from the inbox, so none is missed, whatever happened to the daemon or the
// connection in between; a listener that continues at the id of the last event it has seen gets
// each message once. Other events are kept in memory: a listener that was not connected for too
// long, or during a restart, gets one event `resync` in place of those it has missed.
//
// The id of an event is the position behind it, for Last-Event-ID: EPOCH.MESSAGE-RUN.OTHER with
// the epoch of the inbox and the last message, and the run of the daemon and the last other event.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "apps/server/server_log.h"
#include "apps/server/stream_pump.h"
#include "base/random.h"
#include "delivery/daemon/inbox.h"

namespace holdfast::delivery {

// At the same time; more are refused with 429 too_many_streams.
inline constexpr std::size_t kMostStreams = 32;

struct EventPosition {
  std::string epoch;
  std::uint64_t message = 0;
  std::string run;
  std::uint64_t other = 0;

  // Also a number alone: the messages above it, and other events from now on.
  static std::optional<EventPosition> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

class DaemonEvents {
 public:
  // All must outlive it.
  DaemonEvents(Inbox& inbox, Random& random, ServerLog& log);
  DaemonEvents(const DaemonEvents&) = delete;
  DaemonEvents& operator=(const DaemonEvents&) = delete;
  [[nodiscard]] const Result<void>& started() const { return pump_.started(); }

  // A message is on disk.
  void message_stored() { pump_.changed(); }
  // data: one line of JSON.
  void happened(std::string_view event, std::string data);

  using OpenStream = std::function<std::shared_ptr<net::Stream>()>;
  // From a position on; none: what happens from now on. Nothing is opened when it fails, for
  // example because there are too many streams.
  Result<void> listen(const std::optional<EventPosition>& after, const OpenStream& open);
  [[nodiscard]] std::size_t listeners() const { return listeners_.load(); }
  // All streams are finished.
  void stop() { pump_.stop(); }

 private:
  struct Other {
    std::uint64_t number;
    std::string event;
    std::string data;
  };
  struct Listener {
    EventPosition at;
    bool resync = false;
  };

  Result<StreamPump::Piece> next_piece(Listener& listener);
  void add_others(Listener& listener, std::string& text);
  Result<bool> add_messages(Listener& listener, std::string& text);
  [[nodiscard]] std::uint64_t last_other();

  Inbox& inbox_;
  const std::string run_;
  std::mutex mutex_;            // guards what follows
  std::deque<Other> others_;    // the newest ones
  std::uint64_t numbered_ = 0;  // of the newest
  std::atomic<std::size_t> listeners_ = 0;

  StreamPump pump_;  // its thread uses all of the above
};

}  // namespace holdfast::delivery
