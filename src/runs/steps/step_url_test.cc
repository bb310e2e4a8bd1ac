#include "runs/steps/step_url.h"

#include <gtest/gtest.h>

namespace holdfast::step_url_test {
namespace {

std::string filled(std::string_view url, std::string_view input,
                   const std::vector<SharedText>& hosts = {"api.example"}) {
  const auto result = fill_step_url(url, Json::parse(input).value(), hosts);
  return result.ok() ? result.value().origin() + result.value().path
                     : "refused: " + result.error().message();
}

bool is_refused(std::string_view url, std::string_view input = "{}",
                const std::vector<SharedText>& hosts = {"api.example"}) {
  const auto result = fill_step_url(url, Json::parse(input).value(), hosts);
  return !result.ok() && result.error().code() == ErrorCode::invalid_argument;
}

TEST(StepUrl, fields_are_filled_in_encoded) {
  EXPECT_EQ(filled("https://api.example/v1/{a}/{b}", R"({"a":"x y/ü?#","b":"~._-"})"),
            "https://api.example/v1/x%20y%2F%C3%BC%3F%23/~._-");
  EXPECT_EQ(filled("https://api.example/{i}/{n}/{t}/{big}",
                   R"({"i":-7,"n":1.5,"t":true,"big":18446744073709551615})"),
            "https://api.example/-7/1.5/true/18446744073709551615");
  EXPECT_EQ(filled("HTTPS://API.example", "{}"), "https://api.example/");
}

TEST(StepUrl, a_field_that_is_not_there_is_named) {
  for (const std::string_view input : {"{}", "[]", "1", R"({"other":1})"}) {
    EXPECT_EQ(filled("http://api.example/{order_id}", input),
              "refused: the input has no field \"order_id\"");
  }
  for (const std::string_view input :
       {R"({"a":null})", R"({"a":[]})", R"({"a":{}})", R"({"a":""})"}) {
    EXPECT_TRUE(is_refused("http://api.example/{a}", input)) << input;
  }
  EXPECT_TRUE(is_refused("http://api.example/{a", R"({"a":1})"));
  EXPECT_TRUE(is_refused("http://api.example/a}", R"({"a":1})"));
}

TEST(StepUrl, only_allowed_hosts_pass) {
  EXPECT_FALSE(is_refused("http://b.example/", "{}", {"a.example", "B.Example"}));
  EXPECT_FALSE(is_refused("http://{h}.example/", R"({"h":"b"})", {"b.example"}));
  for (const std::string_view url :
       {"http://evil.example/", "http://api.example.evil/", "http://xapi.example/",
        "http://api.example./", "http://api.example@evil/", "http://evil@api.example/",
        "http://:x@api.example/", "http:///api.example", "http://[::1]/", "http://",
        "http://api.example:0/", "http://api.example:99999/", "http://api.example:080/",
        "http://api.example:/", "http://api%2eexample/"}) {
    EXPECT_TRUE(is_refused(url)) << url;
  }
  EXPECT_TRUE(is_refused("http://api.example/", "{}", {}));
}

TEST(StepUrl, no_value_leads_to_another_host) {
  for (const std::string_view value : {"evil/", "evil#", "evil?", "x@evil", "evil:80", "a b"}) {
    EXPECT_TRUE(is_refused("http://{h}.example/", "{\"h\":\"" + std::string(value) + "\"}"));
    EXPECT_TRUE(is_refused("http://api.example{h}/", "{\"h\":\"" + std::string(value) + "\"}"));
  }
}

TEST(StepUrl, where_a_port_is_allowed_no_other_one_is) {
  EXPECT_FALSE(is_refused("http://api.example:80/"));
  EXPECT_FALSE(is_refused("https://api.example:8443/"));
  EXPECT_FALSE(is_refused("http://api.example:8080/", "{}", {"api.example:8080"}));
  EXPECT_TRUE(is_refused("http://api.example/", "{}", {"api.example:8080"}));
  EXPECT_FALSE(is_refused("https://api.example/", "{}", {"api.example:443"}));
  EXPECT_FALSE(is_refused("http://[::1]:8080/", "{}", {"[::1]:8080"}));
  EXPECT_TRUE(is_refused("http://[::1]:8081/", "{}", {"[::1]:8080"}));
}

TEST(StepUrl, other_schemes_queries_and_fragments_are_refused) {
  for (const std::string_view url :
       {"file:///etc/passwd", "ftp://api.example/", "api.example/", "", "http:/api.example/",
        "http://api.example/?a=1", "http://api.example/#a", "http://api.example?a"}) {
    EXPECT_TRUE(is_refused(url)) << url;
  }
}

TEST(StepUrl, paths_stay_where_they_are) {
  EXPECT_TRUE(is_refused("http://api.example/v1/{a}/x", R"({"a":".."})"));
  EXPECT_TRUE(is_refused("http://api.example/v1/{a}", R"({"a":"."})"));
  EXPECT_TRUE(is_refused("http://api.example/v1/.{a}", R"({"a":"."})"));
  EXPECT_TRUE(is_refused("http://api.example/v1/%2E%2e/x"));
  EXPECT_FALSE(is_refused("http://api.example/v1/{a}", R"({"a":"..."})"));
  for (const std::string_view url :
       {"http://api.example/a b", "http://api.example/a\\b", "http://api.example/%zz",
        "http://api.example/a\r\nb", "http://api.example/%2", "http://api.example/ü"}) {
    EXPECT_TRUE(is_refused(url)) << url;
  }
}

TEST(StepUrl, query_comes_from_fields) {
  const Json input = Json::parse(R"({"q":"a&b=c d","n":2,"e":""})").value();
  EXPECT_EQ(fill_step_query({"q", "n", "e"}, input).value(), "?q=a%26b%3Dc%20d&n=2&e=");
  EXPECT_EQ(fill_step_query({}, input).value(), "");
  const auto missing = fill_step_query({"q", "page"}, input);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message(), "the input has no field \"page\"");
}

}  // namespace
}  // namespace holdfast::step_url_test
