#include "storage/redis/redis_url.h"

#include <gtest/gtest.h>

namespace holdfast::redis_url_test {
namespace {

TEST(RedisUrl, names_a_server_and_a_database) {
  const auto url = parse_redis_url("redis://cache.example:6380/3?prefix=shop&redeliver_ms=500");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url.value().host, "cache.example");
  EXPECT_EQ(url.value().port, 6380);
  EXPECT_EQ(url.value().database, 3U);
  EXPECT_EQ(url.value().parameters.at("prefix"), "shop");
  EXPECT_EQ(url.value().parameters.at("redeliver_ms"), "500");
  EXPECT_EQ(url.value().shown, "redis://cache.example:6380/3");
}

TEST(RedisUrl, has_defaults) {
  const auto url = parse_redis_url("redis://localhost");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url.value().port, 6379);
  EXPECT_EQ(url.value().database, 0U);
  EXPECT_TRUE(url.value().user.empty());
}

TEST(RedisUrl, keeps_the_password_out_of_what_is_shown) {
  const auto url = parse_redis_url("redis://ann:p%40ss%3aword@[::1]:7000");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url.value().user, "ann");
  EXPECT_EQ(url.value().password, "p@ss:word");
  EXPECT_EQ(url.value().host, "::1");
  EXPECT_EQ(url.value().shown, "redis://[::1]:7000/0");
}

TEST(RedisUrl, names_a_unix_socket) {
  const auto url = parse_redis_url("redis+unix:///run/redis.sock?db=2");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url.value().socket, "/run/redis.sock");
  EXPECT_EQ(url.value().database, 2U);
  EXPECT_TRUE(url.value().parameters.empty());
}

TEST(RedisUrl, is_refused_when_a_part_is_wrong) {
  for (const char* text :
       {"", "localhost:6379", "rediss://localhost", "redis://", "redis://:6379",
        "redis://localhost:0", "redis://localhost:65536", "redis://localhost:six",
        "redis://localhost/first", "redis://secret@localhost", "redis://:@localhost",
        "redis://:%zz@localhost", "redis://localhost?prefix", "redis://localhost?a=1&a=2",
        "redis://localhost?db=x", "redis+unix://relative.sock", "redis://[::1"}) {
    const auto url = parse_redis_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code(), ErrorCode::invalid_url) << text;
    EXPECT_EQ(url.error().text().find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace holdfast::redis_url_test
