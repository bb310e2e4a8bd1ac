#include "lab/bench/wire_queues.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "lab/bench/wire_format.h"

namespace holdfast {

namespace {

// What lies between two texts; empty: they are not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + before.size());
  return rest.substr(0, rest.find(after));
}

Error nothing_claimed(std::string_view service) {
  return Error{ErrorCode::unavailable, fmt::format("{} has no message left", service)};
}

class BrokerConsumers final : public WireProtocol {
 public:
  BrokerConsumers(std::string_view token, std::string_view queue, std::size_t clients)
      : token_(token), queue_(queue), held_(clients) {}

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override { return {}; }
  Result<std::size_t> greeted(std::string_view /*received*/) const override { return kMore; }
  void write(std::size_t client, std::uint64_t /*number*/, std::string& out) const override {
    const Held& held = held_[client];
    const std::string body =
        held.id.empty()
            ? std::string(R"({"limit":1})")
            : fmt::format(R"({{"lease":"{}","broker_message_ids":["{}"]}})", held.lease, held.id);
    fmt::format_to(std::back_inserter(out),
                   "POST /v1/queues/{}/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Authorization: Bearer {}\r\nContent-Type: application/json\r\n"
                   "Content-Length: {}\r\n\r\n{}",
                   queue_, held.id.empty() ? "claim" : "ack", token_, body.size(), body);
  }
  Result<std::size_t> answered(std::string_view received) const override {
    return http_answer(received);
  }
  Result<void> note(std::size_t client, std::string_view answer) override {
    Held& held = held_[client];
    if (!held.id.empty()) {
      held = {};
      return answer.find(R"("fenced":[])") != std::string_view::npos
                 ? Result<void>()
                 : refused("the broker", answer);
    }
    held.lease = between(answer, R"("lease":")", "\"");
    held.id = between(answer, R"("broker_message_id":")", "\"");
    return held.id.empty() ? nothing_claimed("the broker") : Result<void>();
  }

 private:
  struct Held {
    std::string lease;
    std::string id;
  };

  std::string token_;
  std::string queue_;
  std::vector<Held> held_;
};

class RedisConsumers final : public WireProtocol {
 public:
  explicit RedisConsumers(std::size_t clients) : held_(clients) {}

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override {
    return "*1\r\n$4\r\nPING\r\n";
  }
  Result<std::size_t> greeted(std::string_view received) const override {
    return received == "+PONG\r\n" ? received.size() : kMore;
  }
  void write(std::size_t client, std::uint64_t /*number*/, std::string& out) const override {
    const std::string& id = held_[client];
    out += id.empty()
               ? fmt::format("XREADGROUP GROUP workers c{} COUNT 1 STREAMS work >\r\n", client)
               : fmt::format("XACK work workers {}\r\n", id);
  }
  // A number, or nested lists of texts.
  Result<std::size_t> answered(std::string_view received) const override {
    std::size_t at = 0;
    for (std::size_t values = 1; values > 0; --values) {
      const std::size_t line = received.find("\r\n", at);
      if (line == std::string_view::npos) {
        return kMore;
      }
      const std::string_view number = received.substr(at + 1, line - at - 1);
      const std::size_t count = parse_decimal(number).value_or(0);
      const char kind = received[at];
      if (kind == '-') {
        return refused("Redis", received);
      }
      at = line + 2;
      values += kind == '*' ? count : 0;
      at += kind == '$' && number != "-1" ? count + 2 : 0;
      if (at > received.size()) {
        return kMore;
      }
    }
    return at;
  }
  Result<void> note(std::size_t client, std::string_view answer) override {
    std::string& id = held_[client];
    if (!id.empty()) {
      id.clear();
      return {};
    }
    // [[stream, [[id, [name, value]]]]]: the id is the second text.
    const std::string_view behind_name = between(answer, "work\r\n", "\r\n*2\r\n$4\r\nbody");
    id = behind_name.substr(behind_name.rfind('\n') + 1);
    return id.empty() ? nothing_claimed("Redis") : Result<void>();
  }

 private:
  std::vector<std::string> held_;
};

class PostgresConsumers final : public WireProtocol {
 public:
  PostgresConsumers(const std::string& user, const std::string& database, const std::string& table,
                    std::size_t clients)
      : greeting_(postgres_startup(user, database)), held_(clients) {
    const auto prepare = [&](std::string_view name, const std::string& sql) {
      std::string parse = text_z(name) + text_z(sql);
      put_number(parse, 0, 2);
      greeting_ += postgres_message('P', parse);
    };
    prepare("claim",
            fmt::format("UPDATE {0} SET state = 'leased', lease_until = now() + interval '30 s' "
                        "WHERE id = (SELECT id FROM {0} WHERE state = 'ready' ORDER BY id "
                        "FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id, body",
                        table));
    prepare("ack", fmt::format("DELETE FROM {} WHERE id = $1::bigint AND state = 'leased'", table));
    greeting_ += postgres_message('S', {});
  }

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override { return greeting_; }
  Result<std::size_t> greeted(std::string_view received) const override {
    return postgres_ready(received, 2);  // after the authentication, and after the statements
  }
  // All in binary.
  void write(std::size_t client, std::uint64_t /*number*/, std::string& out) const override {
    const std::string& id = held_[client];
    std::string bind = text_z("") + text_z(id.empty() ? "claim" : "ack");
    put_number(bind, 1, 2);
    put_number(bind, 1, 2);
    put_number(bind, id.empty() ? 0 : 1, 2);
    if (!id.empty()) {
      put_number(bind, id.size(), 4);
      bind += id;
    }
    put_number(bind, 1, 2);
    put_number(bind, 1, 2);
    std::string execute = text_z("");
    put_number(execute, 0, 4);
    out += postgres_message('B', bind) + postgres_message('E', execute) + postgres_message('S', {});
  }
  Result<std::size_t> answered(std::string_view received) const override {
    return postgres_ready(received, 1);
  }
  Result<void> note(std::size_t client, std::string_view answer) override {
    std::string& id = held_[client];
    if (!id.empty()) {
      id.clear();
      return {};
    }
    // DataRow: its length, two columns, the length of the first, the id.
    constexpr std::size_t kBeforeId = 4 + 2 + 4;
    constexpr std::size_t kIdBytes = 8;
    for (std::size_t at = 0; at + 5 <= answer.size(); at += 1 + number_at(answer, at + 1)) {
      if (answer[at] == 'D') {
        id = answer.substr(at + 1 + kBeforeId, kIdBytes);
        return {};
      }
    }
    return nothing_claimed("PostgreSQL");
  }

 private:
  std::string greeting_;
  std::vector<std::string> held_;
};

}  // namespace

std::unique_ptr<WireProtocol> broker_consumers(std::string_view token, std::string_view queue,
                                               std::size_t clients) {
  return std::make_unique<BrokerConsumers>(token, queue, clients);
}

std::unique_ptr<WireProtocol> redis_consumers(std::size_t clients) {
  return std::make_unique<RedisConsumers>(clients);
}

std::unique_ptr<WireProtocol> postgres_consumers(const std::string& user,
                                                 const std::string& database,
                                                 const std::string& table, std::size_t clients) {
  return std::make_unique<PostgresConsumers>(user, database, table, clients);
}

}  // namespace holdfast
