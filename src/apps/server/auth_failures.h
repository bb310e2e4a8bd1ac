// AuthFailures: limits failed authentications per address. The first failures of an address are
// answered immediately, further ones after a growing delay, and those beyond a limit with 429. A
// caller with a valid token never waits, even when others behind its address fail: secrets have 256
// bits, so the limit protects against load and log noise, not against guessing.
//
// An address is an IPv4 address, the first 64 bits of an IPv6 address, or a user at a unix socket.
// The table has a fixed size; a new address replaces the one without failures for the longest time.
// Safe from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/http.h"

namespace holdfast {

class AuthFailures {
 public:
  struct Limits {
    std::uint64_t per_minute = 60;  // of one address; 0: no limit and no delay
    std::chrono::milliseconds log_every{60'000};
  };
  AuthFailures(Clock& clock, Limits limits);

  struct Line {
    std::string address;  // empty: addresses that did not fit into the table
    std::uint64_t failures = 0;
  };
  struct Verdict {
    std::chrono::milliseconds delay{0};  // before the response
    std::uint64_t retry_after_s = 0;     // not 0: the limit is exceeded
    std::vector<Line> lines = {};        // to be logged now
  };
  Verdict failed(const net::Peer& peer);
  // Failures of all addresses that were not logged yet.
  std::vector<Line> take_unlogged();
  [[nodiscard]] std::chrono::milliseconds log_every() const { return limits_.log_every; }

 private:
  // Kind, then 4 bytes (IPv4, user) or 8 (IPv6).
  using Key = std::array<std::uint8_t, 9>;
  struct Entry {
    Key key{};
    double used = 0;  // failures, decaying with time
    TimeMs at;        // of the last failure
    TimeMs logged_at;
    std::uint64_t unlogged = 0;
  };

  static Key key_of(const net::Peer& peer);
  static std::string text_of(const Key& key);
  Entry& entry_of(const Key& key, TimeMs now);

  Clock& clock_;
  const Limits limits_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t unlogged_of_others_ = 0;
};

}  // namespace holdfast
