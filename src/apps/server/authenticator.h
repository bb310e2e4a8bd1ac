// Caller: who sent a request, and what it permits. Authenticator: finds the caller of a request.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/tokens.h"
#include "base/clock.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast {

struct Caller {
  enum class Kind : std::uint8_t { token, socket_owner, same_machine };
  Kind kind = Kind::same_machine;
  std::string name;  // of the token, or of the user at the socket; empty: unknown
  Role role = Role::viewer;
  std::string token_id = {};
  std::vector<SharedText> queues = {};     // empty: all
  std::vector<SharedText> workflows = {};  // empty: all

  [[nodiscard]] bool may_see(std::string_view workflow) const;
  // The recorded actor of a command: the name in the request; a token is named in any case.
  [[nodiscard]] std::string actor(std::string_view named) const;
};

// Safe from any thread.
class Authenticator {
 public:
  // max_rate: requests per second and token; 0: no limit.
  Authenticator(Clock& clock, std::uint64_t max_rate);

  // unauthenticated; permission_denied for a browser that shows a page of another site;
  // rate_limited.
  Result<Caller> authenticate(const net::Request& request, const Tokens& tokens);

 private:
  Result<Caller> by_token(std::string_view header, const Tokens& tokens);
  Result<void> count_request(const std::string& token_id);

  struct Bucket {
    double left = 0;
    TimeMs at;
  };

  Clock& clock_;
  const std::uint64_t max_rate_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;  // by token id
};

}  // namespace holdfast
