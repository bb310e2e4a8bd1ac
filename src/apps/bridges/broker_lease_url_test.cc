#include "apps/bridges/broker_lease_url.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::broker_lease_url_test {
namespace {

using bridges::parse_broker_lease_url;

TEST(BrokerLeaseUrl, has_a_broker_a_token_and_options) {
  const auto url = must(parse_broker_lease_url(
      "broker://hfm_secret@127.0.0.1:7718?prefix=shop-&redeliver_ms=500&max_deliveries=3"));
  EXPECT_EQ(url.origin, "http://127.0.0.1:7718");
  EXPECT_EQ(url.shown, "broker://127.0.0.1:7718");
  EXPECT_EQ(url.token, "hfm_secret");
  EXPECT_EQ(url.prefix, "shop-");
  EXPECT_EQ(url.options.redeliver_ms, 500U);
  EXPECT_EQ(url.options.max_deliveries, 3U);
  EXPECT_EQ(must(parse_broker_lease_url("broker+https://t@broker.example")).origin,
            "https://broker.example");
}

TEST(BrokerLeaseUrl, reads_the_token_from_a_file) {
  const TempDir folder;
  std::ofstream(folder.file("token")) << "hfm_from_a_file\n";
  const auto url = must(
      parse_broker_lease_url("broker+unix:///run/broker.sock?token_file=" + folder.file("token")));
  EXPECT_EQ(url.origin, "unix:/run/broker.sock");
  EXPECT_EQ(url.token, "hfm_from_a_file");
}

TEST(BrokerLeaseUrl, a_fault_is_reported_without_the_token) {
  for (const std::string text :
       {"broker://127.0.0.1", "broker://secret@127.0.0.1/queue", "broker://secret@h?prefx=a",
        "broker://secret@h?redeliver_ms=0", "broker://secret@h?redeliver_ms=soon",
        "broker://secret@h?prefix=a%20b", "broker://secret@h?prefix", "broker://secret@",
        "redis://secret@h"}) {
    const auto url = parse_broker_lease_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(code_of(url), "invalid_url") << text;
    EXPECT_EQ(url.error().text().find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace holdfast::broker_lease_url_test
