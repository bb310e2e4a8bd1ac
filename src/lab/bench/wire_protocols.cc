#include "lab/bench/wire_protocols.h"

#include <fmt/format.h>

#include "base/text.h"
#include "lab/bench/wire_format.h"

namespace holdfast {

namespace {

class HttpMessages final : public WireProtocol {
 public:
  // head: the request line and the headers that are its own, each with its end.
  HttpMessages(std::string_view head, std::string_view before, std::string_view after)
      : before_(fmt::format("{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                            head, before.size() + kDigits + after.size(), before)),
        after_(after) {}

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override { return {}; }
  Result<std::size_t> greeted(std::string_view /*received*/) const override { return kMore; }

  void write(std::size_t /*client*/, std::uint64_t number, std::string& out) const override {
    fmt::format_to(std::back_inserter(out), "{}{:0{}}{}", before_, number, kDigits, after_);
  }

  Result<std::size_t> answered(std::string_view received) const override {
    return http_answer(received);
  }

 private:
  static constexpr std::size_t kDigits = 16;

  std::string before_;
  std::string after_;
};

class RedisStream final : public WireProtocol {
 public:
  explicit RedisStream(const std::string& payload)
      : request_(fmt::format("*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$4\r\nbody\r\n"
                             "${}\r\n{}\r\n",
                             payload.size(), payload)) {}

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override {
    return "*1\r\n$4\r\nPING\r\n";
  }
  Result<std::size_t> greeted(std::string_view received) const override {
    return received == "+PONG\r\n" ? received.size() : kMore;
  }
  void write(std::size_t /*client*/, std::uint64_t /*number*/, std::string& out) const override {
    out += request_;
  }
  // The id of the entry as a text with its length.
  Result<std::size_t> answered(std::string_view received) const override {
    const std::size_t line = received.find("\r\n");
    if (line == std::string_view::npos) {
      return kMore;
    }
    if (received[0] != '$') {
      return refused("Redis", received);
    }
    const std::size_t length =
        line + 2 + parse_decimal(received.substr(1, line - 1)).value_or(0) + 2;
    return received.size() < length ? kMore : length;
  }

 private:
  std::string request_;
};

class PostgresRows final : public WireProtocol {
 public:
  PostgresRows(const std::string& user, const std::string& database, const std::string& table,
               const std::string& payload) {
    greeting_ = postgres_startup(user, database);
    std::string parse =
        text_z("add") + text_z(fmt::format("INSERT INTO {}(body) VALUES ($1::bytea)", table));
    put_number(parse, 0, 2);
    greeting_ += postgres_message('P', parse) + postgres_message('S', {});
    std::string bind = text_z("") + text_z("add");
    put_number(bind, 1, 2);  // one format for all parameters:
    put_number(bind, 1, 2);  // binary
    put_number(bind, 1, 2);  // one parameter
    put_number(bind, payload.size(), 4);
    bind += payload;
    put_number(bind, 0, 2);
    std::string execute = text_z("");
    put_number(execute, 0, 4);
    request_ =
        postgres_message('B', bind) + postgres_message('E', execute) + postgres_message('S', {});
  }

  [[nodiscard]] std::string greeting(std::size_t /*client*/) const override { return greeting_; }
  Result<std::size_t> greeted(std::string_view received) const override {
    return postgres_ready(received, 2);  // after the authentication, and after the statement
  }
  void write(std::size_t /*client*/, std::uint64_t /*number*/, std::string& out) const override {
    out += request_;
  }
  Result<std::size_t> answered(std::string_view received) const override {
    return postgres_ready(received, 1);
  }

 private:
  std::string greeting_;
  std::string request_;
};

class NatsStream final : public WireProtocol {
 public:
  NatsStream(std::string subject, std::string payload)
      : subject_(std::move(subject)), payload_(std::move(payload)) {}

  // The answer to the ping comes after everything that the server says by itself.
  [[nodiscard]] std::string greeting(std::size_t client) const override {
    return fmt::format(
        "CONNECT {{\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\"}}\r\n"
        "SUB _INBOX.{} 1\r\nPING\r\n",
        client);
  }
  Result<std::size_t> greeted(std::string_view received) const override {
    if (received.find("-ERR") != std::string_view::npos) {
      return refused("NATS", received);
    }
    return received.ends_with("PONG\r\n") ? received.size() : kMore;
  }
  void write(std::size_t client, std::uint64_t /*number*/, std::string& out) const override {
    fmt::format_to(std::back_inserter(out), "PUB {} _INBOX.{} {}\r\n{}\r\n", subject_, client,
                   payload_.size(), payload_);
  }
  // MSG SUBJECT SUBSCRIPTION LENGTH, then that many bytes; a ping of the server may come before.
  Result<std::size_t> answered(std::string_view received) const override {
    constexpr std::string_view kPing = "PING\r\n";
    const std::size_t begin = received.starts_with(kPing) ? kPing.size() : 0;
    const std::size_t line = received.find("\r\n", begin);
    if (line == std::string_view::npos) {
      return kMore;
    }
    const std::string_view head = received.substr(begin, line - begin);
    if (!head.starts_with("MSG ")) {
      return refused("NATS", received);
    }
    const std::size_t size = parse_decimal(head.substr(head.rfind(' ') + 1)).value_or(0);
    const std::size_t length = line + 2 + size + 2;
    if (received.size() < length) {
      return kMore;
    }
    const std::string_view answer = received.substr(line + 2, size);
    return answer.find("\"error\"") == std::string_view::npos
               ? Result<std::size_t>(length)
               : Result<std::size_t>(refused("NATS", answer));
  }

 private:
  std::string subject_;
  std::string payload_;
};

}  // namespace

std::unique_ptr<WireProtocol> http_messages(std::string_view token, std::string_view before,
                                            std::string_view after) {
  return std::make_unique<HttpMessages>(
      fmt::format("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n",
                  token),
      before, after);
}

std::unique_ptr<WireProtocol> http_sends(std::string_view before, std::string_view after) {
  return std::make_unique<HttpMessages>("POST /v1/send HTTP/1.1\r\nHost: localhost\r\n", before,
                                        after);
}

std::unique_ptr<WireProtocol> redis_stream(std::string payload) {
  return std::make_unique<RedisStream>(std::move(payload));
}

std::unique_ptr<WireProtocol> postgres_rows(std::string user, std::string database,
                                            std::string table, std::string payload) {
  return std::make_unique<PostgresRows>(std::move(user), std::move(database), std::move(table),
                                        std::move(payload));
}

std::unique_ptr<WireProtocol> nats_stream(std::string subject, std::string payload) {
  return std::make_unique<NatsStream>(std::move(subject), std::move(payload));
}

}  // namespace holdfast
