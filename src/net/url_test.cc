#include "net/url.h"

#include <gtest/gtest.h>

namespace holdfast::net::url_test {
namespace {

TEST(Url, has_a_scheme_a_host_a_port_and_a_path) {
  const auto url = parse_url("HTTPS://[::1]:8443/a/b/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url.value().kind, Url::Kind::https);
  EXPECT_EQ(url.value().host, "::1");
  EXPECT_EQ(url.value().port, 8443);
  EXPECT_EQ(url.value().path, "/a/b/");
  EXPECT_EQ(url.value().authority, "[::1]:8443");
  EXPECT_EQ(url.value().origin(), "https://[::1]:8443");
  EXPECT_EQ(parse_url("http://Example.COM").value().origin(), "http://example.com");
}

TEST(Url, without_a_port_has_the_standard_port_of_its_scheme) {
  EXPECT_EQ(parse_url("http://a").value().port, 80);
  EXPECT_EQ(parse_url("https://a/").value().port, 443);
}

TEST(Url, names_a_unix_socket_by_its_absolute_path) {
  const auto url = parse_url("unix:/run/holdfast.sock");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url.value().kind, Url::Kind::unix_socket);
  EXPECT_EQ(url.value().path, "/run/holdfast.sock");
  EXPECT_EQ(url.value().origin(), "unix:/run/holdfast.sock");
  EXPECT_FALSE(parse_url("unix:/" + std::string(200, 'x')).ok());
}

TEST(Url, is_refused_without_showing_a_password) {
  for (const char* text : {"",
                           "ftp://x",
                           "http:/a",
                           "http://",
                           "http://:80",
                           "http://a:0",
                           "http://a:70000",
                           "http://a:b",
                           "http://a:080",
                           "http://u:p@a",
                           "http://a/?q",
                           "http://a#f",
                           "http://[::1",
                           "http://[]",
                           "http://[g]",
                           "http://a b",
                           "http://a/ b",
                           "unix:relative",
                           "unix:",
                           "a:80"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code(), ErrorCode::invalid_url) << text;
    EXPECT_EQ(url.error().text().find("u:p"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::net::url_test
