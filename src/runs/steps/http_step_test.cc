#include "runs/steps/http_step.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/owned_fd.h"
#include "net/http_text.h"
#include "runs/steps/http_response.h"
#include "tests/support/scripted_server.h"

namespace holdfast::http_step_test {
namespace {

using net::http_answer;
using net::RecordingServer;
using Manner = RecordingServer::Manner;

HttpSpec request(std::string_view method, const RecordingServer& server,
                 std::string_view path = "/") {
  HttpSpec spec;
  spec.method = method;
  spec.url = server.url(path);
  spec.allowed_hosts = {server.authority()};
  return spec;
}

StepOutput run(const HttpSpec& spec, std::string_view input = "{}",
               const CredentialSource& credentials = {}, const std::stop_token& stop = {}) {
  return run_http(spec, input, {{"Idempotency-Key", "k1"}}, credentials, stop);
}

// Calls a server with this response, and keeps the body.
StepOutput call(const std::string& answer) {
  const RecordingServer server(answer);
  HttpSpec spec = request("GET", server);
  spec.keep_body = true;
  return run(spec);
}

std::string header_of(const JsonText& answer, std::string_view name) {
  const Json value = Json::parse(answer.view()).value();
  const auto found = value.find("headers")->find(name);
  return found ? std::string(found->string().value()) : "";
}

std::optional<Json> body_of(const JsonText& answer) {
  return Json::parse(answer.view()).value().find("body");
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(HttpStep, every_method_is_sent_as_it_is) {
  for (const char* method : {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}) {
    RecordingServer server(http_answer("200 OK", {}, ""));
    const StepOutput output = run(request(method, server, "/v1/things"));
    EXPECT_TRUE(output.ok) << output.message;
    auto seen = server.wait_for_request();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->method, method);
    EXPECT_EQ(seen->target, "/v1/things");
    EXPECT_EQ(seen->body, "");
    EXPECT_EQ(seen->headers["host"], server.authority());
    EXPECT_EQ(seen->headers["idempotency-key"], "k1");
    EXPECT_FALSE(seen->headers.contains("content-type"));
    EXPECT_FALSE(seen->headers.contains("expect"));
  }
}

TEST(HttpStep, other_methods_are_refused) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  for (const char* method : {"get", "TRACE", "CONNECT", "", "GET / HTTP/1.1\r\nX: y"}) {
    const StepOutput output = run(request(method, server));
    EXPECT_EQ(output.code, "invalid_http_request");
    EXPECT_FALSE(output.retryable);
  }
  HttpSpec head = request("HEAD", server);
  head.send_input = true;
  EXPECT_EQ(run(head).code, "invalid_http_request");
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, url_and_query_are_filled_from_the_input) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  HttpSpec spec = request("GET", server, "/orders/{order}/lines/{line}");
  spec.query = {"page", "text"};
  EXPECT_TRUE(run(spec, R"({"order":"a/b ü","line":7,"page":true,"text":"x&y"})").ok);
  EXPECT_EQ(server.wait_for_request()->target,
            "/orders/a%2Fb%20%C3%BC/lines/7?page=true&text=x%26y");
}

TEST(HttpStep, a_missing_field_is_named_and_nothing_is_sent) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  const StepOutput output = run(request("GET", server, "/orders/{order_id}"), R"({"other":1})");
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.code, "invalid_http_request");
  EXPECT_FALSE(output.retryable);
  EXPECT_NE(output.message.find("order_id"), std::string::npos);
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, a_host_that_is_not_allowed_is_not_called) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  HttpSpec spec = request("GET", server);
  for (const SharedText allowed : {"127.0.0.2", "localhost", "127.0.0.1:1"}) {
    spec.allowed_hosts = {allowed};
    const StepOutput output = run(spec);
    EXPECT_EQ(output.code, "invalid_http_request");
    EXPECT_NE(output.message.find("allowed_hosts"), std::string::npos);
  }
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, the_input_is_the_body) {
  const std::string input = R"({"text":")" + std::string(2U << 20U, 'x') + R"("})";
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    RecordingServer server(http_answer("200 OK", {}, ""));
    HttpSpec spec = request(method, server);
    spec.send_input = true;
    EXPECT_TRUE(run(spec, input).ok);
    auto seen = server.wait_for_request();
    EXPECT_EQ(seen->method, method);
    EXPECT_TRUE(seen->body == input);
    EXPECT_EQ(seen->headers["content-type"], "application/json");
  }
}

