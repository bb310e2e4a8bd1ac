// RedisUrl: a database of a Redis server.
//   redis://[[USER]:PASSWORD@]HOST[:PORT][/DB][?NAME=VALUE&...]
//   redis+unix:///PATH/OF/SOCKET[?db=N&NAME=VALUE&...]
// What the parameters mean is up to the caller; db selects the database. The wrapper has no TLS:
// rediss:// is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

struct RedisUrl {
  std::string host;    // or
  std::string socket;  // the path of a unix socket
  std::uint16_t port = 6379;
  std::string user;
  std::string password;  // never print it
  std::uint64_t database = 0;
  std::map<std::string, std::string, std::less<>> parameters;  // without db
  std::string shown;  // without password and parameters, for messages
};

// invalid_url; no message repeats a password.
Result<RedisUrl> parse_redis_url(std::string_view text);

}  // namespace holdfast
