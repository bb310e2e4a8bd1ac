#include <gtest/gtest.h>

#include <mutex>

#include "apps/client/client_api.h"
#include "apps/client/client_problem.h"
#include "holdfast/client.h"
#include "tests/support/scripted_server.h"

namespace holdfast::client::api_client_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers the nth request with the nth text; a text that is empty cuts the connection. The last one
// is for all that follow.
class Answers {
 public:
  explicit Answers(std::vector<std::string> texts)
      : texts_(std::move(texts)), server_([this](net::ScriptedPeer& peer) { serve(peer); }) {}

  // How long it paused between calls is recorded, not awaited.
  Api api(milliseconds patience = seconds(30)) {
    return Api(net::HttpClient::create(server_.url(), {}).value(), random_, patience,
               [this](milliseconds time, const std::stop_token&) {
                 pauses.push_back(time);
                 return true;
               });
  }
  [[nodiscard]] std::string url() const { return server_.url(); }

  std::vector<net::SeenRequest> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  std::vector<milliseconds> pauses;

 private:
  void serve(net::ScriptedPeer& peer) {
    while (const auto request = peer.read()) {
      const std::string text = record(*request);
      if (text.empty() || !peer.write(text)) {
        return;
      }
    }
  }

  std::string record(const net::SeenRequest& request) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
    return texts_[std::min(seen_.size(), texts_.size()) - 1];
  }

  SeededRandom random_{7};
  std::vector<std::string> texts_;
  std::mutex mutex_;
  std::vector<net::SeenRequest> seen_;  // by the threads of the server
  net::ScriptedServer server_;
};

ApiCall post(bool repeatable = true) {
  ApiCall call;
  call.method = "POST";
  call.path = "/v1/x";
  call.body = "{}";
  call.repeatable = repeatable;
  return call;
}

std::string problem(std::string_view status, std::string_view body) {
  return net::http_text(body, status, "Content-Type: application/problem+json\r\n");
}

Error error_of(const std::string& answer) {
  Answers answers({answer});
  auto result = answers.api(milliseconds(0)).call(post());
  EXPECT_FALSE(result.ok());
  return std::move(result).error();
}

TEST(ApiClient, every_code_of_ours_comes_back_as_itself) {
  for (const ErrorInfo& info : error_table()) {
    const Error error =
        error_of_problem("{\"code\":\"" + std::string(info.name) + "\",\"detail\":\"why\"}", 400);
    EXPECT_EQ(error.code(), info.code);
    EXPECT_EQ(error.what_next(), info.what_next);
    EXPECT_EQ(error.text(), "why");
  }
}

TEST(ApiClient, the_members_of_a_problem_are_fields_of_the_error) {
  const Error error = error_of(
      problem("409 Conflict", R"({ "type":"https://x/run_exists", "title":"t", "status":409,
      "detail":"another run \"has\" it","code":"run_exists","retry":true,
      "run_id":"0192","count":3,"faults":[{"path":"a"}]})"));
  EXPECT_EQ(error.code(), ErrorCode::run_exists);
  EXPECT_EQ(error.message(), "another run \"has\" it");
  EXPECT_EQ(error.field("run_id"), "0192");
  EXPECT_EQ(error.field("count"), "3");
  EXPECT_EQ(error.field("faults"), "[{\"path\":\"a\"}]");
  EXPECT_EQ(error.field("type"), "");
  EXPECT_EQ(error.what_next(), WhatNext::retry);
}

TEST(ApiClient, an_unknown_code_is_replaced_by_one_for_the_status) {
  const std::vector<std::pair<int, ErrorCode>> expected{
      {400, ErrorCode::invalid_argument},  {401, ErrorCode::unauthenticated},
      {403, ErrorCode::permission_denied}, {404, ErrorCode::not_found},
      {405, ErrorCode::invalid_argument},  {409, ErrorCode::conflict},
      {413, ErrorCode::too_large},         {429, ErrorCode::rate_limited},
      {500, ErrorCode::io_error},          {502, ErrorCode::unavailable},
      {503, ErrorCode::unavailable},       {507, ErrorCode::disk_full}};
  for (const auto& [status, code] : expected) {
    EXPECT_EQ(error_of_problem(R"({"code":"from_the_future","detail":"d"})", status).code(), code);
    net::HttpOutcome page;
    page.status = status;
    page.body = "<html>\n</html>";
    EXPECT_EQ(error_of_response(page).code(), code);
    EXPECT_EQ(error_of_response(page).message(),
              "the server returned status " + std::to_string(status) + ": <html> </html>");
  }
  EXPECT_EQ(error_of_problem(R"({"code":"from_the_future","detail":"d"})", 400).field("code"),
            "from_the_future");
}

