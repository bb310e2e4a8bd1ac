// The state that all reactors of a server share.
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

  // Connections over the limit that are receiving a 503.
  std::atomic<std::uint64_t> rejected = 0;
  // Open connections, without those that only wait for the peer to read the last response.
  std::atomic<std::uint64_t> live = 0;
  std::mutex mutex = {};
  std::condition_variable changed = {};  // no connection is live, or accepting has ended
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
