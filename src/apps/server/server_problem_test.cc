#include "apps/server/server_problem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json_value.h"
#include "tests/support/must.h"

namespace holdfast::server_problem_test {
namespace {

Json document(const Error& error, int status = 0) {
  return must(Json::parse(problem_json(error, status).view()));
}
std::string text(const Json& of, std::string_view name) {
  const auto member = of.find(name);
  return member.has_value() ? std::string(member->string().value_or("no text")) : "not there";
}
std::string header(const net::Response& response, std::string_view name) {
  for (const net::Header& header : response.headers) {
    if (header.name == name) {
      return header.value;
    }
  }
  return "";
}

TEST(Problem, has_the_error_its_fields_and_whether_to_retry) {
  const Json problem =
      document(Error{ErrorCode::run_not_found, "there is no run r1"}.with("run_id", "r1"));
  EXPECT_EQ(text(problem, "type"), "urn:holdfast:error:run_not_found");
  EXPECT_EQ(text(problem, "code"), "run_not_found");
  EXPECT_EQ(text(problem, "title"), error_info(ErrorCode::run_not_found).line);
  EXPECT_NE(text(problem, "detail").find("there is no run r1"), std::string::npos);
  EXPECT_EQ(problem.find("status")->integer(), 404);
  EXPECT_EQ(problem.find("retry")->boolean(), false);
  EXPECT_EQ(text(problem, "run_id"), "r1");
  EXPECT_EQ(document(Error{ErrorCode::busy, "later"}).find("retry")->boolean(), true);
}

TEST(Problem, retry_is_true_only_when_nothing_was_done) {
  for (const ErrorInfo& info : error_table()) {
    for (const WhatNext next :
         {WhatNext::permanent, WhatNext::retry, WhatNext::refresh, WhatNext::in_doubt}) {
      const Error error = Error{info.code, "why"}.with(next);
      const Json problem = document(error);
      const net::Response response = problem_response(error);
      const std::string what_next = text(problem, "what_next");
      EXPECT_EQ(problem.find("retry")->boolean(), what_next == "retry") << info.name;
      EXPECT_TRUE(header(response, "Retry-After").empty() || what_next == "retry") << info.name;
      EXPECT_EQ(next == WhatNext::in_doubt, what_next == "in_doubt") << info.name;
    }
  }
  EXPECT_EQ(text(document(Error{ErrorCode::io_error, "x"}), "what_next"), "in_doubt");
  EXPECT_EQ(text(document(Error{ErrorCode::disk_full, "x"}), "what_next"), "in_doubt");
}

TEST(Problem, a_request_to_a_stopped_engine_can_be_sent_to_another_server) {
  for (const ErrorCode code : {ErrorCode::engine_stopped, ErrorCode::log_stopped}) {
    const net::Response response = problem_response(Error{code, "sqlite:/secret"});
    const Json problem = must(Json::parse(response.body));
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(text(problem, "code"), "unavailable");
    EXPECT_EQ(problem.find("retry")->boolean(), true);
    EXPECT_EQ(header(response, "Retry-After"), "1");
  }
}

TEST(Problem, failures_of_the_store_do_not_reveal_its_location) {
  for (const ErrorInfo& info : error_table()) {
    if (info.http_status < 500) {
      continue;
    }
    const Error error = Error{info.code, "host db1, user carl, /var/lib/x.db"}
                            .with("path", "/var/lib/x.db")
                            .with("run_id", "r1")
                            .in("postgres://carl@db1/x");
    const std::string body = problem_response(error).body;
    for (const std::string_view secret : {"db1", "carl", "/var/lib"}) {
      EXPECT_EQ(body.find(secret), std::string::npos) << body;
    }
    EXPECT_NE(body.find(R"("run_id":"r1")"), std::string::npos) << body;
  }
  const Error meant = Error{ErrorCode::busy, "inside"}.with("detail", "too many reads");
  EXPECT_EQ(text(document(meant), "detail"), "too many reads");
  EXPECT_NE(problem_response(meant).body.find("too many reads"), std::string::npos);
}

TEST(Problem, has_the_retry_time) {
  const Error error = Error{ErrorCode::rate_limited, "slow down"}.with("retry_after_s", 17);
  EXPECT_EQ(header(problem_response(error), "Retry-After"), "17");
  EXPECT_FALSE(document(error).find("retry_after_s").has_value());
}

TEST(Problem, fields_cannot_replace_members_of_the_document) {
  const Json problem = document(Error{ErrorCode::invalid_argument, "no"}
                                    .with("status", "200")
                                    .with("code", "fine")
                                    .with("retry", "true")
                                    .with("field", "name"));
  EXPECT_EQ(problem.find("status")->integer(), 400);
  EXPECT_EQ(text(problem, "code"), "invalid_argument");
  EXPECT_EQ(problem.find("retry")->boolean(), false);
  EXPECT_EQ(text(problem, "field"), "name");
  EXPECT_EQ(problem.size(), 8U);
}

TEST(Problem, faults_are_a_list_and_other_fields_are_text) {
  const Json problem = document(Error{ErrorCode::invalid_argument, "no"}
                                    .with("faults", R"([{"line":3}])")
                                    .with("other", R"([{"line":3}])"));
  EXPECT_EQ(problem.find("faults")->item(0).find("line")->integer(), 3);
  EXPECT_EQ(text(problem, "other"), R"([{"line":3}])");
  const Json broken = document(Error{ErrorCode::invalid_argument, "no"}.with("faults", "[{"));
  EXPECT_EQ(text(broken, "faults"), "[{") << "a value that is not JSON stays text";
}

TEST(Problem, special_characters_are_escaped) {
  const Json problem =
      document(Error{ErrorCode::invalid_argument, "a \"b\"\n\\"}.with("field", "x\"\t"));
  EXPECT_NE(text(problem, "detail").find("a \"b\"\n\\"), std::string::npos);
  EXPECT_EQ(text(problem, "field"), "x\"\t");
}

TEST(Problem, every_code_has_its_status_in_the_document_and_the_response) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::run_not_found, ErrorCode::permission_denied,
        ErrorCode::unauthenticated, ErrorCode::rate_limited, ErrorCode::busy}) {
    const Error error{code, "no"};
    const net::Response response = problem_response(error);
    EXPECT_EQ(response.content_type, "application/problem+json");
    EXPECT_EQ(response.status, error_info(code).http_status);
    EXPECT_EQ(must(Json::parse(response.body)).find("status")->integer(), response.status);
  }
}

TEST(Problem, another_status_is_in_the_document_and_the_response) {
  const net::Response response = problem_response(Error{ErrorCode::invalid_argument, "no"}, 405);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(must(Json::parse(response.body)).find("status")->integer(), 405);
}

TEST(Problem, has_the_authentication_scheme_and_the_retry_time_as_headers) {
  EXPECT_EQ(header(problem_response(Error{ErrorCode::unauthenticated, "no"}), "WWW-Authenticate"),
            "Bearer");
  EXPECT_EQ(header(problem_response(Error{ErrorCode::rate_limited, "no"}), "Retry-After"), "1");
  EXPECT_EQ(header(problem_response(Error{ErrorCode::busy, "no"}, 503), "Retry-After"), "1");
  EXPECT_TRUE(problem_response(Error{ErrorCode::run_not_found, "no"}).headers.empty());
}

}  // namespace
}  // namespace holdfast::server_problem_test