TEST(ApiClient, a_redirect_is_an_error_and_not_followed) {
  Answers answers({net::http_text("", "302 Found", "Location: http://127.0.0.1:1/\r\n")});
  EXPECT_FALSE(answers.api().call(post()).ok());
  EXPECT_EQ(answers.seen().size(), 1U);
}

TEST(ApiClient, a_temporary_refusal_is_retried_after_the_requested_time) {
  Answers answers({problem("503 Service Unavailable", R"({"code":"unavailable"})"),
                   net::http_text("{}", "429 Too Many Requests", "Retry-After: 7\r\n"),
                   net::http_text("{\"a\":1}\n")});
  const auto result = answers.api().call(post());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value(), "{\"a\":1}");
  ASSERT_EQ(answers.pauses.size(), 2U);
  EXPECT_LE(answers.pauses[0], milliseconds(50));
  EXPECT_GE(answers.pauses[1], seconds(7));
}

TEST(ApiClient, what_is_permanent_is_not_tried_again) {
  Answers answers({problem("409 Conflict", R"({"code":"run_exists","detail":"d"})")});
  EXPECT_FALSE(answers.api().call(post()).ok());
  EXPECT_EQ(answers.seen().size(), 1U);
}

TEST(ApiClient, what_may_have_been_carried_out_is_repeated_only_when_that_is_safe) {
  Answers safe({"", "", net::http_text("{}")});
  EXPECT_TRUE(safe.api().call(post(true)).ok());
  EXPECT_EQ(safe.seen().size(), 3U);

  Answers unsafe({"", net::http_text("{}")});
  const auto result = unsafe.api().call(post(false));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(unsafe.seen().size(), 1U);
  EXPECT_EQ(result.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(result.error().what_next(), WhatNext::in_doubt);

  Answers busy({problem("503 Service Unavailable", R"({"code":"busy"})"), net::http_text("{}")});
  EXPECT_FALSE(busy.api().call(post(false)).ok()) << "it may have begun";

  Answers late({problem("503 Service Unavailable",
                        R"({"code":"answer_timeout","retry":false,"what_next":"in_doubt"})"),
                net::http_text("{}")});
  const auto open = late.api().call(post(false));
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(late.seen().size(), 1U);
  EXPECT_EQ(open.error().what_next(), WhatNext::in_doubt);

  Answers refused(
      {problem("503 Service Unavailable", R"({"code":"busy","retry":true,"what_next":"retry"})"),
       net::http_text("{}")});
  EXPECT_TRUE(refused.api().call(post(false)).ok()) << "the server states that nothing was done";
}

TEST(ApiClient, what_to_do_next_is_what_the_answer_says) {
  const auto next = [](std::string_view json, int status) {
    return error_of_problem(json, status).what_next();
  };
  for (const WhatNext said :
       {WhatNext::permanent, WhatNext::retry, WhatNext::refresh, WhatNext::in_doubt}) {
    const std::string document = R"({"code":"unavailable","detail":"d","what_next":")" +
                                 std::string(to_string(said)) + "\"}";
    EXPECT_EQ(next(document, 503), said);
  }
  EXPECT_EQ(next(R"({"code":"busy","detail":"d","retry":false})", 503), WhatNext::in_doubt);
  EXPECT_EQ(next(R"({"code":"busy","detail":"d","retry":true})", 503), WhatNext::retry);
  EXPECT_EQ(next(R"({"code":"busy","detail":"d"})", 503), WhatNext::in_doubt);
  EXPECT_EQ(next(R"({"code":"io_error","detail":"d","retry":false})", 500), WhatNext::in_doubt);
  net::HttpOutcome page;
  page.status = 503;
  page.body = "<html></html>";
  EXPECT_EQ(error_of_response(page).what_next(), WhatNext::in_doubt) << "it may come from a proxy";
  page.status = 429;
  EXPECT_EQ(error_of_response(page).what_next(), WhatNext::retry);
}

