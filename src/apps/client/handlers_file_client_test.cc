#include <gtest/gtest.h>

#include "apps/client/handlers_file.h"

namespace holdfast::client::handlers_file_client_test {
namespace {

TEST(HandlersFile, handlers_are_what_steps_have) {
  const auto specs = read_handlers(R"(
handlers:
  charge: {exec: [./charge.sh, "--fast"]}
  notify:
    http:
      {url: "http://127.0.0.1:9/x/{id}", allowed_hosts: ["127.0.0.1:9"], send_input: true,
       method: POST}
)",
                                   "h.yaml");
  ASSERT_TRUE(specs.ok()) << specs.error().text();
  const auto& exec = std::get<ExecSpec>(specs.value().at("charge"));
  EXPECT_EQ(exec.command.size(), 2U);
  EXPECT_EQ(exec.command.front().view(), "./charge.sh");
  const auto& http = std::get<HttpSpec>(specs.value().at("notify"));
  EXPECT_EQ(http.method.view(), "POST");
  EXPECT_TRUE(http.send_input);
}

TEST(HandlersFile, all_faults_are_named_with_their_places) {
  const auto specs = read_handlers(R"(handlers:
  a: {exec: []}
  b: {}
  c:
    exec: [x]
    http: {url: "http://h/", allowed_hosts: [h]}
  d: {exec: [x], retry: 3}
  e: {http: {url: "ftp://h/", allowed_hosts: [h]}}
more: 1
)",
                                   "h.yaml");
  ASSERT_FALSE(specs.ok());
  EXPECT_EQ(specs.error().code(), ErrorCode::invalid_definition);
  const std::string text = specs.error().text();
  for (const char* place : {"h.yaml:2:", "h.yaml:3:3: handlers.b: handler \"b\" needs exec or http",
                            "h.yaml:4:3: handlers.c: handler \"c\" has both exec and http",
                            "h.yaml:7:", "h.yaml:8:", "h.yaml:9:1:"}) {
    EXPECT_NE(text.find(place), std::string::npos) << place << " is not in\n" << text;
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
}

TEST(HandlersFile, a_text_that_is_not_yaml_or_has_no_handlers_is_refused) {
  for (const char* text :
       {"", "[1]", "handlers: [a]", "handlers: {}", "a: b: c", "handlers:\n\t- x"}) {
    EXPECT_FALSE(read_handlers(text, "h.yaml").ok()) << text;
  }
}

}  // namespace
}  // namespace holdfast::client::handlers_file_client_test
