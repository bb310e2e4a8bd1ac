// LocalAccess: who may call a daemon. On the unix socket the transport decides: the user of the
// daemon may. On the loopback address a caller presents the local token, and a browser is kept out:
// any Origin, and any Host that is not this machine, is refused.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/hash.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast::delivery {

// How long the token of before a rotation is accepted.
inline constexpr std::int64_t kTokenGraceMs = 60'000;

class LocalAccess {
 public:
  enum class Health : std::uint8_t { closed, open };
  explicit LocalAccess(std::string_view token, Health health = Health::closed);

  // now: milliseconds of a clock that never goes backwards.
  // invalid_argument (400), unauthenticated (401), permission_denied (403), rate_limited (429).
  Result<void> check(const net::Request& request, std::int64_t now);
  void rotate(std::string_view fresh, std::int64_t now);

 private:
  Result<void> check_token(const net::Request& request, std::int64_t now);
  Result<void> take_from_bucket(std::int64_t now);

  const Health health_;
  std::mutex mutex_;  // guards what follows
  Digest current_;
  Digest previous_{};
  std::int64_t previous_until_ = 0;
  double tokens_ = 0;  // of the bucket of requests
  std::int64_t filled_at_ = 0;
};

}  // namespace holdfast::delivery