TEST(ApiClient, calls_that_were_not_sent_are_repeated_until_patience_ends) {
  std::string url;
  {
    Answers answers({net::http_text("{}")});
    url = answers.url();
  }
  SeededRandom random(3);
  std::vector<milliseconds> pauses;
  Api api(net::HttpClient::create(url, {}).value(), random, seconds(20),
          [&](milliseconds time, const std::stop_token&) {
            pauses.push_back(time);
            return true;
          });
  const auto result = api.call(post(false));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(result.error().what_next(), WhatNext::retry);
  milliseconds all{0};
  for (const milliseconds pause : pauses) {
    all += pause;
    EXPECT_LE(pause, seconds(5));
  }
  EXPECT_GT(pauses.size(), 5U);
  EXPECT_LE(all, seconds(20));
}

ApiCall get_server() {
  ApiCall call;
  call.path = "/v1/server";
  return call;
}

TEST(ApiClient, a_worker_waits_for_its_server_without_limit_and_reports_now_and_then) {
  std::vector<std::string> texts(
      100, problem("503 Service Unavailable", R"({"code":"unavailable","detail":"starting"})"));
  texts[1] = problem("502 Bad Gateway", "");
  texts[2] = problem("500 Stopped", R"({"code":"engine_stopped","detail":"closing"})");
  texts[3] = "";
  texts.push_back(net::http_text("{}"));
  Answers answers(texts);
  std::vector<std::string> reasons;
  const auto found = answers.api().call_when_available(
      get_server(), {}, [&](const Error& why) { reasons.push_back(why.text()); });
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(answers.seen().size(), texts.size());
  milliseconds waited{0};
  for (const milliseconds pause : answers.pauses) {
    waited += pause;
  }
  EXPECT_GT(waited, seconds(100)) << "longer than the patience of calls";
  ASSERT_GE(reasons.size(), 3U);
  EXPECT_LE(reasons.size(), 1 + static_cast<std::size_t>(waited / seconds(29)));
  EXPECT_EQ(reasons.front(), "starting");
}

TEST(ApiClient, a_worker_does_not_wait_for_a_server_that_refuses_it) {
  const auto fails_with = [](const std::string& text) {
    Answers answers({text});
    const auto refused = answers.api().call_when_available(
        get_server(), {}, [](const Error& why) { ADD_FAILURE() << why.text(); });
    EXPECT_EQ(answers.seen().size(), 1U);
    return refused.ok() ? std::string("ok") : std::string(error_info(refused.error().code()).name);
  };
  EXPECT_EQ(fails_with(problem("401 No", R"({"code":"unauthenticated"})")), "unauthenticated");
  EXPECT_EQ(fails_with(problem("403 No", R"({"code":"permission_denied"})")), "permission_denied");
  EXPECT_EQ(fails_with(problem("404 No", "")), "not_found");
  EXPECT_EQ(fails_with("220 mail.example ESMTP\r\n"), "unavailable");
}

TEST(ApiClient, a_worker_does_not_wait_for_a_server_without_tls) {
  net::ScriptedServer server([](net::ScriptedPeer& peer) {
    static_cast<void>(peer.write(net::http_text("{}", "400 Bad Request")));
  });
  SeededRandom random(7);
  Api api(net::HttpClient::create("https" + server.url().substr(4), {}).value(), random,
          seconds(30));
  const auto refused = api.call_when_available(
      get_server(), {}, [](const Error& why) { ADD_FAILURE() << why.text(); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::unavailable);
  EXPECT_NE(refused.error().text().find("TLS"), std::string::npos) << refused.error().text();
}

TEST(ApiClient, the_wait_for_a_server_ends_when_it_is_stopped) {
  Answers answers({problem("503 Service Unavailable", R"({"code":"unavailable"})")});
  SeededRandom random(7);
  std::stop_source stop;
  Api api(net::HttpClient::create(answers.url(), {}).value(), random, seconds(30),
          [&](milliseconds, const std::stop_token& token) {
            stop.request_stop();
            return !token.stop_requested();
          });
  const auto stopped = api.call_when_available(get_server(), stop.get_token(), [](const Error&) {});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::unavailable);
}

TEST(ApiClient, pauses_grow_and_are_random) {
  SeededRandom random(1);
  RetryPause backoff(random, milliseconds(100), milliseconds(1000));
  milliseconds most{100};
  std::set<milliseconds> different;
  for (int i = 0; i < 50; ++i) {
    const milliseconds pause = backoff.next();
    EXPECT_LE(pause, most);
    different.insert(pause);
    most = std::min(most * 2, milliseconds(1000));
  }
  EXPECT_GT(different.size(), 30U);
}

