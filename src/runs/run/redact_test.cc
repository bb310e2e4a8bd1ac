#include "runs/run/redact.h"

#include <gtest/gtest.h>

namespace holdfast::redact_test {
namespace {

std::string redacted(std::string_view text) {
  return std::string(redact(Payload::trusted(text)).view());
}

TEST(Redact, values_under_secret_keys_are_replaced) {
  for (const std::string key :
       {"access_token", "api_key", "authorization", "claim_token", "credential", "password",
        "private_key", "refresh_token", "secret", "token"}) {
    for (const std::string_view value : {R"("x")", "1", "null", R"({"a":["b"]})", "[]"}) {
      EXPECT_EQ(redacted(R"({"a":1,")" + key + R"(":)" + std::string(value) + R"(,"b":2})"),
                R"({"a":1,")" + key + R"(":"[REDACTED]","b":2})");
    }
  }
}

TEST(Redact, the_case_of_a_key_and_its_escapes_do_not_matter) {
  EXPECT_EQ(redacted(R"({"PassWord":1})"), R"({"PassWord":"[REDACTED]"})");
  EXPECT_EQ(redacted(R"({"t\u006fken":1})"), R"({"t\u006fken":"[REDACTED]"})");
}

TEST(Redact, secrets_are_found_at_any_depth) {
  EXPECT_EQ(redacted(R"({"a":[{"b":{"token":"x","c":1}},2]})"),
            R"({"a":[{"b":{"token":"[REDACTED]","c":1}},2]})");
  EXPECT_EQ(redacted(R"([{"secret":1},{"secret":2}])"),
            R"([{"secret":"[REDACTED]"},{"secret":"[REDACTED]"}])");
}

TEST(Redact, what_has_no_secrets_is_the_same_payload) {
  for (const std::string_view text :
       {"", "1", R"("token")", "{}", "[]", R"({"tokens":["token"],"my_token":1})"}) {
    const Payload payload = Payload::trusted(text);
    EXPECT_EQ(redact(payload).view().data(), payload.view().data()) << text;
  }
}

}  // namespace
}  // namespace holdfast::redact_test
