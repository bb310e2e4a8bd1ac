#include "net/ws_handshake.h"

#include <gtest/gtest.h>

namespace holdfast::net::ws_handshake_test {
namespace {

// RFC 6455 sections 1.2 and 1.3.
constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

Request request() {
  Request request;
  request.method = "GET";
  request.path = "/chat";
  request.headers = {{"Host", "server.example.com"},
                     {"Upgrade", "websocket"},
                     {"Connection", "Upgrade"},
                     {"Sec-WebSocket-Key", std::string(kKey)},
                     {"Sec-WebSocket-Version", "13"}};
  return request;
}

int status_of(const Request& request, const WsRules& rules = {}) {
  const Refused refused = check_ws_request(request, rules);
  return refused.has_value() ? refused->status : 101;
}

Request with(std::string_view name, const std::string& value) {
  Request changed = request();
  for (Header& header : changed.headers) {
    if (header.name == name) {
      header.value = value;
    }
  }
  return changed;
}

Request adding(const std::string& name, const std::string& value) {
  Request changed = request();
  changed.headers.push_back({name, value});
  return changed;
}

TEST(WsHandshake, the_example_of_the_rfc) {
  EXPECT_EQ(ws_accept_of(kKey), kAccept);
  EXPECT_EQ(status_of(request()), 101);
  EXPECT_NE(ws_response_head(kKey, "today").find("Sec-WebSocket-Accept: " + std::string(kAccept)),
            std::string::npos);
}

TEST(WsHandshake, headers_are_lists_of_tokens_in_any_case) {
  EXPECT_EQ(status_of(with("Connection", "keep-alive , UPGRADE")), 101);
  EXPECT_EQ(status_of(with("Upgrade", "h2c, WebSocket")), 101);
  EXPECT_EQ(status_of(with("Connection", "upgraded")), 400);
  EXPECT_EQ(status_of(with("Connection", "")), 400);
}

TEST(WsHandshake, other_requests_than_a_handshake_are_refused) {
  EXPECT_EQ(status_of(with("Upgrade", "h2c")), 426);
  EXPECT_EQ(status_of(with("Sec-WebSocket-Version", "8")), 426);
  EXPECT_EQ(status_of(adding("Sec-WebSocket-Version", "13")), 426);
  for (const char* const key :
       {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBsZSBub25jZQQ=",
        "!!!!!!!!!!!!!!!!!!!!!!==", "dGhlIHNhbXBsZSBub25jZQ== ", "AAAAAAAAAAAAAAAAAAAAAAAA"}) {
    EXPECT_EQ(status_of(with("Sec-WebSocket-Key", key)), 400) << key;
  }
  EXPECT_EQ(status_of(adding("Sec-WebSocket-Key", std::string(kKey))), 400);
  Request post = request();
  post.method = "POST";
  EXPECT_EQ(status_of(post), 400);
  Request body = request();
  body.body = "x";
  EXPECT_EQ(status_of(body), 400);
}

TEST(WsHandshake, browsers_need_an_origin_that_is_allowed) {
  const WsRules rules{{"https://app.example"}};
  const Request page = adding("Origin", "https://app.example");
  EXPECT_EQ(status_of(page, rules), 101);
  EXPECT_EQ(status_of(request(), rules), 101) << "a program";
  EXPECT_EQ(status_of(page), 403);
  for (const char* const origin : {"https://app.example.net", "http://app.example", "null", "",
                                   "https://app.example:8443", "https://APP.example"}) {
    EXPECT_EQ(status_of(adding("Origin", origin), rules), 403) << origin;
  }
  Request twice = page;
  twice.headers.push_back({"Origin", "https://app.example"});
  EXPECT_EQ(status_of(twice, rules), 403);
}

TEST(WsHandshake, a_client_accepts_only_what_answers_it) {
  const std::array<std::byte, 16> random{};
  EXPECT_EQ(ws_key(random), "AAAAAAAAAAAAAAAAAAAAAA==");
  const std::vector<Header> good{{"upgrade", "WebSocket"},
                                 {"Connection", "Upgrade"},
                                 {"Sec-WebSocket-Accept", std::string(kAccept)}};
  EXPECT_EQ(ws_response_fault(good, kKey), "");
  EXPECT_NE(ws_response_fault(good, "AAAAAAAAAAAAAAAAAAAAAA=="), "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<Header> less = good;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(ws_response_fault(less, kKey), "") << i;
  }
  for (const char* const name : {"Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"}) {
    std::vector<Header> more = good;
    more.push_back({name, "x"});
    EXPECT_NE(ws_response_fault(more, kKey), "") << name;
  }
}

}  // namespace
}  // namespace holdfast::net::ws_handshake_test