TEST(ApiClient, a_start_without_id_or_key_makes_an_id_so_that_it_can_be_repeated) {
  Answers answers({net::http_text("{}"), "", net::http_text(R"({"run_id":"r","existed":true})")});
  auto client = Client::connect(answers.url());
  ASSERT_TRUE(client.ok());
  const auto started = client.value().start("order", R"({ "total": 1 })");
  ASSERT_TRUE(started.ok()) << started.error().text();
  EXPECT_FALSE(started.value().existed) << "it was this call that came twice";
  ASSERT_EQ(answers.seen().size(), 3U);
  EXPECT_EQ(answers.seen()[1].body, answers.seen()[2].body);
  EXPECT_TRUE(
      answers.seen()[1].body.starts_with(R"({"workflow":"order","input":{"total":1},"run_id":")"))
      << answers.seen()[1].body;
}

TEST(ApiClient, commands_carry_a_key_and_their_arguments) {
  Answers answers({net::http_text("{}")});
  auto client = Client::connect(answers.url());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client.value().cancel("a b", {.comment = "c", .mode = CancelMode::stop}).ok());
  ASSERT_TRUE(client.value().signal("x", "paid", "{\"a\":1}", {.idempotency_key = "k"}).ok());
  ASSERT_TRUE(client.value().approve("x", {.step = "s", .actor = "ann"}).ok());
  ASSERT_EQ(answers.seen().size(), 4U);
  EXPECT_EQ(answers.seen()[1].target, "/v1/runs/a%20b/cancel");
  EXPECT_TRUE(
      answers.seen()[1].body.starts_with(R"({"mode":"stop","comment":"c","idempotency_key":")"));
  EXPECT_EQ(answers.seen()[2].body, R"({"event":"paid","data":{"a":1},"idempotency_key":"k"})");
  EXPECT_TRUE(
      answers.seen()[3].body.starts_with(R"({"step":"s","actor":"ann","idempotency_key":")"));
  EXPECT_EQ(client.value().signal("x", "paid", "[1]").error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(client.value().signal("x", "paid", "{").error().code(), ErrorCode::invalid_json);
  EXPECT_EQ(client.value().signal("x", "paid", R"({"a":1,"a":2})").error().code(),
            ErrorCode::invalid_json);
}

TEST(ApiClient, lists_and_snapshots_become_views) {
  Answers answers(
      {net::http_text("{}"),
       net::http_text(R"({"runs":[{"run_id":"r1","workflow":"w","status":"failed","terminal":true,)"
                      R"("listed_at":1,"started_at":2,"ended_at":3,"error":"e"}],"next":"n"})"),
       net::http_text(
           R"({"run_id":"r1","status":"completed","terminal":true,"workflow":"w",)"
           R"("queue":"q","definition":{"version":"2"},"started_at":5,"ended_at":6,)"
           R"("input":{"a":1},"context":{"a":1,"b":2},"children":[{"run_id":"c"}],)"
           R"("parent":{"run_id":"p"},)"
           R"("steps":[{"name":"s","status":"completed","attempts":2,"result":{"b":2}}]})")});
  auto client = Client::connect(answers.url());
  ASSERT_TRUE(client.ok());
  ListOptions options;
  options.statuses = {"failed", "cancelled"};
  options.attributes = R"({"customer":"ann","total":12,"code":"12"})";
  options.started_from_ms = 1'000;
  const auto page = client.value().list(options);
  ASSERT_TRUE(page.ok()) << page.error().text();
  EXPECT_EQ(page.value().next, "n");
  EXPECT_EQ(page.value().runs.at(0).error, "e");
  EXPECT_EQ(answers.seen()[1].target,
            "/v1/runs?status=failed&status=cancelled&since=1970-01-01T00%3A00%3A01.000Z"
            "&attribute=customer%3Dann&attribute=total%3D12&attribute=code%3D%2212%22"
            "&limit=50");
  const auto view = client.value().inspect("r1");
  ASSERT_TRUE(view.ok()) << view.error().text();
  EXPECT_EQ(view.value().version, "2");
  EXPECT_EQ(view.value().result, R"({"a":1,"b":2})");
  EXPECT_EQ(view.value().parent_run_id, "p");
  EXPECT_EQ(view.value().children.at(0), "c");
  EXPECT_EQ(view.value().steps.at(0).attempts, 2U);
}

}  // namespace
}  // namespace holdfast::client::api_client_test
