// RedisClient: one connection to a Redis server. It connects when it is first used, and again after
// a failure. Commands are lists of arguments, which may contain any byte.
//
// unavailable: the server cannot be reached or does not accept commands now; what happened to the
// commands of the call is unknown. io_error: the server rejected a command; the message repeats its
// reply. A client is used by one thread at a time. It raises no SIGPIPE.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "storage/redis/redis_url.h"

namespace holdfast {

struct RedisReply {
  enum class Kind : std::uint8_t { nil, integer, text, list, error };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  // of an error too
  std::vector<RedisReply> items;
};

using RedisCommand = std::vector<std::string>;

// How long a server may take, beside the time that a command itself may block.
struct RedisTimes {
  std::chrono::milliseconds connect{3000};
  std::chrono::milliseconds reply{5000};
};

class RedisClient {
 public:
  explicit RedisClient(RedisUrl url, RedisTimes times = {});
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // wait: how long the command itself may block in the server.
  Result<RedisReply> run(const RedisCommand& command,
                         std::chrono::milliseconds wait = std::chrono::milliseconds(0));
  // Sends all commands, then reads all replies. An error reply of one command is in its place.
  Result<std::vector<RedisReply>> pipeline(
      const std::vector<RedisCommand>& commands,
      std::chrono::milliseconds wait = std::chrono::milliseconds(0));

  [[nodiscard]] const RedisUrl& url() const { return url_; }
  // How often it has connected.
  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  struct Connection;

  Result<void> connect();
  Result<std::vector<RedisReply>> exchange(const std::vector<RedisCommand>& commands,
                                           std::chrono::milliseconds wait);
  Error failed(const std::string& what);

  RedisUrl url_;
  RedisTimes times_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t connections_ = 0;
};

// The error of an error reply; the kind of reply that a server gives while it cannot work is
// unavailable.
Error redis_error(const std::string& server, const std::string& reply);

}  // namespace holdfast
