#include "lab/bench/wire_protocols.h"

#include <gtest/gtest.h>

#include "tests/support/must.h"

namespace holdfast::wire_protocols_test {
namespace {

// The answer counts when its last byte is there, and what follows it does not belong to it.
void expect_answer(const WireProtocol& protocol, const std::string& answer) {
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_EQ(must(protocol.answered(answer.substr(0, length))), 0U) << length;
  }
  EXPECT_EQ(must(protocol.answered(answer)), answer.size());
  EXPECT_EQ(must(protocol.answered(answer + answer)), answer.size());
}

void expect_refusal(const WireProtocol& protocol, const std::string& answer) {
  const auto refused = protocol.answered(answer);
  ASSERT_FALSE(refused.ok()) << answer;
  EXPECT_EQ(refused.error().code(), ErrorCode::unavailable);
}

std::string request_of(const WireProtocol& protocol) {
  std::string out;
  protocol.write(3, 7, out);
  return out;
}

TEST(WireProtocols, a_response_over_http_ends_with_its_body) {
  const auto http = http_messages("secret", "{\"id\":\"", "\"}");
  EXPECT_TRUE(
      request_of(*http).ends_with("Content-Length: 25\r\n\r\n{\"id\":\"0000000000000007\"}"));
  expect_answer(*http, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}");
  expect_refusal(*http, "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n");
}

TEST(WireProtocols, redis_answers_with_the_id_of_the_entry) {
  const auto redis = redis_stream("payload");
  EXPECT_NE(request_of(*redis).find("$7\r\npayload\r\n"), std::string::npos);
  EXPECT_EQ(must(redis->greeted("+PONG\r\n")), 7U);
  expect_answer(*redis, "$3\r\n1-0\r\n");
  expect_refusal(*redis, "-MISCONF no disk\r\n");
}

TEST(WireProtocols, postgresql_answers_until_it_is_ready) {
  const auto rows = postgres_rows("me", "db", "t", "payload");
  const std::string length("\0\0\0", 3);
  const std::string ready = "Z" + length + "\5I";
  expect_answer(*rows, "2" + length + "\4" + "C" + length + "\6x" + std::string(1, '\0') + ready);
  EXPECT_EQ(must(rows->greeted(ready)), 0U) << "the statement is not prepared yet";
  EXPECT_EQ(must(rows->greeted(ready + ready)), 2 * ready.size());
  expect_refusal(*rows, "E" + length + "\6x" + std::string(1, '\0') + ready);
}

TEST(WireProtocols, nats_answers_to_the_inbox_of_the_client) {
  const auto nats = nats_stream("bench", "payload");
  EXPECT_EQ(request_of(*nats), "PUB bench _INBOX.3 7\r\npayload\r\n");
  EXPECT_EQ(must(nats->greeted("INFO {}\r\nPONG\r\n")), 15U);
  expect_answer(*nats, "MSG _INBOX.3 1 9\r\n{\"seq\":1}\r\n");
  EXPECT_EQ(must(nats->answered("PING\r\nMSG _INBOX.3 1 2\r\n{}\r\n")), 28U);
  expect_refusal(*nats, "MSG _INBOX.3 1 12\r\n{\"error\":{}}\r\n");
}

}  // namespace
}  // namespace holdfast::wire_protocols_test
