// A server whose response is late: the caller learns that the outcome is unknown and how to query
// it, and the command is still executed.
#include <gtest/gtest.h>

#include "apps/server/server.h"
#include "base/json_value.h"
#include "storage/sqlite/sqlite_db.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_client.h"
#include "tests/support/test_log.h"

namespace holdfast::server_late_answer_test {
namespace {

using net::Answer;
using net::TestClient;
using std::chrono::milliseconds;

std::string request(std::string_view method, std::string_view path, std::string_view body = "") {
  return std::string(method) + " " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

class LateResponse : public testing::Test {
 protected:
  void SetUp() override {
    start(net::Limits{}.answer);
    ASSERT_EQ(call("POST", "/v1/workflows", R"({"workflow":"a","steps":[{"name":"work"}]})").status,
              201);
    const Answer started = call("POST", "/v1/runs", R"({"workflow":"a"})");
    ASSERT_EQ(started.status, 201);
    run_ = text(document(started), "run_id");
    server_ = nullptr;
    start(milliseconds(500));
  }
  void start(milliseconds answer_within) {
    ServerOptions options;
    options.store = "sqlite:" + path_;
    options.http.listen = {"127.0.0.1:0"};
    options.http.limits.answer = answer_within;
    server_ = must(Server::start(options, clock_, random_, log_));
  }

  // Repeats the call until the response is in time.
  Answer call_again(std::string_view method, std::string_view path, std::string_view body = "") {
    Answer answer;
    EXPECT_TRUE(net::eventually([&] {
      answer = call(method, path, body);
      return answer.status != 503;
    }));
    return answer;
  }
  Answer call(std::string_view method, std::string_view path, std::string_view body = "") {
    TestClient client(server_->urls().front());
    return client.call(request(method, path, body));
  }
  static Json document(const Answer& answer) { return must(Json::parse(answer.body)); }
  static std::string text(const Json& json, std::string_view name) {
    const auto member = json.find(name);
    return member.has_value() ? std::string(member->string().value_or("")) : "not there";
  }

  TempDir folder_;
  std::string path_ = folder_.file("s.db");
  SystemClock clock_;
  SystemRandom random_;
  ServerLog log_{clock_, LogLevel::error, LogForm::text, [](std::string_view) {}};
  std::unique_ptr<Server> server_;
  std::string run_;
};

TEST_F(LateResponse, names_the_run_and_the_start_is_still_executed) {
  auto other = must(SqliteDb::open(path_, SqliteAccess::read_write, "", milliseconds(20'000)));
  must(other->exec("BEGIN IMMEDIATE"));
  const Answer late = call("POST", "/v1/runs", R"({"workflow":"a"})");
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.header("Retry-After"), "");
  const Json problem = document(late);
  EXPECT_EQ(text(problem, "code"), "answer_timeout");
  EXPECT_EQ(problem.find("retry")->boolean(), false);
  EXPECT_EQ(text(problem, "what_next"), "in_doubt");
  const std::string run = text(problem, "run_id");
  EXPECT_EQ(call_again("GET", "/v1/runs/" + run).status, 404) << "not yet";
  const Json keyed =
      document(call("POST", "/v1/runs", R"({"workflow":"a","idempotency_key":"k-1"})"));
  EXPECT_EQ(text(keyed, "idempotency_key"), "k-1");
  must(other->exec("ROLLBACK"));
  EXPECT_TRUE(net::eventually([&] { return call("GET", "/v1/runs/" + run).status == 200; }));
  // The same key finds the same run.
  const Json again =
      document(call_again("POST", "/v1/runs", R"({"workflow":"a","idempotency_key":"k-1"})"));
  EXPECT_EQ(text(again, "run_id"), text(keyed, "run_id"));
  EXPECT_EQ(again.find("existed")->boolean(), true);
}

TEST_F(LateResponse, of_a_command_names_its_run) {
  auto other = must(SqliteDb::open(path_, SqliteAccess::read_write, "", milliseconds(20'000)));
  must(other->exec("BEGIN IMMEDIATE"));
  const Json problem = document(call("POST", "/v1/runs/" + run_ + "/cancel", "{}"));
  EXPECT_EQ(text(problem, "what_next"), "in_doubt");
  EXPECT_EQ(text(problem, "run_id"), run_);
  must(other->exec("ROLLBACK"));
}

}  // namespace
}  // namespace holdfast::server_late_answer_test
