#include "storage/redis/redis_client.h"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <array>
#include <utility>

#include "base/blocked_sigpipe.h"

namespace holdfast {

namespace {

using std::chrono::milliseconds;

timeval time_of(milliseconds time) {
  const auto count = time.count();
  return {static_cast<time_t>(count / 1000), static_cast<suseconds_t>(count % 1000 * 1000)};
}

RedisReply copy_of(const redisReply& reply) {
  RedisReply copy;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      copy.kind = RedisReply::Kind::integer;
      copy.integer = reply.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      copy.kind =
          reply.type == REDIS_REPLY_ERROR ? RedisReply::Kind::error : RedisReply::Kind::text;
      copy.text.assign(reply.str, static_cast<std::size_t>(reply.len));
      break;
    case REDIS_REPLY_ARRAY:
      copy.kind = RedisReply::Kind::list;
      for (std::size_t i = 0; i < reply.elements; ++i) {
        copy.items.push_back(copy_of(*reply.element[i]));
      }
      break;
    default:
      break;
  }
  return copy;
}

}  // namespace

struct RedisClient::Connection {
  explicit Connection(redisContext* opened) : context(opened) {}
  ~Connection() { redisFree(context); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  redisContext* context;
};

Error redis_error(const std::string& server, const std::string& reply) {
  constexpr std::array<std::string_view, 6> kTransient{"LOADING",    "BUSY", "READONLY",
                                                       "MASTERDOWN", "OOM",  "TRYAGAIN"};
  const std::string_view word = std::string_view(reply).substr(0, reply.find(' '));
  for (const std::string_view transient : kTransient) {
    if (word == transient) {
      return Error{ErrorCode::unavailable, server + ": " + reply};
    }
  }
  return Error{ErrorCode::io_error, server + ": " + reply};
}

RedisClient::RedisClient(RedisUrl url, RedisTimes times) : url_(std::move(url)), times_(times) {}
RedisClient::~RedisClient() = default;

Error RedisClient::failed(const std::string& what) {
  connection_.reset();
  return Error{ErrorCode::unavailable, url_.shown + " cannot be reached: " + what};
}

Result<void> RedisClient::connect() {
  if (connection_ != nullptr) {
    return {};
  }
  redisContext* const context =
      url_.socket.empty()
          ? redisConnectWithTimeout(url_.host.c_str(), url_.port, time_of(times_.connect))
          : redisConnectUnixWithTimeout(url_.socket.c_str(), time_of(times_.connect));
  if (context == nullptr) {
    return Error{ErrorCode::unavailable, url_.shown + " cannot be reached: no memory"};
  }
  connection_ = std::make_unique<Connection>(context);
  if (context->err != 0) {
    return failed(static_cast<const char*>(context->errstr));
  }
  std::vector<RedisCommand> greeting;
  if (!url_.password.empty()) {
    greeting.push_back(url_.user.empty() ? RedisCommand{"AUTH", url_.password}
                                         : RedisCommand{"AUTH", url_.user, url_.password});
  }
  greeting.push_back({"SELECT", std::to_string(url_.database)});
  HOLDFAST_TRY(const auto replies, exchange(greeting, milliseconds(0)));
  for (const RedisReply& reply : replies) {
    if (reply.kind == RedisReply::Kind::error) {
      connection_.reset();
      return redis_error(url_.shown, reply.text);
    }
  }
  ++connections_;
  return {};
}

Result<std::vector<RedisReply>> RedisClient::exchange(const std::vector<RedisCommand>& commands,
                                                      milliseconds wait) {
  const BlockedSigpipe guard;
  redisContext* const context = connection_->context;
  if (redisSetTimeout(context, time_of(wait + times_.reply)) != REDIS_OK) {
    return failed("the timeout cannot be set");
  }
  for (const RedisCommand& command : commands) {
    std::vector<const char*> arguments;
    std::vector<std::size_t> lengths;
    for (const std::string& argument : command) {
      arguments.push_back(argument.data());
      lengths.push_back(argument.size());
    }
    if (redisAppendCommandArgv(context, static_cast<int>(command.size()), arguments.data(),
                               lengths.data()) != REDIS_OK) {
      return failed(static_cast<const char*>(context->errstr));
    }
  }
  std::vector<RedisReply> replies;
  while (replies.size() < commands.size()) {
    void* raw = nullptr;
    if (redisGetReply(context, &raw) != REDIS_OK || raw == nullptr) {
      return failed(static_cast<const char*>(context->errstr));
    }
    replies.push_back(copy_of(*static_cast<redisReply*>(raw)));
    freeReplyObject(raw);
  }
  return replies;
}

Result<std::vector<RedisReply>> RedisClient::pipeline(const std::vector<RedisCommand>& commands,
                                                      milliseconds wait) {
  HOLDFAST_CHECK(connect());
  return exchange(commands, wait);
}

Result<RedisReply> RedisClient::run(const RedisCommand& command, milliseconds wait) {
  HOLDFAST_TRY(auto replies, pipeline({command}, wait));
  if (replies.front().kind == RedisReply::Kind::error) {
    return redis_error(url_.shown, replies.front().text);
  }
  return std::move(replies.front());
}

}  // namespace holdfast
