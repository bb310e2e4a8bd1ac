#include "storage/log/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::store_url_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PostgresUrl postgres(std::string_view url) {
  auto parsed = parse_store_url(url);
  EXPECT_TRUE(parsed.ok()) << url << ": " << parsed.error().text();
  return parsed.ok() ? std::get<PostgresUrl>(parsed.value()) : PostgresUrl{};
}

std::string refusal(std::string_view url) {
  auto parsed = parse_store_url(url);
  EXPECT_FALSE(parsed.ok()) << url;
  if (parsed.ok()) {
    return "";
  }
  EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_url) << url;
  return parsed.error().text();
}

TEST(StoreUrl, memory_stands_alone) {
  ASSERT_TRUE(parse_store_url("memory:").ok());
  EXPECT_THAT(refusal("memory:x"), HasSubstr("nothing may follow"));
  EXPECT_THAT(refusal("memory"), HasSubstr("no scheme"));
}

TEST(StoreUrl, sqlite_path_is_used_unchanged) {
  for (const std::string path : {"a.db", "/var/lib/a.db", "./a b.db", "a%20b?c=d.db", "a:b"}) {
    auto parsed = parse_store_url("sqlite:" + path);
    ASSERT_TRUE(parsed.ok()) << path;
    EXPECT_EQ(std::get<SqliteUrl>(parsed.value()).path, path);
  }
}

TEST(StoreUrl, odd_sqlite_forms_are_explained) {
  EXPECT_THAT(refusal("sqlite:"), HasSubstr("sqlite:journal.db"));
  EXPECT_THAT(refusal("sqlite://"), HasSubstr("without //"));
  EXPECT_THAT(refusal("sqlite://a.db"), HasSubstr("sqlite:a.db"));
  EXPECT_THAT(refusal("sqlite:///var/a.db"), HasSubstr("sqlite:/var/a.db"));
}

TEST(StoreUrl, bare_path_gets_a_suggestion) {
  EXPECT_THAT(refusal("foo.db"), HasSubstr("write sqlite:foo.db"));
  EXPECT_THAT(refusal("/var/foo.db"), HasSubstr("write sqlite:/var/foo.db"));
  EXPECT_THAT(refusal("./a:b.db"), HasSubstr("write sqlite:./a:b.db"));
}

