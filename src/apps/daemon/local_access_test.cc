#include "apps/daemon/local_access.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/daemon/daemon_events.h"
#include "tests/support/must.h"

namespace holdfast::delivery::local_access_test {
namespace {

const std::string kToken(43, 't');

net::Request request(std::vector<net::Header> headers = {}, const std::string& query = {}) {
  net::Request made;
  made.method = "GET";
  made.path = "/v1/health";
  made.query = query;
  made.headers = std::move(headers);
  return made;
}
net::Request with_token(const std::string& token) {
  return request({{"Authorization", "Bearer " + token}});
}
net::Request from_user(unsigned uid) {
  net::Request made = request();
  made.peer.uid = uid;
  return made;
}

TEST(LocalAccesses, SEC_03_the_socket_is_for_the_user_of_the_daemon_only) {
  LocalAccess access(kToken);
  EXPECT_TRUE(access.check(from_user(::geteuid()), 0).ok());
  EXPECT_EQ(code_of(access.check(from_user(::geteuid() + 1), 0)), ErrorCode::permission_denied);
}

TEST(LocalAccesses, SEC_01_SEC_02_SEC_04_what_a_caller_on_the_loopback_address_must_present) {
  LocalAccess access(kToken);
  EXPECT_TRUE(access.check(with_token(kToken), 0).ok());
  EXPECT_EQ(code_of(access.check(request(), 0)), ErrorCode::unauthenticated);
  EXPECT_EQ(code_of(access.check(with_token(kToken + "x"), 0)), ErrorCode::unauthenticated);
  const net::Header right{"Authorization", "Bearer " + kToken};
  EXPECT_EQ(code_of(access.check(request({right, right}), 0)), ErrorCode::unauthenticated);
  EXPECT_EQ(code_of(access.check(request({right}, "token=" + kToken), 0)),
            ErrorCode::invalid_argument);
  for (const char* const host : {"evil.example", "127.0.0.2", "localhost.evil.example"}) {
    EXPECT_EQ(code_of(access.check(request({right, {"Host", host}}), 0)),
              ErrorCode::permission_denied)
        << host;
  }
  for (const char* const host : {"localhost", "127.0.0.1:80", "[::1]:80"}) {
    EXPECT_TRUE(access.check(request({right, {"Host", host}}), 0).ok()) << host;
  }
  EXPECT_EQ(code_of(access.check(request({right, {"Origin", "null"}}), 0)),
            ErrorCode::permission_denied);
}

TEST(LocalAccesses, SEC_05_health_is_open_only_when_it_is_configured) {
  LocalAccess open(kToken, LocalAccess::Health::open);
  EXPECT_TRUE(open.check(request(), 0).ok());
  net::Request version = request();
  version.path = "/v1/version";
  EXPECT_EQ(code_of(open.check(version, 0)), ErrorCode::unauthenticated);
}

TEST(LocalAccesses, SEC_06_the_old_token_works_for_60_seconds) {
  LocalAccess access(kToken);
  const std::string fresh(43, 'f');
  access.rotate(fresh, 1'000);
  EXPECT_TRUE(access.check(with_token(fresh), 1'000).ok());
  EXPECT_TRUE(access.check(with_token(kToken), 60'999).ok());
  EXPECT_EQ(code_of(access.check(with_token(kToken), 61'000)), ErrorCode::unauthenticated);
}

TEST(LocalAccesses, R_10_a_token_has_100_requests_per_second_and_1000_at_once) {
  LocalAccess access(kToken);
  const auto taken = [&](std::int64_t now) {
    int count = 0;
    while (access.check(with_token(kToken), now).ok()) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(taken(0), 1000);
  EXPECT_EQ(taken(1'000), 100);
  EXPECT_EQ(taken(1'050), 5);
  EXPECT_EQ(taken(3'600'000), 1000);
  const auto refused = access.check(with_token(kToken), 3'600'000);
  EXPECT_EQ(refused.error().field("error"), "too_many_requests");
  EXPECT_TRUE(access.check(from_user(::geteuid()), 3'600'000).ok()) << "not the socket";
}

TEST(EventPositions, IN_09_an_event_id_is_read_back_and_anything_else_is_refused) {
  const auto position = EventPosition::parse("8c1f.17-2b7d.3");
  ASSERT_TRUE(position.has_value());
  EXPECT_EQ(position->text(), "8c1f.17-2b7d.3");
  const auto number = EventPosition::parse("17");
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(number->message, 17U);
  EXPECT_TRUE(number->epoch.empty());
  for (const char* const text :
       {"", "x", "-1", "1.2", "a.1-b", "a.1-.2", ".1-b.2", "a.x-b.2", "a.1-b.2x", "1 "}) {
    EXPECT_FALSE(EventPosition::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace holdfast::delivery::local_access_test
