// What all reactors of a server share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "net/http_server.h"

namespace holdfast::net {

struct ServerState {
  Limits limits;
  Handler handler;

  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> open = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> malformed = 0;

  // Connections that were one too many and are being told so.
  std::atomic<std::uint64_t> turned_away = 0;
  // Connections that may still get something of us: open, without those that only wait for the
  // peer to have read the last answer.
  std::atomic<std::uint64_t> live = 0;
  std::mutex mutex = {};
  std::condition_variable changed = {};  // nobody is live, or nobody is let in any more
  bool accepting = true;                 // guarded by the mutex

  void end_accepting() {
    const std::lock_guard lock(mutex);
    accepting = false;
    changed.notify_all();
  }
  void one_less_live() {
    if (live.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex);
      changed.notify_all();
    }
  }
};

}  // namespace holdfast::net