TEST(StoreUrl, unknown_scheme_names_the_forms) {
  for (const char* url : {"mysql://u:hunter2@h/db", "etcd:x", "POSTGRES://u:hunter2@h/db"}) {
    const std::string message = refusal(url);
    EXPECT_THAT(message, HasSubstr("memory:"));
    EXPECT_THAT(message, HasSubstr("sqlite:PATH"));
    EXPECT_THAT(message, HasSubstr("postgres://"));
    EXPECT_THAT(message, Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal(std::string_view("sqlite:a\0b", 10)), HasSubstr("zero byte"));
}

TEST(StoreUrl, postgres_defaults) {
  const PostgresUrl url = postgres("postgres://host/db");
  EXPECT_EQ(url.connection, "postgresql://host/db");
  EXPECT_EQ(url.schema, "holdfast");
  EXPECT_FALSE(url.allow_fsync_off);
  EXPECT_EQ(url.shown, "postgres://host/db?schema=holdfast");
}

TEST(StoreUrl, our_parameters_are_removed_and_the_others_stay) {
  const PostgresUrl url = postgres(
      "postgresql://u:hunter2@h:5433/db?sslmode=require&schema=jobs&connect_timeout=3"
      "&allow_fsync_off=1");
  EXPECT_EQ(url.connection, "postgresql://u:hunter2@h:5433/db?sslmode=require&connect_timeout=3");
  EXPECT_EQ(url.schema, "jobs");
  EXPECT_TRUE(url.allow_fsync_off);
  EXPECT_EQ(url.shown, "postgres://u@h:5433/db?schema=jobs");
}

TEST(StoreUrl, sockets_several_hosts_and_ipv6_work) {
  EXPECT_EQ(postgres("postgres:///db?host=/tmp").connection, "postgresql:///db?host=/tmp");
  EXPECT_EQ(postgres("postgres:///db?host=/tmp&schema=x").shown, "postgres:///db?schema=x");
  EXPECT_EQ(postgres("postgres://u@a:1,b:2/db?target_session_attrs=read-write").shown,
            "postgres://u@a:1,b:2/db?schema=holdfast");
  EXPECT_EQ(postgres("postgres://[::1]:5432/db").connection, "postgresql://[::1]:5432/db");
  EXPECT_EQ(postgres("postgres://").connection, "postgresql://");
  EXPECT_EQ(postgres("postgres://%2Ftmp/db").connection, "postgresql://%2Ftmp/db");
}

TEST(StoreUrl, several_hosts_are_known_however_they_are_named) {
  EXPECT_TRUE(postgres("postgres://a:1,b:2/db").several_hosts);
  EXPECT_TRUE(postgres("postgres:///db?host=a,b").several_hosts);
  EXPECT_TRUE(postgres("postgres:///db?hostaddr=10.0.0.1%2C10.0.0.2").several_hosts);
  EXPECT_FALSE(postgres("postgres://a/db?application_name=x,y").several_hosts);
  EXPECT_FALSE(postgres("postgres://a:1/db").several_hosts);
}

TEST(StoreUrl, no_password_is_ever_shown) {
  for (const char* url : {
           "postgres://u:hunter2@h/db",
           "postgres://:hunter2@h/db",
           "postgres://u:hun%40hunter2@h/db",
           "postgres://h/db?user=u&password=hunter2",
           "postgres://h/db?password=a@hunter2",
           "postgres:///db?sslpassword=hunter2&schema=x",
       }) {
    EXPECT_THAT(postgres(url).shown, Not(HasSubstr("hunter2"))) << url;
  }
  // libpq would take a piece of the password for something else.
  for (const char* url : {
           "postgres://u:x@hunter2@h/db",
           "postgres://u:x/hunter2@h/db",
           "postgres://u:x?hunter2@h/db",
           "postgres://h?password=hunter2@x",
           "postgres://u:1/hunter2?x@h/db",
           "postgres://u:1/x?schema=hunter2@h/db",
           "postgres://u:1/x?schema=hunter2&y@h/db",
           "postgres://u:1@x/hunter2?y@h/db",
           "postgres://u:hunter2/db",
           "postgres:u:hunter2@h/db",
           "host=h password=hunter2",
           "u:hunter2@h/db",
           "u@hunter2",
       }) {
    EXPECT_THAT(refusal(url), Not(HasSubstr("hunter2"))) << url;
  }
}

TEST(StoreUrl, bad_parameters_are_refused) {
  EXPECT_THAT(refusal("postgres://h/db?schema="), HasSubstr("schema"));
  EXPECT_THAT(refusal("postgres://h/db?schema=Jobs"), HasSubstr("small letters"));
  EXPECT_THAT(refusal("postgres://h/db?schema=1a"), HasSubstr("digit"));
  EXPECT_THAT(refusal("postgres://h/db?schema=a%20b"), HasSubstr("schema"));
  EXPECT_THAT(refusal("postgres://h/db?schema=a\"b"), HasSubstr("schema"));
  EXPECT_THAT(refusal("postgres://h/db?schema=pg_jobs"), HasSubstr("pg_"));
  EXPECT_THAT(refusal("postgres://h/db?schema=" + std::string(64, 'a')), HasSubstr("63"));
  EXPECT_EQ(postgres("postgres://h/db?schema=" + std::string(63, 'a')).schema,
            std::string(63, 'a'));
  EXPECT_THAT(refusal("postgres://h/db?allow_fsync_off=yes"), HasSubstr("allow_fsync_off"));
  EXPECT_THAT(refusal("postgres://h:0/db"), HasSubstr("port"));
  EXPECT_THAT(refusal("postgres://a:1,h:99999/db"), HasSubstr("port"));
  EXPECT_EQ(postgres("postgres://h:/db").shown, "postgres://h:/db?schema=holdfast");
}

}  // namespace
}  // namespace holdfast::store_url_test