TEST(HttpStep, an_idempotency_key_of_the_step_is_sent_unchanged) {
  for (const char* name : {"Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"}) {
    RecordingServer server(http_answer("200 OK", {}, ""));
    HttpSpec spec = request("POST", server);
    spec.headers = {{name, "mine"}};
    EXPECT_TRUE(run(spec).ok);
    EXPECT_EQ(server.wait_for_request()->headers["idempotency-key"], "mine") << name;
  }
  RecordingServer server(http_answer("200 OK", {}, ""));
  HttpSpec spec = request("POST", server);
  spec.credential_refs = {{"idempotency-key", "shared"}};
  EXPECT_TRUE(run(spec, "{}", [](std::string_view) { return "kept secret"; }).ok);
  EXPECT_EQ(server.wait_for_request()->headers["idempotency-key"], "kept secret");
}

TEST(HttpStep, headers_of_the_step_are_sent) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  HttpSpec spec = request("POST", server);
  spec.send_input = true;
  spec.headers = {{"Accept", "text/csv"}, {"content-type", "application/x+json"}, {"X-Empty", ""}};
  EXPECT_TRUE(run(spec).ok);
  auto seen = server.wait_for_request();
  EXPECT_EQ(seen->headers["accept"], "text/csv");
  EXPECT_EQ(seen->headers["content-type"], "application/x+json");
  EXPECT_TRUE(seen->headers.contains("x-empty"));
}

TEST(HttpStep, headers_that_are_secret_or_invalid_are_refused) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"Authorization", "x"},
                                                        {"X-Api-Key", "x"},
                                                        {"Cookie", "x"},
                                                        {"Host", "other"},
                                                        {"Content-Length", "5"},
                                                        {"Transfer-Encoding", "chunked"},
                                                        {"X Y", "x"},
                                                        {"", "x"},
                                                        {"X", "a\r\nEvil: b"}}) {
    HttpSpec spec = request("GET", server);
    spec.headers = {{name, value}};
    const StepOutput output = run(spec);
    EXPECT_EQ(output.code, "invalid_http_request") << name;
    EXPECT_FALSE(output.retryable);
  }
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, credentials_are_referenced_by_name_and_never_shown) {
  const std::string secret = "s3cr3t-value";
  RecordingServer server(http_answer("403 No",
                                     {"X-Echo: Bearer " + secret, "Content-Type: text/plain"},
                                     "you sent Bearer " + secret + " " + secret));
  HttpSpec spec = request("GET", server);
  spec.credential_refs = {{"Authorization", "billing"}};
  spec.keep_body = true;
  std::string requested;
  const StepOutput output = run(spec, "{}", [&](std::string_view name) {
    requested = name;
    return std::optional("Bearer " + secret);
  });
  EXPECT_EQ(requested, "billing");
  EXPECT_EQ(server.wait_for_request()->headers["authorization"], "Bearer " + secret);
  EXPECT_EQ(output.code, "http_403");
  for (const std::string_view text :
       {std::string_view(output.message), output.details.view(), output.result.view()}) {
    EXPECT_EQ(text.find(secret), std::string_view::npos) << text;
  }
  EXPECT_EQ(body_of(output.details)->string(), "you sent [REDACTED] [REDACTED]");
}

TEST(HttpStep, an_unknown_credential_is_a_failure) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  HttpSpec spec = request("GET", server);
  spec.credential_refs = {{"Authorization", "billing"}};
  for (const CredentialSource& source :
       {CredentialSource(), CredentialSource([](std::string_view) { return std::nullopt; })}) {
    const StepOutput output = run(spec, "{}", source);
    EXPECT_EQ(output.code, "unknown_credential");
    EXPECT_FALSE(output.retryable);
    EXPECT_NE(output.message.find("billing"), std::string::npos);
  }
  const StepOutput broken = run(
      spec, "{}", [](std::string_view) { return std::optional<std::string>("s3cr3t\r\nX: y"); });
  EXPECT_EQ(broken.code, "invalid_http_request");
  EXPECT_EQ(broken.message.find("s3cr3t"), std::string::npos);
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, a_success_gives_status_and_headers) {
  RecordingServer server(http_answer(
      "201 Created", {"X-Kind: a", "X-Kind: b", "Set-Cookie: id=1", "Set-Cookie: id=2"}, "text"));
  const StepOutput output = run(request("POST", server));
  EXPECT_TRUE(output.ok);
  const Json result = Json::parse(output.result.view()).value();
  EXPECT_EQ(result.find("status")->integer(), 201);
  EXPECT_FALSE(result.find("body"));
  EXPECT_EQ(header_of(output.result, "x-kind"), "a, b");
  EXPECT_EQ(header_of(output.result, "set-cookie"), "[REDACTED]");
  const Json details = Json::parse(output.details.view()).value();
  EXPECT_EQ(details.find("status")->integer(), 201);
  EXPECT_TRUE(details.find("duration_ms")->unsigned_integer());
}

