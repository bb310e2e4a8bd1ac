// The numbers in the names are those of docs/delivery-tests.md.
#include "apps/broker/webhook_url.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::delivery::webhook_url_test {
namespace {

std::string code_of(std::string_view url, const std::vector<std::string>& allowed = {}) {
  const auto policy = net::AddressPolicy::create(allowed).value();
  const auto parsed = parse_webhook_url(url, &policy);
  return parsed.ok() ? "ok" : std::string(error_info(parsed.error().code()).name);
}

TEST(WebhookUrls, keep_their_path_and_query) {
  const auto parsed = parse_webhook_url("https://Hooks.example:8443/a/b?token=x&y=1", nullptr);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().origin.origin(), "https://hooks.example:8443");
  EXPECT_EQ(parsed.value().target, "/a/b?token=x&y=1");
  EXPECT_EQ(parse_webhook_url("http://a.example?x", nullptr).value().target, "/?x");
  EXPECT_EQ(parse_webhook_url("http://a.example", nullptr).value().target, "/");
}

TEST(WebhookUrls, WH_07_schemes_ports_and_addresses_are_limited) {
  for (const char* const url :
       {"ftp://a.example/", "unix:/tmp/socket", "file:///etc/passwd", "a.example", "",
        "http://user:pass@a.example/", "https://a.example/#x", "https://a.example/a b",
        "https://a.example/?a b", "https://a.example:22/", "http://a.example:25/",
        "http://a.example:6667/", "http://127.0.0.1:8080/", "http://[::1]:8080/",
        "http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/", "http://[fd00::1]/",
        "https://10.1.2.3/"}) {
    EXPECT_EQ(code_of(url), "invalid_url") << url;
  }
  EXPECT_EQ(code_of("https://a.example/" + std::string(2000, 'a')), "invalid_url");
  EXPECT_EQ(code_of("http://127.0.0.1:8080/", {"127.0.0.0/8"}), "ok");
  EXPECT_EQ(code_of("http://8.8.8.8/"), "ok");
  EXPECT_EQ(code_of("http://localhost:8080/"), "ok") << "names are judged at each attempt";
}

}  // namespace
}  // namespace holdfast::delivery::webhook_url_test