TEST(HttpStep, headers_that_look_secret_are_redacted) {
  const std::vector<std::string> names = {
      "set-cookie",      "authorization",       "x-auth-token", "x-secret",
      "x-password-hint", "x-api-key",           "x-apikey",     "x-credential",
      "cookie",          "Proxy-Authorization", "X-CSRF-TOKEN"};
  std::vector<std::string> lines = {"X-Plain: shown"};
  for (const std::string& name : names) {
    lines.push_back(name + ": hidden");
  }
  const StepOutput output = call(http_answer("200 OK", lines, ""));
  EXPECT_TRUE(output.ok);
  for (const std::string& name : names) {
    EXPECT_EQ(header_of(output.result, net::lowered(name)), "[REDACTED]") << name;
  }
  EXPECT_EQ(header_of(output.result, "x-plain"), "shown");
  EXPECT_EQ(output.result.view().find("hidden"), std::string_view::npos);
}

TEST(HttpStep, a_body_is_json_if_declared_and_valid) {
  const std::string json = R"({ "a": [1, 2] })";
  EXPECT_EQ(body_of(call(http_answer("200 OK", {"Content-Type: application/json"}, json)).result)
                ->find("a")
                ->size(),
            2U);
  EXPECT_EQ(body_of(call(http_answer("200 OK",
                                     {"Content-Type: application/problem+json; charset=x"}, "[1]"))
                        .result)
                ->size(),
            1U);
  EXPECT_EQ(
      body_of(call(http_answer("200 OK", {"Content-Type: text/plain"}, json)).result)->string(),
      json);
  EXPECT_EQ(body_of(call(http_answer("200 OK", {"Content-Type: application/json"}, "{no")).result)
                ->string(),
            "{no");
  EXPECT_EQ(body_of(call(http_answer("200 OK", {}, "\xFF")).result)->string(), "\xEF\xBF\xBD");
}

TEST(HttpStep, a_body_that_is_nested_too_deep_stays_text) {
  const std::string deep = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  const StepOutput output = call(http_answer("200 OK", {"Content-Type: application/json"}, deep));
  EXPECT_TRUE(JsonText::parse(output.result.view()).ok());
  EXPECT_EQ(body_of(output.result)->string(), deep);
}

TEST(HttpStep, a_body_is_kept_up_to_the_limit) {
  const StepOutput whole = call(http_answer("200 OK", {}, std::string(kKeptBodyBytes, 'x')));
  EXPECT_EQ(body_of(whole.result)->string()->size(), kKeptBodyBytes);
  EXPECT_FALSE(Json::parse(whole.result.view()).value().find("body_truncated"));
  const StepOutput cut = call(http_answer("200 OK", {"Content-Type: application/json"},
                                          "\"" + std::string(1'000'000, 'x') + "\""));
  EXPECT_TRUE(cut.ok);
  EXPECT_EQ(body_of(cut.result)->string()->size(), kKeptBodyBytes);
  EXPECT_EQ(Json::parse(cut.result.view()).value().find("body_truncated")->boolean(), true);
}

TEST(HttpStep, a_response_that_is_too_large_is_a_failure) {
  const StepOutput output = call(http_answer("200 OK", {}, std::string(9U << 20U, 'x')));
  EXPECT_EQ(output.code, "http_too_large");
  EXPECT_FALSE(output.retryable);
  const StepOutput headers = call(http_answer("200 OK", {"X: " + std::string(70'000, 'x')}, ""));
  EXPECT_EQ(headers.code, "http_too_large");
}

TEST(HttpStep, redirects_are_not_followed) {
  RecordingServer target(http_answer("200 OK", {}, ""));
  for (const char* status : {"301 Moved", "302 Found", "303 See", "307 Temporary", "308 Moved"}) {
    const StepOutput output = call(
        http_answer(status, {"Location: http://me:pw@" + target.authority() + "/p?key=1"}, ""));
    EXPECT_FALSE(output.ok);
    EXPECT_EQ(output.code, "http_redirect");
    EXPECT_FALSE(output.retryable);
    EXPECT_NE(output.message.find('"' + target.authority() + '"'), std::string::npos)
        << output.message;
    EXPECT_EQ(header_of(output.details, "location"), target.authority());
    EXPECT_EQ(output.details.view().find("key=1"), std::string_view::npos);
  }
  EXPECT_EQ(target.requests(), 0U);
  EXPECT_EQ(call(http_answer("302 Found", {"Location: /a?b=//c"}, "")).code, "http_redirect");
}

TEST(HttpStep, some_statuses_are_retryable) {
  for (const std::string status : {"408", "425", "429", "500", "502", "503", "504", "599"}) {
    const StepOutput output = call(http_answer(status + " X", {"Retry-After: 7"}, "why"));
    EXPECT_FALSE(output.ok);
    EXPECT_EQ(output.code, "http_" + status);
    EXPECT_TRUE(output.retryable) << status;
    EXPECT_EQ(output.retry_after_ms, 7000U);
    EXPECT_EQ(body_of(output.details)->string(), "why");
  }
  for (const std::string status : {"400", "401", "404", "409", "410", "418", "422"}) {
    const StepOutput output = call(http_answer(status + " X", {"Retry-After: 7"}, ""));
    EXPECT_EQ(output.code, "http_" + status);
    EXPECT_FALSE(output.retryable) << status;
    EXPECT_FALSE(output.retry_after_ms);
  }
}

TEST(HttpStep, retry_after_is_seconds_or_a_date) {
  const TimeMs now{784'111'777'000};  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("0", now), 0U);
  EXPECT_EQ(parse_retry_after("007", now), 7000U);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), 60'000U);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0U);
  EXPECT_EQ(parse_retry_after("99999999999999999999999", now), kMaxDurationMs);
  for (const char* text : {"", "-1", "soon", "1.5"}) {
    EXPECT_FALSE(parse_retry_after(text, now)) << text;
  }
}

TEST(HttpStep, an_unreachable_host_is_retryable) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const OwnedFd bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // and does not listen
  ASSERT_EQ(bind(bound.get(), generic, size), 0);
  ASSERT_EQ(getsockname(bound.get(), generic, &size), 0);
  const std::string authority = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  HttpSpec spec;
  spec.method = "GET";
  spec.url = "http://" + authority + "/";
  spec.allowed_hosts = {authority};
  const StepOutput output = run(spec);
  EXPECT_EQ(output.code, "http_unreachable");
  EXPECT_TRUE(output.retryable);
}

TEST(HttpStep, a_truncated_response_is_retryable) {
  RecordingServer silent("", Manner::hang_up);
  const StepOutput none = run(request("GET", silent));
  EXPECT_EQ(none.code, "http_interrupted");
  EXPECT_TRUE(none.retryable);
  EXPECT_EQ(call("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").code, "http_interrupted");
  EXPECT_EQ(call("what?\r\n\r\n").code, "http_interrupted");
}

TEST(HttpStep, a_request_without_a_response_times_out) {
  RecordingServer server("", Manner::stay_silent);
  HttpSpec spec = request("GET", server);
  spec.timeout_ms = 50;
  const StepOutput output = run(spec);
  EXPECT_EQ(output.code, "http_timeout");
  EXPECT_TRUE(output.retryable);
}

TEST(HttpStep, stop_ends_a_running_request) {
  RecordingServer server("", Manner::stay_silent);
  std::stop_source stop;
  StepOutput output;
  std::thread worker([&] { output = run(request("GET", server), "{}", {}, stop.get_token()); });
  ASSERT_TRUE(server.wait_for_request());
  const auto requested = std::chrono::steady_clock::now();
  stop.request_stop();
  worker.join();
  EXPECT_LT(std::chrono::steady_clock::now() - requested, std::chrono::seconds(5));
  EXPECT_EQ(output.code, "cancelled");
  EXPECT_FALSE(output.retryable);
  EXPECT_TRUE(server.wait_for_hang_up());
}

TEST(HttpStep, stop_before_the_start_sends_nothing) {
  RecordingServer server(http_answer("200 OK", {}, ""));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(run(request("GET", server), "{}", {}, stop.get_token()).code, "cancelled");
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpStep, the_environment_sets_no_proxy) {
  RecordingServer proxy(http_answer("200 OK", {"X-From: proxy"}, ""));
  RecordingServer server(http_answer("200 OK", {"X-From: server"}, ""));
  setenv("http_proxy", proxy.url("").c_str(), 1);
  setenv("all_proxy", proxy.url("").c_str(), 1);
  const StepOutput output = run(request("GET", server));
  unsetenv("http_proxy");
  unsetenv("all_proxy");
  EXPECT_EQ(header_of(output.result, "x-from"), "server");
  EXPECT_EQ(proxy.requests(), 0U);
}

TEST(HttpStep, many_threads_may_call_at_once_and_nothing_is_left_open) {
  RecordingServer server(http_answer("200 OK", {}, "x"));
  EXPECT_TRUE(run(request("GET", server)).ok);
  const std::size_t before = open_descriptors();
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(16);
  for (std::string& problem : wrong) {
    threads.emplace_back([&problem, &server] {
      for (int round = 0; round < 8; ++round) {
        const StepOutput output = run(request("GET", server));
        problem += output.ok ? "" : output.code;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& problem : wrong) {
    EXPECT_EQ(problem, "");
  }
  // The server closes its sockets in its own threads.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (open_descriptors() > before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace holdfast::http_step_test
